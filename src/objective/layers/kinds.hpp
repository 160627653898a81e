#pragma once
// The kinds of layers: what objective.layers may name.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "objective/layers/layer.hpp"
#include "objective/score_writer.hpp"

namespace dpmpi {

/// Parameters of layers one behind the other, handed out in their order, with their names in the model file.
class LayerParameters {
 public:
  explicit LayerParameters(std::span<const float>& left, std::string prefix = "")
      : left_(left), prefix_(std::move(prefix)) {}

  /// The next ones.
  std::span<const float> take(std::size_t count) {
    const auto taken = left_.first(count);
    left_ = left_.subspan(count);
    return taken;
  }
  std::string name(std::string_view own) const { return prefix_ + std::string(own); }
  /// The same names for other numbers.
  LayerParameters with(std::span<const float>& others) const { return LayerParameters(others, prefix_); }
  /// Of layer `number` among those that these belong to.
  LayerParameters of_layer(std::size_t number) const {
    return LayerParameters(left_, prefix_ + std::to_string(number) + ".");
  }

 private:
  std::span<const float>& left_;
  std::string prefix_;
};

/// How far a layer moves two inputs apart at most: factor |its parameters|^powers times as far as they are.
struct SlopeBound {
  double factor = 1;
  std::size_t powers = 0;
};

class LayerPlan;

/// With the words that say it.
struct PlannedLayer {
  std::string text;
  std::shared_ptr<const LayerPlan> plan;
};
using LayerPlans = std::vector<PlannedLayer>;

/// A layer as the config says it, before it is known what it is put behind.
class LayerPlan {
 public:
  virtual ~LayerPlan() = default;
  /// Throws ConfigError that says why it cannot stand behind values of that shape.
  virtual Volume out(const Volume& in) const = 0;
  /// Whether a record's gradient is drawn at random: then it is not that of the record's loss.
  virtual bool random() const { return false; }
  /// Whether it has no second derivative somewhere, as a rectifier at 0; that of layers inside does not count.
  virtual bool has_kink() const { return false; }
  /// Layers that it is made of; null: none.
  virtual const LayerPlans* inside() const { return nullptr; }
  /// About how many numbers it keeps in memory, in double: sizes from a config may be any.
  virtual double numbers(const Volume& in) const = 0;
  /// Holds where all its parameters have a norm of at most `radius`. Throws ConfigError if their norm bounds
  /// nothing.
  virtual SlopeBound slope_bound(const Volume& in, double radius) const = 0;
  virtual std::unique_ptr<Layer<float>> make_float(const Volume& in) const = 0;
  virtual std::unique_ptr<Layer<double>> make_double(const Volume& in) const = 0;
  /// Says what the layer makes of x, a value of that shape. What comes in and goes out are images of the volumes'
  /// sizes, or lists of channels where there is one position.
  virtual ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                                   LayerParameters own) const = 0;
};
/// The layer with numbers of type T.
template <class T>
std::unique_ptr<Layer<T>> make_layer(const LayerPlan& plan, const Volume& in) {
  if constexpr (std::is_same_v<T, float>)
    return plan.make_float(in);
  else
    return plan.make_double(in);
}

/// The plan of layers L<T>(settings, in), from settings that tell Volume out(in), numbers(in) beside the values
/// that come in and go out, write(), and slope_bound(in, radius) if there is one.
template <class Settings, template <class> class L>
class PlanOf : public LayerPlan {
 public:
  explicit PlanOf(Settings settings) : settings_(std::move(settings)) {}
  Volume out(const Volume& in) const override { return settings_.out(in); }
  bool random() const override {
    if constexpr (requires { settings_.random(); })
      return settings_.random();
    else
      return false;
  }
  bool has_kink() const override {
    if constexpr (requires { settings_.has_kink(); })
      return settings_.has_kink();
    else
      return false;
  }
  const LayerPlans* inside() const override {
    if constexpr (requires { settings_.inside.front().plan; })
      return &settings_.inside;
    else
      return nullptr;
  }
  double numbers(const Volume& in) const override {
    const double values = in.any_size() + out(in).any_size();
    if constexpr (requires { settings_.numbers(in); })
      return 2 * values + settings_.numbers(in);
    else
      return 2 * values;
  }
  SlopeBound slope_bound(const Volume& in, double radius) const override {
    if constexpr (requires { settings_.slope_bound(in, radius); })
      return settings_.slope_bound(in, radius);
    else
      throw ConfigError("the norm of its parameters does not bound its slope");
  }
  std::unique_ptr<Layer<float>> make_float(const Volume& in) const override {
    return std::make_unique<L<float>>(settings_, in);
  }
  std::unique_ptr<Layer<double>> make_double(const Volume& in) const override {
    return std::make_unique<L<double>>(settings_, in);
  }
  ScoreWriter::Value write(ScoreWriter& writer, const ScoreWriter::Value& x, const Volume& in,
                           LayerParameters own) const override {
    return settings_.write(writer, x, in, own);
  }

 protected:
  const Settings& settings() const { return settings_; }

 private:
  Settings settings_;
};

template <template <class> class L, class Settings>
std::shared_ptr<const LayerPlan> planned(Settings settings) {
  return std::make_shared<PlanOf<Settings, L>>(std::move(settings));
}

/// The words behind a layer's name, read from left to right. All throw ConfigError that says what was expected.
class LayerWords {
 public:
  explicit LayerWords(std::vector<std::string> words, LayerPlans inside = {})
      : words_(std::move(words)), inside_(std::move(inside)) {}

  /// A whole number from 1 on.
  std::size_t number(std::string_view what);
  /// HEIGHTxWIDTH, or one number for both.
  std::pair<std::size_t, std::size_t> window(std::string_view what);
  /// CHANNELSxHEIGHTxWIDTH.
  Volume image(std::string_view what);
  /// The number behind `word`, if that stands next.
  std::optional<std::size_t> after(std::string_view word, std::size_t least = 1);
  /// Whether `word` stands next, which is read then.
  bool flag(std::string_view word);
  /// That word and no other.
  void expect(std::string_view word);
  /// FIRST-LAST, from 1 on; nothing if no word is left.
  std::optional<std::pair<std::size_t, std::size_t>> range(std::string_view what);
  /// A number above 0 and below 1.
  double probability(std::string_view what);
  /// The layers in its parentheses.
  LayerPlans inside();
  /// Throws if anything is left.
  void finish() const;

 private:
  std::optional<std::string> next();
  std::vector<std::string> words_;
  LayerPlans inside_;
  std::size_t read_ = 0;
  bool inside_read_ = false;
};

struct LayerKind {
  std::string_view name;
  std::string_view form;  ///< how it is written
  std::shared_ptr<const LayerPlan> (*read)(LayerWords& words);
};

// Each in a file of its own.
LayerKind dense_kind(), conv_kind(), max_pool_kind(), average_pool_kind(), flatten_kind(), group_norm_kind(),
    layer_norm_kind(), residual_kind(), dropout_kind(), embedding_kind(), upsample_kind(), unflatten_kind();
std::vector<LayerKind> activation_kinds();

/// All of them.
const std::vector<LayerKind>& layer_kinds();

}  // namespace dpmpi
