#pragma once
// Minimum of a smooth function of points in a box: L-BFGS (Nocedal 1980) in the coordinates that are free to move,
// with steps that are projected into the box (Bertsekas 1982). Public numbers only; its bits are one machine's.

#include <functional>

#include "core/eigen.hpp"

namespace dpmpi {

/// The box that points are moved into, coordinate by coordinate; empty bounds: all of R^d.
struct Box {
  Eigen::VectorXd low, high;
  bool bounded() const { return low.size() > 0; }
  void clamp(Eigen::Ref<Eigen::MatrixXd> points) const;
  bool contains(const Eigen::Ref<const Eigen::VectorXd>& point) const;
};

/// The value of a function at points, a point a column, and its derivative in them.
using PointsFunction = std::function<double(const Eigen::MatrixXd& points, Eigen::MatrixXd& gradient)>;

/// Goes down from `points` (d x b, in the box) for at most `steps` steps, or until steps gain nothing. The value
/// never rises. `length`: how far the first step moves a coordinate at most.
Eigen::MatrixXd descend_in_box(const PointsFunction& function, Eigen::MatrixXd points, const Box& box, int steps,
                               double length);

}  // namespace dpmpi
