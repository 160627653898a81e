#pragma once
// Exact sums of clipped maps of losses, as gibo's curator gets them from a rank, of losses that follow records'
// numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "objective/eigen.hpp"
#include "objective/values/loss_table.hpp"
#include "problems/numbered_losses.hpp"
#include "support/lattice_distance.hpp"

namespace dpmpi::test {

using Loss = test::BlackBox::Loss;

/// |theta - x_i|^2 / 2 of records that follow their numbers.
inline double quadratic(std::size_t i, std::span<const double> w) {
  double sum = 0;
  for (std::size_t j = 0; j < w.size(); ++j)
    sum += std::pow(w[j] - std::sin(1.7 * static_cast<double>(i) + 2.3 * static_cast<double>(j)), 2);
  return sum / 2;
}
inline double zero(std::size_t, std::span<const double>) { return 0; }

/// Of the sums below: fine enough that roundings do not show.
inline constexpr Lattice sum_lattice{40};

/// The exact sum of clip(M y_i) over the records, on a fine lattice: what the curator gets from a rank.
inline std::vector<std::int64_t> sum(LossTable& table, const Shard& shard, const Eigen::MatrixXd& points,
                                     const Eigen::MatrixXd& map, double clip, std::uint64_t first_number = 0) {
  LatticeAccumulator total(static_cast<std::size_t>(map.rows()), sum_lattice, clip, 0, Width::int64);
  total.clear();
  const Kernel kernel =
      table.kernel({points.data(), static_cast<std::size_t>(points.size())}, first_number,
                   [&map] { return std::span(map.data(), static_cast<std::size_t>(map.size())); });
  std::vector<std::uint32_t> rows;
  kernel.run({clip}, total, [&](const auto& visit) {
    for (const auto& block : shard.blocks)
      for (std::size_t i = 0; i < block.records.count; i += 32) {
        rows.resize(std::min<std::size_t>(32, block.records.count - i));
        std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(i));
        visit(Rows{block.records, rows});
      }
  });
  return {total.totals().begin(), total.totals().end()};
}
inline std::vector<std::int64_t> sum(Loss loss, const Shard& shard, const Eigen::MatrixXd& points,
                                     const Eigen::MatrixXd& map, double clip) {
  NumberedLoss objective(static_cast<std::size_t>(points.rows()), std::move(loss));
  LossTable table(objective, {});
  return sum(table, shard, points, map, clip);
}

inline Eigen::MatrixXd random(Eigen::Index d, Eigen::Index count, std::uint64_t seed) {
  const PublicStream stream(seed, "gibo test");
  Eigen::MatrixXd points(d, count);
  for (Eigen::Index i = 0; i < points.size(); ++i)
    points.data()[i] = static_cast<float>(2 * stream.uniform(static_cast<std::uint64_t>(i)) - 1);
  return points;
}

}  // namespace dpmpi::test
