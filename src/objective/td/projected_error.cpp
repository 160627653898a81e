#include "objective/td/projected_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "objective/math/dot.hpp"

namespace dpmpi {

void ProjectedError::count(double error, double square) {
  errors_.push_back(error);
  const auto grow = [](double& largest, double value) {
    largest = std::isnan(value) ? std::numeric_limits<double>::infinity() : std::max(largest, value);
  };
  grow(largest_psi_, std::sqrt(square));
  grow(largest_error_, std::abs(error));
}

ProjectedError::Totals ProjectedError::totals(const SetTotals& whole) const {
  std::array<std::int64_t, 2> counts{static_cast<std::int64_t>(errors_.size()), records_};
  whole.sum(counts);
  return {counts[0], counts[1], whole.largest(largest_psi_), whole.largest(largest_error_)};
}

std::vector<double> ProjectedError::mean(const SetTotals& whole, const Totals& all, double largest,
                                         const std::function<double(std::size_t)>& factor) {
  // No coordinate of any partial sum reaches 2^61.
  const double bound = std::max(largest * all.psi * static_cast<double>(all.transitions), 1e-200);
  const double scale = std::ldexp(1.0, 60 - std::ilogb(bound));
  std::vector<std::int64_t> sum(dim_);
  for (std::size_t t = 0; t < errors_.size(); ++t) {
    const double weight = scale * factor(t);
    add_to(t, weight, sum);
  }
  whole.sum(sum);
  std::vector<double> mean;
  for (const std::int64_t x : sum)
    mean.push_back(static_cast<double>(x) / (scale * static_cast<double>(all.records)));
  return mean;
}

double ProjectedError::value(const SetTotals& whole, double mu) {
  const Totals all = totals(whole);
  if (all.records == 0) return 0;
  if (!(std::max(all.psi, all.error) < 1e75)) return std::numeric_limits<double>::infinity();

  const std::vector<double> b = mean(whole, all, all.error, [&](std::size_t t) { return errors_[t]; });
  const std::size_t d = b.size();
  std::vector<double> omega(d), residual = b, p = b;
  const double first = squared_norm(b.data(), d);
  double square = first;
  for (std::size_t i = 0; i < 2 * d + 100 && square > 1e-16 * first; ++i) {
    const double length = std::sqrt(squared_norm(p.data(), d));
    auto q = mean(whole, all, all.psi, [&](std::size_t t) { return along(t, p) / length; });  // G p / |p|
    for (std::size_t j = 0; j < d; ++j) q[j] = length * q[j] + mu * p[j];
    const double step = square / dot(p.data(), q.data(), d);
    add_scaled(step, p.data(), omega.data(), d);
    add_scaled(-step, q.data(), residual.data(), d);
    const double next = squared_norm(residual.data(), d);
    for (std::size_t j = 0; j < d; ++j) p[j] = residual[j] + next / square * p[j];
    square = next;
  }
  return dot(omega.data(), b.data(), d) / 2;
}

ProjectedErrorOfPerceptron::ProjectedErrorOfPerceptron(const MlpShape& shape)
    : ProjectedError(shape.dim()),
      inputs_(shape.inputs(0) + (shape.has_bias(0) ? 1 : 0)),
      units_(shape.outputs(0)),
      second_(shape.layers() > 1 ? shape.parameters(1) : 0) {}

void ProjectedErrorOfPerceptron::add(const TdTerms& terms, const double* state) {
  const auto slope = terms.slope.begin(), level = terms.level.begin();
  states_.insert(states_.end(), state, state + inputs_);
  slopes_.insert(slopes_.end(), slope, slope + static_cast<std::ptrdiff_t>(units_));
  levels_.insert(levels_.end(), level, level + static_cast<std::ptrdiff_t>(second_));
  count(terms.error, squared_norm(state, inputs_) * squared_norm(&*slope, units_) + squared_norm(&*level, second_));
}

double ProjectedErrorOfPerceptron::along(std::size_t transition, const std::vector<double>& p) {
  const double *state = states_.data() + transition * inputs_, *slope = slopes_.data() + transition * units_;
  double sum = dot(levels_.data() + transition * second_, p.data() + units_ * inputs_, second_);
  for (std::size_t u = 0; u < units_; ++u) sum += slope[u] * dot(p.data() + u * inputs_, state, inputs_);
  return sum;
}

void ProjectedErrorOfPerceptron::add_to(std::size_t transition, double weight, std::span<std::int64_t> sum) {
  std::int64_t* to = sum.data();
  for (std::size_t u = 0; u < units_; ++u)
    for (std::size_t j = 0; j < inputs_; ++j)
      *to++ += std::llrint(weight * slopes_[transition * units_ + u] * states_[transition * inputs_ + j]);
  for (std::size_t j = 0; j < second_; ++j) *to++ += std::llrint(weight * levels_[transition * second_ + j]);
}

}  // namespace dpmpi
