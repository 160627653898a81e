// Temporal differences where a record is one transition.

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/clip.hpp"
#include "objective/network/difference.hpp"
#include "objective/network/gradient.hpp"
#include "objective/network/pass.hpp"
#include "objective/td/base.hpp"

namespace dpmpi {
namespace {

void scale(double factor, std::span<double> row) {
  for (double& x : row) x *= factor;
}

class TdOfTransitions final : public TdBase {
 public:
  explicit TdOfTransitions(const TdSettings& settings);

  // Forward of theta at s and s' and of omega at s, and three weighted sums of outer products.
  double flops_per_record() const override { return 12.0 * static_cast<double>(shape_.dim()); }
  std::size_t micro_batch_rows() const override { return rows_at_once; }

 private:
  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  static constexpr std::size_t rows_at_once = 64;

  std::size_t unpack(const Records& records, std::uint32_t i) override;
  Transition transition(std::size_t row) const override;
  NumericSlack slack() const override;

  template <class Fill, class Add>
  void accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill, Add add);
  std::size_t gather(const Rows& rows);
  bool takes_part(std::size_t row) const;

  void set_primal(std::size_t row);
  void set_dual(std::size_t row);
  bool clip_primal(const L2Bound& bound, std::size_t row);
  bool clip_dual(const L2Bound& bound, double weight, std::size_t row);
  void zero_row(std::size_t row);
  void add_primal(std::size_t rows, LatticeAccumulator& sum);
  void add_dual(std::size_t rows, std::size_t base, LatticeAccumulator& sum);

  // Rows of a micro-batch. The second layer's gradients are outer products of 1 and a row.
  Scratch<double> input_, state_, next_;
  std::array<float, rows_at_once> reward_{};
  Scratch<double> by_next_, by_state_, output_;  // P, Q and the second layer's part of grad_theta
  Scratch<double> dual_slope_, dual_output_;     // of grad_omega
  Scratch<double> one_;
  LayerGradient<double> gradient_;
};

TdOfTransitions::TdOfTransitions(const TdSettings& settings)
    : TdBase(settings),
      input_(rows_at_once, round_up(2 * settings.state + 2, 16)),
      state_(rows_at_once, shape_.width(0)),
      next_(state_),
      by_next_(rows_at_once, shape_.width(1)),
      by_state_(by_next_),
      output_(by_next_),
      dual_slope_(by_next_),
      dual_output_(by_next_),
      one_(rows_at_once, 16),
      gradient_(shape_, 2 * rows_at_once) {
  for (std::size_t r = 0; r < rows_at_once; ++r) one_.row(r)[0] = 1;
}

/// Splits the records (s, s', terminal, constant) into rows of s and s' with their constant; returns the padded
/// number of rows.
std::size_t TdOfTransitions::gather(const Rows& rows) {
  const std::size_t n = settings_.state;
  verify(rows.records.features == 2 * n + 1 && rows.records.bias == settings_.bias,
         "records have the features and the constant column that the value function was made for");
  copy_rows(rows, input_.width, input_.row(0));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* record = input_.row(r);
    std::copy_n(record, n, state_.row(r));
    std::copy_n(record + n, n, next_.row(r));
    if (shape_.has_bias(0)) state_.row(r)[n] = next_.row(r)[n] = static_cast<double>(settings_.bias);
    reward_[r] = label(rows, r);
  }
  return round_up(rows.size(), 16);
}

std::size_t TdOfTransitions::unpack(const Records& records, std::uint32_t i) {
  gather({records, std::span(&i, 1)});
  return takes_part(0) ? 1 : 0;
}

Transition TdOfTransitions::transition(std::size_t row) const {
  const double terminal = input_.row(row)[2 * settings_.state];
  return {state_.row(row), next_.row(row), static_cast<double>(reward_[row]), settings_.discount * (1 - terminal)};
}

/// False for an empty slot and for a record that is not finite, where a gradient by itself may well be.
bool TdOfTransitions::takes_part(std::size_t row) const {
  return std::isfinite(reward_[row]) && usable_square(squared_norm(input_.row(row), input_.width));
}

/// fill(transition, row) sets and clips the row, or returns false for a record that contributes nothing;
/// add(padded rows) adds them all.
template <class Fill, class Add>
void TdOfTransitions::accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill, Add add) {
  for_each_part(rows, std::min(rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    const std::size_t padded = gather(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      if (!takes_part(r) || !fill(transition(r), r)) zero_row(r);
    for (std::size_t r = part.size(); r < padded; ++r) zero_row(r);
    sum.begin(part.size());
    add(padded);
  });
}

void TdOfTransitions::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound,
                                                   LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_primal(row);
    return clip_primal(bound, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_primal(padded, sum); });
}

void TdOfTransitions::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_dual(row);
    return clip_dual(bound, 1, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_dual(padded, 0, sum); });
}

void TdOfTransitions::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                                   LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_primal(row);
    set_dual(row);
    return clip_primal({.clip = scale * clip.primal}, row) &&
           clip_dual({.clip = scale * clip.dual}, clip.weight, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) {
    add_primal(padded, sum);
    add_dual(padded, primal_dim(), sum);
  });
}

void TdOfTransitions::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound,
                                                     LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    evaluate_difference(t);
    set_primal(row);
    return clip_primal(bound, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_primal(padded, sum); });
}

void TdOfTransitions::set_primal(std::size_t row) {
  std::copy(terms_.next.begin(), terms_.next.end(), by_next_.row(row));
  std::copy(terms_.state.begin(), terms_.state.end(), by_state_.row(row));
  std::copy(terms_.output.begin(), terms_.output.end(), output_.row(row));
}

void TdOfTransitions::set_dual(std::size_t row) {
  const double rest = terms_.error - terms_.dual;
  for (std::size_t j = 0; j < shape_.width(1); ++j) {
    dual_slope_.row(row)[j] = rest * terms_.slope[j];
    dual_output_.row(row)[j] = rest * terms_.level[j];
  }
}

/// False: the gradient is not finite. The norm is that of the very bits that are added, with a guard against the
/// cancellation of the two outer products (clipping_square).
bool TdOfTransitions::clip_primal(const L2Bound& bound, std::size_t row) {
  const auto values = [row](Scratch<double>& scratch) { return std::span(scratch.row(row), scratch.width); };
  const LayerDifference<double> first{values(by_next_), values(next_), values(by_state_), values(state_)};
  std::array<double, 2> factors{clipping_square(first), 0};
  if (has_hidden_layer()) {
    factors[1] = squared_norm(output_.row(row), output_.width);
    if (!usable_square(factors[1])) return false;
  }
  if (!squares_to_factors(bound, std::span(factors).first(shape_.layers()))) return false;
  scale(factors[0], values(by_next_));
  scale(factors[0], values(by_state_));
  scale(factors[1], values(output_));
  return true;
}

bool TdOfTransitions::clip_dual(const L2Bound& bound, double weight, std::size_t row) {
  const double slope2 = squared_norm(dual_slope_.row(row), dual_slope_.width);
  const double state2 = squared_norm(state_.row(row), state_.width);
  const double output2 = has_hidden_layer() ? squared_norm(dual_output_.row(row), dual_output_.width) : 0;
  if (!usable_square(slope2) || !usable_square(state2) || !usable_square(output2)) return false;
  std::array<double, 2> factors{slope2 * state2, output2};
  if (!squares_to_factors(bound, std::span(factors).first(shape_.layers()))) return false;
  scale(weight * factors[0], {dual_slope_.row(row), dual_slope_.width});
  scale(weight * factors[1], {dual_output_.row(row), dual_output_.width});
  return true;
}

/// Zero factors alone would not do: 0 * inf is NaN.
void TdOfTransitions::zero_row(std::size_t row) {
  for (Scratch<double>* scratch : {&state_, &next_, &by_next_, &by_state_, &output_, &dual_slope_, &dual_output_})
    std::fill_n(scratch->row(row), scratch->width, 0.0);
}

void TdOfTransitions::add_primal(std::size_t rows, LatticeAccumulator& sum) {
  const OuterProducts<double> first[] = {{by_next_, next_}, {by_state_, state_}};
  gradient_.add(0, first, rows, sum);
  if (!has_hidden_layer()) return;
  const OuterProducts<double> second[] = {{one_, output_}};
  gradient_.add(1, second, rows, sum);
}

void TdOfTransitions::add_dual(std::size_t rows, std::size_t base, LatticeAccumulator& sum) {
  const OuterProducts<double> first[] = {{dual_slope_, state_}};
  gradient_.add(0, first, rows, sum, base);
  if (!has_hidden_layer()) return;
  const OuterProducts<double> second[] = {{one_, dual_output_}};
  gradient_.add(1, second, rows, sum, base);
}

// All in double. A norm of S terms is off by less than (S + 8) 2^-53 (and never too small where the guard is), the
// factor and the scaled rows round a few times more. The two outer products of a clipped gradient together have at
// most twice the clip, and are summed apart: as in MlpDifference::slack, with 2^-53 in place of 2^-24.
NumericSlack TdOfTransitions::slack() const {
  const std::size_t terms = 2 * shape_.width(0) + 3 * shape_.width(1);
  return {
      .clip = static_cast<double>(terms + 16) * 0x1p-53, .summed_rows = rows_at_once, .magnification = 2 * 0x1p-29};
}

}  // namespace

std::unique_ptr<SaddleObjective> make_td_of_transitions(const TdSettings& settings) {
  return std::make_unique<TdOfTransitions>(settings);
}

}  // namespace dpmpi
