#include "method/black_box/stencil.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd unit_simplex(Index q) {
  const auto d = static_cast<double>(q);
  MatrixXd vertices(q, q + 1);
  vertices.col(0).setConstant(1 / std::sqrt(d));
  vertices.rightCols(q).setConstant(-(std::sqrt(d + 1) + 1) / (d * std::sqrt(d)));
  for (Index j = 0; j < q; ++j) vertices(j, j + 1) += std::sqrt(1 + 1 / d);
  return vertices;
}

double simplex_trace(const Covariance& covariance, double gamma, Index q, double radius) {
  const double share = 1 + 1 / static_cast<double>(q), slope = covariance.profile_slope(radius);
  return covariance.curvature() -
         share * slope * slope / (gamma + covariance.one_minus_profile(radius * std::sqrt(2 * share)));
}

// A grid finds the valley, golden sections its ground.
double best_radius(const Covariance& covariance, double gamma, Index q) {
  constexpr int cells = 48, sections = 60;
  const double low = std::log(1e-3), high = std::log(4.0), width = (high - low) / cells;
  const auto value = [&](double log_radius) { return simplex_trace(covariance, gamma, q, std::exp(log_radius)); };
  int best = 0;
  for (int i = 1; i <= cells; ++i)
    if (value(low + i * width) < value(low + best * width)) best = i;
  double a = low + std::max(0, best - 1) * width, b = low + std::min(cells, best + 1) * width;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double left = b - golden * (b - a), right = a + golden * (b - a);
  double at_left = value(left), at_right = value(right);
  for (int i = 0; i < sections; ++i) {
    if (at_left < at_right) {
      b = right, right = left, at_right = at_left;
      left = b - golden * (b - a), at_left = value(left);
    } else {
      a = left, left = right, at_left = at_right;
      right = a + golden * (b - a), at_right = value(right);
    }
  }
  return std::exp((a + b) / 2);
}

std::vector<Index> simple_partition(Index d, Index b) {
  if (b < 2 || (b > 2 * d && b % (2 * d) != 0)) return {};
  if (b <= d + 1) return {b - 1};
  if (b > 2 * d) return std::vector<Index>(static_cast<std::size_t>(b / 2), 1);
  std::vector<Index> blocks(static_cast<std::size_t>(b - d - 1), 1);
  blocks.push_back(2 * d - b + 1);
  return blocks;
}

std::vector<Index> best_partition(const Covariance& covariance, double gamma, Index d, Index b) {
  std::vector<Index> best = simple_partition(d, b);
  if (b <= d + 1 || b >= 2 * d) return best;
  std::map<Index, double> traces;
  const auto trace = [&](Index q) {
    const auto [known, fresh] = traces.try_emplace(q);
    if (fresh)
      known->second =
          static_cast<double>(q) * simplex_trace(covariance, gamma, q, best_radius(covariance, gamma, q));
    return known->second;
  };
  const Index blocks = b - d;
  double least = infinity;
  for (Index pairs = 0; pairs < blocks; ++pairs) {
    const Index others = blocks - pairs, size = (d - pairs) / others, larger = (d - pairs) % others;
    const double sum = static_cast<double>(pairs) * trace(1) + static_cast<double>(others - larger) * trace(size) +
                       (larger > 0 ? static_cast<double>(larger) * trace(size + 1) : 0);
    if (sum >= least) continue;
    least = sum;
    best.assign(static_cast<std::size_t>(blocks), size);
    std::fill_n(best.begin(), pairs, 1);
    std::fill_n(best.rbegin(), larger, size + 1);
  }
  return best;
}

MatrixXd block_offsets(const Covariance& covariance, double gamma, const std::vector<Index>& blocks,
                       const MatrixXd& directions, Index repeats) {
  const Index points = std::accumulate(blocks.begin(), blocks.end(), static_cast<Index>(blocks.size()));
  MatrixXd offsets(directions.rows(), points);
  std::map<Index, MatrixXd> simplices;  // of best radius, by size
  Index column = 0, direction = 0;
  for (const Index q : blocks) {
    MatrixXd& simplex = simplices[q];
    if (simplex.size() == 0)
      simplex = best_radius(covariance, gamma / static_cast<double>(repeats), q) * unit_simplex(q);
    if (direction + q > directions.cols()) direction = 0;  // the next repeat
    verify(direction + q <= directions.cols(), "blocks of directions that there are");
    offsets.middleCols(column, q + 1).noalias() = directions.middleCols(direction, q) * simplex;
    column += q + 1;
    direction += q;
  }
  return offsets;
}

}  // namespace dpmpi
