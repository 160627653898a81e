#include "dpmpi/objective/td.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/environments.hpp"
#include "dpmpi/objective/dot.hpp"
#include "dpmpi/objective/gather.hpp"
#include "dpmpi/objective/mlp_clip.hpp"
#include "dpmpi/objective/mlp_difference.hpp"
#include "dpmpi/objective/mlp_gradient.hpp"
#include "dpmpi/objective/mlp_pass.hpp"
#include "dpmpi/objective/td_point.hpp"

namespace dpmpi {
namespace {

MlpShape value_shape(const TdSettings& settings) {
  MlpShape shape{.units = {settings.state}, .input_bias = settings.bias, .activation = Activation::tanh};
  if (settings.hidden > 0) shape.units.push_back(settings.hidden);
  shape.units.push_back(1);
  return shape;
}

void scale(double factor, std::span<double> row) {
  for (double& x : row) x *= factor;
}

class Td final : public SaddleObjective {
 public:
  explicit Td(const TdSettings& settings);

  std::size_t dim() const override { return 2 * shape_.dim(); }
  std::size_t primal_dim() const override { return shape_.dim(); }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override;
  // Forward of theta at s and s' and of omega at s, and three weighted sums of outer products.
  double flops_per_record() const override { return 12.0 * static_cast<double>(shape_.dim()); }
  std::size_t micro_batch_rows() const override { return rows_at_once; }
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  void prepare(std::span<const float> w) override { at_w_.load(w); }
  void prepare_pair(std::span<const float> w, std::span<const float> v) override { at_w_.load(w), at_v_.load(v); }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;

  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;

  /// psi (primal_dim() values) = Psi(s) of row `row` of the last gather(), at the terms of its evaluation.
  void features(std::size_t row, std::span<double> psi) const;
  double projected_error(const Records& records);

  NumericSlack primal_gradient_slack() const override { return slack(); }
  NumericSlack dual_gradient_slack() const override { return slack(); }
  NumericSlack saddle_gradient_slack() const override { return slack(); }
  NumericSlack primal_difference_slack() const override { return slack(); }

 private:
  static constexpr std::size_t rows_at_once = 64;

  bool has_hidden_layer() const { return shape_.layers() > 1; }
  template <class Visit>
  void for_each_record(const Rows& rows, std::size_t at_once, Visit visit);
  template <class Fill, class Add>
  void accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill, Add add);
  std::size_t gather(const Rows& rows);
  bool usable(const Rows& rows, std::size_t row) const;
  Transition transition(const Rows& rows, std::size_t row) const;

  void set_primal(const TdTerms& terms, std::size_t row);
  void set_dual(const TdTerms& terms, std::size_t row);
  bool clip_primal(const L2Bound& bound, std::size_t row);
  bool clip_dual(const L2Bound& bound, double weight, std::size_t row);
  void zero_row(std::size_t row);
  void add_primal(std::size_t rows, LatticeAccumulator& sum);
  void add_dual(std::size_t rows, std::size_t base, LatticeAccumulator& sum);
  NumericSlack slack() const;

  TdSettings settings_;
  MlpShape shape_;
  TdPoint at_w_, at_v_;
  TdTerms terms_, terms_v_;
  // Rows of a micro-batch. The second layer's gradients are outer products of 1 and a row.
  Scratch<double> input_, state_, next_;
  Scratch<double> by_next_, by_state_, output_;  // P, Q and the second layer's part of grad_theta
  Scratch<double> dual_slope_, dual_output_;     // of grad_omega
  Scratch<double> one_;
  LayerGradient<double> gradient_;
};

Td::Td(const TdSettings& settings)
    : settings_(settings),
      shape_(value_shape(settings)),
      at_w_(shape_),
      at_v_(shape_),
      terms_(shape_),
      terms_v_(shape_),
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

std::vector<ParameterGroup> Td::groups() const {
  std::vector<ParameterGroup> all;
  std::size_t offset = 0;
  for (const char* block : {"theta.", "omega."}) {
    for (ParameterGroup group : network_groups(shape_)) {
      group.name = block + group.name;
      group.offset += offset;
      all.push_back(std::move(group));
    }
    offset += shape_.dim();
  }
  return all;
}

void Td::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  initialise_network(shape_, stream, w.first(shape_.dim()));
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(shape_.dim()), w.end(), 0.0F);
}

/// Splits the records (s, s', terminal, constant) into rows of s and s' with their constant; returns the padded
/// number of rows.
std::size_t Td::gather(const Rows& rows) {
  const std::size_t n = settings_.state;
  verify(rows.records.features == 2 * n + 1 && rows.records.bias == settings_.bias,
         "records have the features and the constant column that the value function was made for");
  gather_rows(rows, input_.width, input_.row(0));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* record = input_.row(r);
    std::copy_n(record, n, state_.row(r));
    std::copy_n(record + n, n, next_.row(r));
    if (shape_.has_bias(0)) state_.row(r)[n] = next_.row(r)[n] = static_cast<double>(settings_.bias);
  }
  return round_up(rows.size(), 16);
}

Transition Td::transition(const Rows& rows, std::size_t row) const {
  const double terminal = input_.row(row)[2 * settings_.state];
  return {state_.row(row), next_.row(row), static_cast<double>(label(rows, row)),
          settings_.discount * (1 - terminal)};
}

/// False for an empty slot and for a record that is not finite, where a gradient by itself may well be.
bool Td::usable(const Rows& rows, std::size_t row) const {
  return std::isfinite(label(rows, row)) && usable_square(squared_norm(input_.row(row), input_.width));
}

/// visit(row of `rows`, terms at w) for every record.
template <class Visit>
void Td::for_each_record(const Rows& rows, std::size_t at_once, Visit visit) {
  for_each_part(rows, at_once, [&](const Rows& part, std::size_t first) {
    gather(part);
    for (std::size_t r = 0; r < part.size(); ++r) {
      at_w_.evaluate(transition(part, r), terms_);
      visit(first + r);
    }
  });
}

void Td::losses(const Rows& rows, std::span<double> out) {
  for_each_record(rows, rows_at_once, [&](std::size_t row) { out[row] = terms_.error * terms_.error; });
}

void Td::features(std::size_t row, std::span<double> psi) const {
  const std::size_t n = settings_.state, units = shape_.units[1];
  for (std::size_t u = 0; u < units; ++u) {
    for (std::size_t j = 0; j < n; ++j) psi[u * n + j] = terms_.slope[u] * state_.row(row)[j];
    if (shape_.has_bias(0)) psi[shape_.bias_offset(0) + u] = terms_.slope[u] * state_.row(row)[n];
  }
  if (has_hidden_layer())
    std::copy_n(terms_.level.begin(), units + 1,
                psi.begin() + static_cast<std::ptrdiff_t>(shape_.weight_offset(1)));
}

double Td::projected_error(const Records& records) {
  const std::size_t d = primal_dim();
  std::vector<double> psi(d), b(d), G(d * d);
  double count = 0;
  for (std::uint32_t i = 0; i < records.count; ++i) {
    const Rows row{records, std::span(&i, 1)};
    gather(row);
    if (!usable(row, 0)) continue;
    at_w_.evaluate(transition(row, 0), terms_);
    features(0, psi);
    add_scaled(terms_.error, psi.data(), b.data(), d);
    for (std::size_t j = 0; j < d; ++j) add_scaled(psi[j], psi.data(), G.data() + j * d, d);
    count += 1;
  }
  for (double& x : b) x /= count;
  for (double& x : G) x /= count;
  for (std::size_t j = 0; j < d; ++j) G[j * d + j] += settings_.dual_l2;
  const std::vector<double> omega = solve_linear(std::move(G), b);
  return dot(omega.data(), b.data(), d) / 2;
}

void Td::scores(const Rows& rows, std::span<float> out) {
  for_each_record(rows, rows_at_once, [&](std::size_t row) { out[row] = static_cast<float>(terms_.value); });
}

/// fill(transition, row) sets and clips the row, or returns false for a record that contributes nothing;
/// add(padded rows) adds them all.
template <class Fill, class Add>
void Td::accumulate(const Rows& rows, LatticeAccumulator& sum, Fill fill, Add add) {
  for_each_part(rows, std::min(rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    const std::size_t padded = gather(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      if (!usable(part, r) || !fill(transition(part, r), r)) zero_row(r);
    for (std::size_t r = part.size(); r < padded; ++r) zero_row(r);
    sum.begin(part.size());
    add(padded);
  });
}

void Td::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_primal(terms_, row);
    return clip_primal(bound, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_primal(padded, sum); });
}

void Td::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_dual(terms_, row);
    return clip_dual(bound, 1, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_dual(padded, 0, sum); });
}

void Td::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                      LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    set_primal(terms_, row);
    set_dual(terms_, row);
    return clip_primal({.clip = scale * clip.primal}, row) &&
           clip_dual({.clip = scale * clip.dual}, clip.weight, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) {
    add_primal(padded, sum);
    add_dual(padded, primal_dim(), sum);
  });
}

// s and s' do not depend on theta, so the difference has the form of a gradient, with the differences of P, Q and
// the second layer's part.
void Td::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const auto fill = [&](const Transition& t, std::size_t row) {
    at_w_.evaluate(t, terms_);
    at_v_.evaluate(t, terms_v_);
    for (const auto part : {&TdTerms::next, &TdTerms::state, &TdTerms::output})
      for (std::size_t j = 0; j < shape_.width(1); ++j) (terms_.*part)[j] -= (terms_v_.*part)[j];
    set_primal(terms_, row);
    return clip_primal(bound, row);
  };
  accumulate(rows, sum, fill, [&](std::size_t padded) { add_primal(padded, sum); });
}

void Td::set_primal(const TdTerms& terms, std::size_t row) {
  std::copy(terms.next.begin(), terms.next.end(), by_next_.row(row));
  std::copy(terms.state.begin(), terms.state.end(), by_state_.row(row));
  std::copy(terms.output.begin(), terms.output.end(), output_.row(row));
}

void Td::set_dual(const TdTerms& terms, std::size_t row) {
  const double rest = terms.error - terms.dual;
  for (std::size_t j = 0; j < shape_.width(1); ++j) {
    dual_slope_.row(row)[j] = rest * terms.slope[j];
    dual_output_.row(row)[j] = rest * terms.level[j];
  }
}

/// False: the gradient is not finite. The norm is that of the very bits that are added, with a guard against the
/// cancellation of the two outer products (clipping_square).
bool Td::clip_primal(const L2Bound& bound, std::size_t row) {
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

bool Td::clip_dual(const L2Bound& bound, double weight, std::size_t row) {
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
void Td::zero_row(std::size_t row) {
  for (Scratch<double>* scratch : {&state_, &next_, &by_next_, &by_state_, &output_, &dual_slope_, &dual_output_})
    std::fill_n(scratch->row(row), scratch->width, 0.0);
}

void Td::add_primal(std::size_t rows, LatticeAccumulator& sum) {
  const OuterProducts<double> first[] = {{by_next_, next_}, {by_state_, state_}};
  gradient_.add(0, first, rows, sum);
  if (!has_hidden_layer()) return;
  const OuterProducts<double> second[] = {{one_, output_}};
  gradient_.add(1, second, rows, sum);
}

void Td::add_dual(std::size_t rows, std::size_t base, LatticeAccumulator& sum) {
  const OuterProducts<double> first[] = {{dual_slope_, state_}};
  gradient_.add(0, first, rows, sum, base);
  if (!has_hidden_layer()) return;
  const OuterProducts<double> second[] = {{one_, dual_output_}};
  gradient_.add(1, second, rows, sum, base);
}

void Td::add_public_dual(std::span<const float> w, std::uint64_t /*step*/, std::span<double> gradient) const {
  for (std::size_t j = 0; j < gradient.size(); ++j)
    gradient[j] -= settings_.dual_l2 * static_cast<double>(w[primal_dim() + j]);
}

void Td::project_dual(std::span<float> y) const {
  double square = 0;
  for (const float x : y) square += static_cast<double>(x) * static_cast<double>(x);
  const double norm = std::sqrt(square);
  if (!(norm > settings_.dual_radius)) return;
  for (float& x : y) x = static_cast<float>(static_cast<double>(x) * (settings_.dual_radius / norm));
}

// All in double. A norm of S terms is off by less than (S + 8) 2^-53 (and never too small where the guard is), the
// factor and the scaled rows round a few times more. The two outer products of a clipped gradient together have at
// most twice the clip, and one sum of m rows is a chain of 2 m of them: as in MlpDifference::slack, with 2^-53 in
// place of 2^-24.
NumericSlack Td::slack() const {
  const std::size_t terms = 2 * shape_.width(0) + 3 * shape_.width(1);
  return {
      .clip = static_cast<double>(terms + 16) * 0x1p-53, .summed_rows = rows_at_once, .magnification = 4 * 0x1p-29};
}

class TdBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    options.add("value", value_, "value function: linear, or one hidden layer of tanh units", {"linear", "mlp"});
    options.add("hidden", hidden_, "units of the hidden layer (value = mlp)", Range::at_least(1));
    options.add("discount", settings_.discount, "discount factor gamma", Range::closed(0, 1));
    options.add("dual_l2", settings_.dual_l2, "curvature mu of the public term -(mu / 2) |omega|^2",
                Range::non_negative());
    options.add("dual_radius", settings_.dual_radius, "largest norm of omega", Range::positive());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    if (facts.features < 3 || facts.features % 2 == 0)
      throw ConfigError(
          fmt::format("objective td needs records (s, s', terminal): an odd number of features, 3 or more, not {}",
                      facts.features));
    TdSettings settings = settings_;
    settings.state = static_cast<std::size_t>((facts.features - 1) / 2);
    settings.hidden = value_ == "mlp" ? static_cast<std::size_t>(hidden_) : 0;
    settings.bias = facts.bias;
    return make_td(settings);
  }
  LabelKind label_kind() const override { return LabelKind::real; }

 private:
  TdSettings settings_;
  std::string value_ = "mlp";
  std::int64_t hidden_ = 50;
};

const ObjectiveRegistration td{
    {"td", "projected Bellman error of logged transitions, min-max form",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<TdBuilder>(); }}};

}  // namespace

std::unique_ptr<SaddleObjective> make_td(const TdSettings& settings) {
  if (settings.state == 0) throw ConfigError("objective td: a state has no features");
  if (!(settings.discount >= 0 && settings.discount <= 1))
    throw ConfigError("objective.discount must lie in [0, 1]");
  if (!(settings.dual_radius > 0)) throw ConfigError("objective.dual_radius must be positive");
  return std::make_unique<Td>(settings);
}

double projected_bellman_error(const TdSettings& settings, std::span<const float> w, const Records& records) {
  Td td(settings);
  td.prepare(w);
  return td.projected_error(records);
}

}  // namespace dpmpi
