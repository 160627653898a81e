#pragma once
// Losses of a multilayer perceptron near two points along many directions, one record at a time, in double.

#include <array>
#include <span>
#include <vector>

#include "data/records/records.hpp"
#include "objective/math/directions.hpp"
#include "objective/network/head.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// Of a direction only the first layer is as long as the record: its product with the record is formed once and
/// serves both points, (W + radius U) z = W z + radius U z. The deeper layers are evaluated for each point.
class MlpProbe {
 public:
  explicit MlpProbe(const MlpShape& shape);
  /// y empty: one point, probed on both sides.
  void prepare(std::span<const double> x, std::span<const double> y);
  /// As Objective::probe.
  void losses(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
              std::span<double> down);

 private:
  void multiply(std::size_t layer, const double* w, const double* level, double* sums) const;
  double loss(std::span<const double> at, const std::vector<double>& first_sums, double step, const double* u,
              float label);

  const MlpShape& shape_;
  MlpHead head_;
  std::span<const double> x_, y_;
  AlignedVector<double> record_;
  std::vector<double> at_x_, at_y_, along_;  ///< sums of the first layer, of the points and of a direction
  std::vector<double> level_, sums_, turn_;  ///< a deeper level, and the sums of the next, of point and direction
};

}  // namespace dpmpi
