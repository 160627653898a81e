#include "objective/layers/sequence.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

namespace {

/// Of a layer in a list; a list around it puts the place of its own layer in front.
struct LayerError : ConfigError {
  LayerError(std::string at, std::string what)
      : ConfigError(fmt::format("layer {} {}", at, what)), place(std::move(at)), words(std::move(what)) {}
  std::string place, words;
};

/// Calls visit(plan, what comes in) for each layer; errors name it. Returns what comes out of the last.
template <class Visit>
Volume walk(const LayerPlans& plans, Volume volume, Visit&& visit) {
  for (std::size_t i = 0; i < plans.size(); ++i) try {
      visit(*plans[i].plan, volume);
      volume = plans[i].plan->out(volume);
      if (volume.any_size() > 0x1p40) throw ConfigError("what comes out are more than 10^12 numbers");
    } catch (const LayerError& inside) {
      throw LayerError(fmt::format("{}.{}", i + 1, inside.place), inside.words);
    } catch (const ConfigError& error) {
      throw LayerError(std::to_string(i + 1), fmt::format("({}): {}", plans[i].text, error.what()));
    }
  return volume;
}

}  // namespace

Volume out_of(const LayerPlans& plans, const Volume& in) {
  return walk(plans, in, [](const LayerPlan&, const Volume&) {});
}

double numbers_of(const LayerPlans& plans, const Volume& in) {
  double all = 0;
  walk(plans, in, [&](const LayerPlan& plan, const Volume& before) { all += plan.numbers(before); });
  return all;
}

// A product of n norms whose squares add up to at most radius^2 is largest where they are equal.
double slope_bound_of(const LayerPlans& plans, const Volume& in, double radius) {
  SlopeBound all;
  walk(plans, in, [&](const LayerPlan& plan, const Volume& before) {
    const SlopeBound own = plan.slope_bound(before, radius);
    all.factor *= own.factor;
    all.powers += own.powers;
  });
  const auto n = static_cast<double>(all.powers);
  return n == 0 ? all.factor : all.factor * std::pow(radius / std::sqrt(n), n);
}

void for_each_layer(const LayerPlans& plans,
                    const std::function<void(const std::string& place, const PlannedLayer& layer)>& visit,
                    const std::string& before) {
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string place = before + std::to_string(i + 1);
    visit(place, plans[i]);
    if (const LayerPlans* const inside = plans[i].plan->inside()) for_each_layer(*inside, visit, place + ".");
  }
}

bool any_random(const LayerPlans& plans) {
  return std::ranges::any_of(plans, [](const PlannedLayer& layer) { return layer.plan->random(); });
}

ScoreWriter::Value write_layers(const LayerPlans& plans, ScoreWriter& writer, ScoreWriter::Value x,
                                const Volume& in, const LayerParameters& own) {
  std::size_t number = 0;
  walk(plans, in, [&](const LayerPlan& plan, const Volume& before) {
    x = plan.write(writer, x, before, own.of_layer(++number));
  });
  return x;
}

template <class T>
Sequence<T>::Sequence(const LayerPlans& plans, const Volume& in) : Layer<T>(in, out_of(plans, in)) {
  Volume volume = in;
  std::size_t offset = 0;
  for (const auto& [text, plan] : plans) {
    std::unique_ptr<Layer<T>> layer = make_layer<T>(*plan, volume);
    volume = layer->out();
    const std::size_t parameters = layer->parameters();
    members_.push_back({std::move(layer), offset, parameters});
    offset += parameters;
  }
}

template <class T>
double Sequence<T>::multiply_adds() const {
  double all = 0;
  for (const Member& member : members_) all += member.layer->multiply_adds();
  return all;
}

template <class T>
std::vector<ParameterGroup> Sequence<T>::groups() const {
  std::vector<ParameterGroup> all;
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (ParameterGroup group : members_[i].layer->groups()) {
      group.name = fmt::format("{}.{}", i + 1, group.name);
      group.offset += members_[i].offset;
      all.push_back(std::move(group));
    }
  return all;
}

template <class T>
void Sequence<T>::initialise(std::span<float> w, bool rectified) const {
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i].layer->initialise(members_[i].of(w),
                                  i + 1 < members_.size() ? members_[i + 1].layer->rectifies() : rectified);
}

template <class T>
void Sequence<T>::draw(const LayerDraws* from) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const LayerDraws own = from ? from->of_layer(i + 1) : LayerDraws();
    members_[i].layer->draw(from ? &own : nullptr);
  }
}

template <class T>
void Sequence<T>::load(std::span<const T> w) {
  for (Member& member : members_) member.layer->load(member.of(w));
}

template <class T>
const T* Sequence<T>::forward(const T* in) {
  for (Member& member : members_) in = member.layer->forward(in);
  return in;
}

template <class T>
const T* Sequence<T>::backward_to(std::size_t first, const T* delta, T* gradient, bool wanted) {
  for (std::size_t i = members_.size(); i-- > first;)
    delta = members_[i].layer->backward(delta, gradient + members_[i].offset, wanted || i > first);
  return delta;
}

template class Sequence<float>;
template class Sequence<double>;

namespace {

struct ResidualSettings {
  LayerPlans inside;
  Volume out(const Volume& in) const {
    const Volume out = out_of(inside, in);
    if (out != in)
      throw ConfigError(
          fmt::format("what goes in, {} channels of {}x{}, cannot be added to what comes out, {} of {}x{}",
                      in.channels, in.height, in.width, out.channels, out.height, out.width));
    return in;
  }
  bool random() const { return any_random(inside); }
  double numbers(const Volume& in) const { return numbers_of(inside, in); }
  // The layers inside have all of the radius here, for what others leave of it is not known.
  SlopeBound slope_bound(const Volume& in, double radius) const {
    return {.factor = 1 + slope_bound_of(inside, in, radius)};
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           const LayerParameters& own) const {
    return writer.pair(PairFunction::sum, x, write_layers(inside, writer, x, in, own));
  }
};

/// x + layers(x).
template <class T>
class ResidualLayer final : public Layer<T> {
 public:
  ResidualLayer(const ResidualSettings& settings, const Volume& in)
      : Layer<T>(in, in), inside_(settings.inside, in), outputs_(room_for<T>(in)), back_(room_for<T>(in)) {}
  double multiply_adds() const override { return inside_.multiply_adds(); }
  std::vector<ParameterGroup> groups() const override { return inside_.groups(); }
  void initialise(std::span<float> w, bool rectified) const override { inside_.initialise(w, rectified); }
  void draw(const LayerDraws* from) override { inside_.draw(from); }
  void load(std::span<const T> w) override { inside_.load(w); }
  const T* forward(const T* in) override {
    const T* const change = inside_.forward(in);
    for (std::size_t j = 0; j < this->in().size(); ++j) outputs_[j] = in[j] + change[j];
    return outputs_.data();
  }
  const T* backward(const T* delta, T* gradient, bool wanted) override {
    const T* const change = inside_.backward(delta, gradient, wanted);
    if (!wanted) return nullptr;
    for (std::size_t j = 0; j < this->in().size(); ++j) back_[j] = delta[j] + change[j];
    return back_.data();
  }

 private:
  Sequence<T> inside_;
  AlignedVector<T> outputs_, back_;
};

}  // namespace

LayerKind residual_kind() {
  return {"residual", "residual(LAYER, ...)", [](LayerWords& words) {
            const LayerPlans inside = words.inside();
            if (inside.empty()) throw ConfigError("it takes layers in parentheses");
            return planned<ResidualLayer>(ResidualSettings{inside});
          }};
}

}  // namespace dpmpi
