#include "method/black_box/loss_surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/portable_exp.hpp"

namespace dpmpi {
namespace {

// Of the prior variance, so that values without noise at points that lie close leave a matrix that can be factored.
constexpr double least_noise = 1e-8;

double decay(double x) { return x < 700 ? portable_exp(-x) : 0; }

}  // namespace

LossSurrogate::LossSurrogate(const SurrogatePrior& prior, std::size_t dim, std::vector<double> points)
    : prior_(prior),
      dim_(dim),
      points_(std::move(points)),
      mean_(points_.size() / dim, 0.0),
      variance_(mean_.size(), prior.deviation * prior.deviation) {
  verify(!mean_.empty() && prior.lengthscale > 0 && prior.deviation > 0, "a prior over some points");
}

double LossSurrogate::covariance(std::span<const double> x, std::span<const double> y) const {
  double square = 0;
  for (std::size_t k = 0; k < dim_; ++k) square += (x[k] - y[k]) * (x[k] - y[k]);
  square /= prior_.lengthscale * prior_.lengthscale;
  const double variance = prior_.deviation * prior_.deviation;
  if (prior_.kernel == SurrogateKernel::rbf) return variance * decay(square / 2);
  const double a = std::sqrt(5 * square);
  return variance * (1 + a + a * a / 3) * decay(a);
}

// One more row of the Cholesky factor. The value's point is one of those whose white covariances are kept: they are
// the row, but for its diagonal.
void LossSurrogate::observe(std::uint32_t i, double value) {
  verify(i < size(), "a value at one of the points");
  const double prior = prior_.deviation * prior_.deviation;
  const double noise = std::max(prior_.noise * prior_.noise, least_noise * prior);
  const double diagonal = std::sqrt(std::max(0.0, variance_[i]) + noise);
  std::vector<double> row(size());
  for (std::size_t j = 0; j < size(); ++j) row[j] = covariance(point(i), point(j));
  double white = value;
  for (std::size_t k = 0; k < white_rows_.size(); ++k) {
    const double left = white_rows_[k][i];
    white -= left * white_values_[k];
    for (std::size_t j = 0; j < size(); ++j) row[j] -= left * white_rows_[k][j];
  }
  white /= diagonal;
  for (std::size_t j = 0; j < size(); ++j) {
    row[j] /= diagonal;
    mean_[j] += row[j] * white;
    variance_[j] -= row[j] * row[j];
  }
  white_values_.push_back(white);
  white_rows_.push_back(std::move(row));
}

double LossSurrogate::deviation(std::size_t j) const { return std::sqrt(std::max(0.0, variance_[j])); }

std::uint32_t LossSurrogate::lowest(double width) const {
  const auto bound = [&](std::size_t j) { return mean_[j] - width * deviation(j); };
  std::size_t best = 0;
  for (std::size_t j = 1; j < size(); ++j)
    if (bound(j) < bound(best)) best = j;
  return static_cast<std::uint32_t>(best);
}

}  // namespace dpmpi
