#include "method/heavy_tailed/aggregate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"
#include "method/require.hpp"

namespace dpmpi {

namespace {

constexpr std::uint64_t most_folds = 20'001;  // aggregation compares all pairs

}  // namespace

std::uint64_t majority(std::uint64_t folds) { return (51 * folds + 99) / 100; }

std::uint64_t folds_for(double success, double failure) {
  require(success > 0.51 && success < 1, "success of a fold", success, "in (0.51, 1)");
  require_probability("failure probability", failure);
  for (std::uint64_t folds = 1; folds <= most_folds; folds += 2) {
    const auto needed = static_cast<double>(majority(folds));
    const double too_few = boost::math::ibetac(needed, static_cast<double>(folds) - needed + 1, success);
    if (too_few <= failure) return folds;
  }
  throw ConfigError(fmt::format(
      "no {} folds that succeed with probability {} have a majority except with probability {}: make folds larger",
      most_folds, success, failure));
}

Aggregate aggregate(std::span<const double> points, std::size_t dim) {
  verify(dim > 0 && !points.empty() && points.size() % dim == 0, "whole points");
  const std::size_t folds = points.size() / dim;
  const auto nearest = static_cast<std::ptrdiff_t>(majority(folds)) - 1;
  const auto squared_distance = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < dim; ++c) {
      const double difference = points[i * dim + c] - points[j * dim + c];
      sum += difference * difference;
    }
    return sum;
  };
  std::vector<double> distances(folds);
  Aggregate best;
  for (std::size_t i = 0; i < folds; ++i) {
    for (std::size_t j = 0; j < folds; ++j) distances[j] = squared_distance(i, j);
    std::nth_element(distances.begin(), distances.begin() + nearest, distances.end());
    const double radius = std::sqrt(distances[static_cast<std::size_t>(nearest)]);
    if (i == 0 || radius < best.radius) best = {i, radius};
  }
  return best;
}

}  // namespace dpmpi
