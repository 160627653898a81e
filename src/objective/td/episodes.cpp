// Temporal differences where a record is a whole episode: the gradients of its transitions are added up first, and
// the sum is clipped. A sum of so many outer products has no short form, so it is written out in a vector of its
// own.

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/clip.hpp"
#include "objective/td/base.hpp"

namespace dpmpi {
namespace {

class TdOfEpisodes final : public TdBase {
 public:
  explicit TdOfEpisodes(const TdSettings& settings);

  // As for a transition, of full episodes.
  double flops_per_record() const override {
    return 12.0 * static_cast<double>(shape_.dim()) * static_cast<double>(settings_.episode_steps);
  }
  std::size_t micro_batch_rows() const override { return 64; }

 private:
  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  /// A gradient, laid out like the parameters but for the first layer: a row (weights, bias, zeros) for each unit.
  struct Gradient {
    Scratch<double> first;
    AlignedVector<double> second;
    std::vector<double> packed;
  };

  std::size_t unpack(const Records& records, std::uint32_t i) override;
  Transition transition(std::size_t t) const override;
  NumericSlack slack() const override;

  template <class Fill>
  void accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill);
  std::size_t step_features() const { return 2 * settings_.state + 2; }
  void clear(Gradient& g) const;
  void add_primal(const Transition& t);
  void add_dual(const Transition& t);
  bool clip(Gradient& g, const L2Bound& bound, double weight) const;

  Scratch<double> input_, state_, next_;  ///< the record; s and s' of its transitions, with their constant
  Gradient primal_, dual_;
};

TdOfEpisodes::TdOfEpisodes(const TdSettings& settings)
    : TdBase(settings),
      input_(1, round_up(settings.episode_steps * step_features() + 1, 16)),
      state_(settings.episode_steps, shape_.width(0)),
      next_(state_),
      primal_{{shape_.units[1], shape_.width(0)}, AlignedVector<double>(shape_.width(1)), {}},
      dual_(primal_) {
  primal_.packed.resize(shape_.dim());
  dual_.packed.resize(shape_.dim());
}

std::size_t TdOfEpisodes::unpack(const Records& records, std::uint32_t i) {
  const std::size_t n = settings_.state;
  verify(records.features == settings_.episode_steps * step_features() && records.bias == settings_.bias,
         "records have the features and the constant column that the value function was made for");
  copy_rows({records, std::span(&i, 1)}, input_.width, input_.row(0));
  const float steps = records.label[i];
  const bool whole =
      steps >= 1 && steps <= static_cast<float>(settings_.episode_steps) && steps == std::floor(steps);
  if (!whole || !usable_square(squared_norm(input_.row(0), input_.width))) return 0;
  for (std::size_t t = 0; t < static_cast<std::size_t>(steps); ++t) {
    const double* step = input_.row(0) + t * step_features();
    std::copy_n(step, n, state_.row(t));
    std::copy_n(step + n, n, next_.row(t));
    if (shape_.has_bias(0)) state_.row(t)[n] = next_.row(t)[n] = static_cast<double>(settings_.bias);
  }
  return static_cast<std::size_t>(steps);
}

Transition TdOfEpisodes::transition(std::size_t t) const {
  const double* step = input_.row(0) + t * step_features();
  const double terminal = step[2 * settings_.state], reward = step[2 * settings_.state + 1];
  return {state_.row(t), next_.row(t), reward, settings_.discount * (1 - terminal)};
}

/// fill(transitions) sets the gradients of the record that has been unpacked, clips them and adds them, or leaves
/// them.
template <class Fill>
void TdOfEpisodes::accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill) {
  for (const std::uint32_t i : rows.index) {
    const std::size_t steps = unpack(rows.records, i);
    clear(primal_);
    clear(dual_);
    sum.begin(1);
    if (steps > 0) fill(steps);
  }
}

void TdOfEpisodes::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  accumulate(rows, sum, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) at_w_.evaluate(transition(t), terms_), add_primal(transition(t));
    if (clip(primal_, bound, 1)) sum.add(0, std::span<const double>(primal_.packed));
  });
}

void TdOfEpisodes::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  accumulate(rows, sum, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) at_w_.evaluate(transition(t), terms_), add_dual(transition(t));
    if (clip(dual_, bound, 1)) sum.add(0, std::span<const double>(dual_.packed));
  });
}

void TdOfEpisodes::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clips, double scale,
                                                LatticeAccumulator& sum) {
  accumulate(rows, sum, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) {
      at_w_.evaluate(transition(t), terms_);
      add_primal(transition(t));
      add_dual(transition(t));
    }
    if (!clip(primal_, {.clip = scale * clips.primal}, 1)) return;
    if (!clip(dual_, {.clip = scale * clips.dual}, clips.weight)) return;
    sum.add(0, std::span<const double>(primal_.packed));
    sum.add(primal_dim(), std::span<const double>(dual_.packed));
  });
}

void TdOfEpisodes::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  accumulate(rows, sum, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) evaluate_difference(transition(t)), add_primal(transition(t));
    if (clip(primal_, bound, 1)) sum.add(0, std::span<const double>(primal_.packed));
  });
}

void TdOfEpisodes::clear(Gradient& g) const {
  std::fill(g.first.values.begin(), g.first.values.end(), 0.0);
  std::fill(g.second.begin(), g.second.end(), 0.0);
}

void TdOfEpisodes::add_primal(const Transition& t) {
  const std::size_t width = primal_.first.width;
  for (std::size_t u = 0; u < shape_.units[1]; ++u) {
    add_scaled(terms_.next[u], t.next, primal_.first.row(u), width);
    add_scaled(terms_.state[u], t.state, primal_.first.row(u), width);
  }
  if (has_hidden_layer()) add_scaled(1, terms_.output.data(), primal_.second.data(), primal_.second.size());
}

void TdOfEpisodes::add_dual(const Transition& t) {
  const double rest = terms_.error - terms_.dual;
  for (std::size_t u = 0; u < shape_.units[1]; ++u)
    add_scaled(rest * terms_.slope[u], t.state, dual_.first.row(u), dual_.first.width);
  if (has_hidden_layer()) add_scaled(rest, terms_.level.data(), dual_.second.data(), dual_.second.size());
}

/// packed = weight times the clipped gradient. False: it is not finite.
bool TdOfEpisodes::clip(Gradient& g, const L2Bound& bound, double weight) const {
  const std::size_t inputs = shape_.inputs(0), units = shape_.units[1], second = shape_.weight_offset(1);
  for (std::size_t u = 0; u < units; ++u) {
    std::copy_n(g.first.row(u), inputs, g.packed.data() + u * inputs);
    if (shape_.has_bias(0)) g.packed[shape_.bias_offset(0) + u] = g.first.row(u)[inputs];
  }
  std::copy_n(g.second.begin(), shape_.dim() - second, g.packed.data() + second);

  const std::span first_layer = std::span(g.packed).first(second), rest = std::span(g.packed).subspan(second);
  std::array<double, 2> factors{squared_norm(first_layer.data(), first_layer.size()),
                                squared_norm(rest.data(), rest.size())};
  if (!usable_square(factors[0]) || !usable_square(factors[1])) return false;
  if (!squares_to_factors(bound, std::span(factors).first(shape_.layers()))) return false;
  for (double& x : first_layer) x *= weight * factors[0];
  for (double& x : rest) x *= weight * factors[1];
  return true;
}

// The norm is that of the very numbers that are scaled: a sum of d squares is off by less than (d + 8) 2^-53, the
// factor and the scaled numbers round a few times more. Each record goes to the lattice by itself.
NumericSlack TdOfEpisodes::slack() const { return {.clip = static_cast<double>(shape_.dim() + 16) * 0x1p-53}; }

}  // namespace

std::unique_ptr<SaddleObjective> make_td_of_episodes(const TdSettings& settings) {
  return std::make_unique<TdOfEpisodes>(settings);
}

}  // namespace dpmpi
