// Descent of smooth functions of points in a box.
#include <cmath>

#include <gtest/gtest.h>

#include "method/black_box/box_minimum.hpp"

namespace dpmpi::box_minimum_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::VectorXd;

/// Rosenbrock's function of each column, added up.
double rosenbrock(const MatrixXd& x, MatrixXd& gradient) {
  double value = 0;
  for (Index j = 0; j < x.cols(); ++j) {
    const double a = 1 - x(0, j), b = x(1, j) - x(0, j) * x(0, j);
    value += a * a + 100 * b * b;
    gradient.col(j) << -2 * a - 400 * b * x(0, j), 200 * b;
  }
  return value;
}

TEST(BoxMinimum, FollowsCurvedValleys) {
  MatrixXd start(2, 2);
  start << -1.2, 0.3, 1, -2;
  const MatrixXd end = descend_in_box(rosenbrock, start, {}, 200, 0.1);
  EXPECT_LE((end - MatrixXd::Ones(2, 2)).cwiseAbs().maxCoeff(), 1e-5) << end;
}

// With x <= 0.5 the minimum has x = 0.5 and y = x^2.
TEST(BoxMinimum, SlidesAlongTheWalls) {
  const Box box{Vector2d(-2, -2), Vector2d(0.5, 2)};
  MatrixXd start(2, 2);
  start << -1.2, 0.5, 1, -2;
  const MatrixXd end = descend_in_box(rosenbrock, start, box, 300, 0.1);
  for (Index j = 0; j < 2; ++j) {
    EXPECT_DOUBLE_EQ(end(0, j), 0.5);
    EXPECT_NEAR(end(1, j), 0.25, 1e-6);
  }
}

// Strongly coupled quadratic, in few steps: at the end the slope vanishes in free coordinates and points outwards
// at bounds.
TEST(BoxMinimum, EndsWhereNoFreeCoordinateSlopes) {
  const Index d = 8;
  MatrixXd A = MatrixXd::Constant(d, d, 0.9);
  for (Index j = 0; j < d; ++j) A(j, j) = 1 + 0.5 * static_cast<double>(j);
  const VectorXd b = VectorXd::LinSpaced(d, -3, 4);
  const auto quadratic = [&](const MatrixXd& x, MatrixXd& gradient) {
    gradient = A * x - b;
    return 0.5 * x.col(0).dot(A * x.col(0)) - b.dot(x.col(0));
  };
  const Box box{VectorXd::Constant(d, -0.7), VectorXd::Constant(d, 0.7)};
  const MatrixXd end = descend_in_box(quadratic, VectorXd::Zero(d), box, 25, 0.1);
  EXPECT_TRUE(box.contains(end.col(0)));
  int held = 0;
  for (Index j = 0; j < d; ++j) {
    const double slope = (A * end - b)(j, 0);
    const bool high = end(j, 0) == 0.7, low = end(j, 0) == -0.7;
    held += high || low;
    EXPECT_LE(slope, low ? 1e9 : 1e-5) << j;
    EXPECT_GE(slope, high ? -1e9 : -1e-5) << j;
  }
  EXPECT_GE(held, 2);
  EXPECT_LE(held, 7) << "or nothing was free";
}

TEST(BoxMinimum, NeverRisesHoweverFewTheSteps) {
  MatrixXd start(2, 1), gradient(2, 1);
  start << -1.2, 1;
  double before = rosenbrock(start, gradient);
  for (int steps = 0; steps < 30; ++steps) {
    const double value = rosenbrock(descend_in_box(rosenbrock, start, {}, steps, 0.1), gradient);
    EXPECT_LE(value, before) << steps;
    before = value;
  }
}

}  // namespace
}  // namespace dpmpi::box_minimum_test
