// Temporal differences whose value function is a network of layers, one record at a time: a record's gradients are
// written out, and clipped as a whole.

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "objective/joint_clip.hpp"
#include "objective/math/dot.hpp"
#include "objective/td/base.hpp"
#include "objective/td/steps.hpp"
#include "objective/td/value_network.hpp"

namespace dpmpi {
namespace {

/// Psi is made anew whenever it is asked for: of each transition the state alone is kept.
class ProjectedErrorOfLayers final : public ProjectedError {
 public:
  /// At the point that `value` is at.
  ProjectedErrorOfLayers(ValueNetwork& value, std::size_t room)
      : ProjectedError(value.dim()), value_(value), room_(room), state_(room) {}

  /// Takes a transition, after value.differentiate() of its state.
  void add(const double* state, double error) {
    states_.insert(states_.end(), state, state + room_);
    count(error, squared_norm(value_.psi().data(), value_.dim()));
    last_ = none;
  }

 private:
  static constexpr auto none = std::numeric_limits<std::size_t>::max();

  double along(std::size_t transition, const std::vector<double>& p) override {
    return dot(psi(transition).data(), p.data(), p.size());
  }
  void add_to(std::size_t transition, double weight, std::span<std::int64_t> sum) override {
    const std::span<const double> of = psi(transition);
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += std::llrint(weight * of[j]);
  }
  std::span<const double> psi(std::size_t transition) {
    if (transition != last_) {
      std::copy_n(states_.data() + transition * room_, room_, state_.data());
      value_.differentiate(state_.data());
      last_ = transition;
    }
    return value_.psi();
  }

  ValueNetwork& value_;
  std::size_t room_, last_ = none;
  std::vector<double> states_;
  AlignedVector<double> state_;  ///< of one transition
};

class TdOfLayers final : public TdProblem {
 public:
  explicit TdOfLayers(const TdSettings& settings)
      : TdProblem(settings),
        at_w_(*settings_.layers),
        steps_(settings_, settings_.layers->in),
        next_psi_(at_w_.dim()),
        primal_(at_w_.dim()),
        dual_(at_w_.dim()) {}

  std::size_t primal_dim() const override { return at_w_.dim(); }
  std::vector<std::string> structure() const override { return structure_of(*settings_.layers); }
  // A gradient at s', and one with the product at s, of full episodes.
  double flops_per_record() const override {
    return (at_w_.flops() + at_w_.layers().multiply_adds() * 6) *
           static_cast<double>(std::max<std::size_t>(1, settings_.episode_steps));
  }
  std::size_t micro_batch_rows() const override { return 16; }

 private:
  void prepare(std::span<const float> w) override { at_w_.load(w); }
  void prepare_pair(std::span<const float> w, std::span<const float> v) override {
    if (!at_v_) at_v_ = std::make_unique<ValueNetwork>(*settings_.layers);
    at_w_.load(w);
    at_v_->load(v);
  }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  std::vector<ParameterGroup> value_groups() const override { return at_w_.layers().groups(); }
  void initialise_value(const PublicStream& stream, std::span<float> theta) const override {
    stream.normals(0, theta);
    at_w_.layers().initialise(theta, false);
  }
  double value_of(std::span<const double> features) override {
    AlignedVector<double> state(steps_.room());
    steps_.place(features.data(), state.data());
    return at_w_.value(state.data());
  }
  std::unique_ptr<ProjectedError> projected_error(const Shard& shard) override;
  NumericSlack slack() const override { return joint_clip_slack(primal_dim()); }

  /// fill(transitions) adds up the gradients of the record that has been taken apart, and adds them to the sum.
  template <class Fill>
  void for_each_record(const Rows& rows, Fill&& fill);
  /// delta of a transition at w.
  double error_of(const Transition& t) {
    const double value = at_w_.value(t.state);
    return t.reward + t.discount * at_w_.value(t.next) - value;
  }
  void add_gradients(const Transition& t) { add_gradients(at_w_, t, 1); }
  /// primal_ += factor times the gradient by theta, dual_ += factor times that by omega.
  void add_gradients(ValueNetwork& at, const Transition& t, double factor);

  ValueNetwork at_w_;
  std::unique_ptr<ValueNetwork> at_v_;  ///< if differences are asked for
  TdSteps steps_;
  std::vector<double> next_psi_;
  std::vector<double> primal_, dual_;  ///< of one record
};

void TdOfLayers::losses(const Rows& rows, std::span<double> out) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t steps = steps_.unpack(rows.records, rows.index[r]);
    double sum = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      const double error = error_of(steps_[t]);
      sum += error * error;
    }
    out[r] = steps > 0 ? sum / static_cast<double>(steps) : std::numeric_limits<double>::quiet_NaN();
  }
}

void TdOfLayers::scores(const Rows& rows, std::span<float> out) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    out[r] = steps_.unpack(rows.records, rows.index[r]) > 0 ? static_cast<float>(at_w_.value(steps_[0].state))
                                                            : std::numeric_limits<float>::quiet_NaN();
}

std::unique_ptr<ProjectedError> TdOfLayers::projected_error(const Shard& shard) {
  auto all = std::make_unique<ProjectedErrorOfLayers>(at_w_, steps_.room());
  for (const Block& block : shard.blocks)
    for (std::uint32_t i = 0; i < block.records.count; ++i) {
      const std::size_t steps = steps_.unpack(block.records, i);
      for (std::size_t t = 0; t < steps; ++t) {
        const double error = error_of(steps_[t]);
        at_w_.differentiate(steps_[t].state);
        all->add(steps_[t].state, error);
      }
      if (steps > 0) all->end_record();
    }
  return all;
}

template <class Fill>
void TdOfLayers::for_each_record(const Rows& rows, Fill&& fill) {
  for (const std::uint32_t i : rows.index) {
    const std::size_t steps = steps_.unpack(rows.records, i);
    if (steps == 0) continue;
    std::ranges::fill(primal_, 0.0);
    std::ranges::fill(dual_, 0.0);
    fill(steps);
  }
}

void TdOfLayers::add_gradients(ValueNetwork& at, const Transition& t, double factor) {
  const std::size_t dim = at.dim();
  const double next_value = at.differentiate(t.next);
  std::ranges::copy(at.psi(), next_psi_.begin());
  const double error = t.reward + t.discount * next_value - at.differentiate(t.state);
  const double dual = dot(at.psi().data(), at.omega().data(), dim), rest = error - dual;
  add_scaled(factor * dual * t.discount, next_psi_.data(), primal_.data(), dim);
  add_scaled(-factor * dual, at.psi().data(), primal_.data(), dim);
  add_scaled(factor * rest, at.psi().data(), dual_.data(), dim);
  at.add_curvature(t.state, factor * rest, primal_);
}

void TdOfLayers::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_record(rows, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) add_gradients(steps_[t]);
    add_clipped_jointly(primal_, bound.clip, sum);
  });
}

void TdOfLayers::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_record(rows, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) add_gradients(steps_[t]);
    add_clipped_jointly(dual_, bound.clip, sum);
  });
}

void TdOfLayers::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                              LatticeAccumulator& sum) {
  for_each_record(rows, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) add_gradients(steps_[t]);
    if (!clip_jointly(primal_, scale * clip.primal, primal_)) return;
    if (!clip_jointly(dual_, scale * clip.dual, dual_)) return;
    for (double& x : dual_) x *= clip.weight;
    sum.begin(1);
    sum.add(0, std::span<const double>(primal_));
    sum.add(primal_dim(), std::span<const double>(dual_));
  });
}

void TdOfLayers::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(at_v_ != nullptr, "a pair is prepared before its differences");
  for_each_record(rows, [&](std::size_t steps) {
    for (std::size_t t = 0; t < steps; ++t) {
      add_gradients(at_w_, steps_[t], 1);
      add_gradients(*at_v_, steps_[t], -1);
    }
    add_clipped_jointly(primal_, bound.clip, sum);
  });
}

}  // namespace

std::unique_ptr<SaddleObjective> make_td_of_layers(const TdSettings& settings) {
  return std::make_unique<TdOfLayers>(settings);
}

}  // namespace dpmpi
