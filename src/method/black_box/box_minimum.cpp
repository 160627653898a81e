#include "method/black_box/box_minimum.hpp"

#include <cmath>
#include <deque>
#include <utility>
#include <vector>

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::size_t remembered = 10;  // pairs of steps and changes of the gradient

double dot(const MatrixXd& a, const MatrixXd& b) { return a.cwiseProduct(b).sum(); }

struct Pair {
  MatrixXd step, change;
  double curvature;  // their product
};

// The inverse Hessian that the pairs know of, times the gradient.
MatrixXd newton_step(const std::deque<Pair>& pairs, MatrixXd q) {
  std::vector<double> shares;
  for (auto p = pairs.rbegin(); p != pairs.rend(); ++p) {
    shares.push_back(dot(p->step, q) / p->curvature);
    q -= shares.back() * p->change;
  }
  if (!pairs.empty()) q *= pairs.back().curvature / pairs.back().change.squaredNorm();
  for (const Pair& p : pairs) {
    q += (shares.back() - dot(p.change, q) / p.curvature) * p.step;
    shares.pop_back();
  }
  return q;
}

// Sets to zero what would leave the box at once: coordinates at a bound, with a value that falls beyond it.
void hold(MatrixXd& direction, const MatrixXd& points, const MatrixXd& gradient, const Box& box) {
  if (!box.bounded()) return;
  for (Index j = 0; j < points.cols(); ++j)
    for (Index i = 0; i < points.rows(); ++i)
      if ((points(i, j) <= box.low(i) && gradient(i, j) > 0) || (points(i, j) >= box.high(i) && gradient(i, j) < 0))
        direction(i, j) = 0;
}

}  // namespace

void Box::clamp(Eigen::Ref<MatrixXd> points) const {
  if (!bounded()) return;
  for (Index j = 0; j < points.cols(); ++j) points.col(j) = points.col(j).cwiseMax(low).cwiseMin(high);
}

bool Box::contains(const Eigen::Ref<const VectorXd>& point) const {
  return !bounded() || ((point.array() >= low.array()).all() && (point.array() <= high.array()).all());
}

MatrixXd descend_in_box(const PointsFunction& function, MatrixXd points, const Box& box, int steps, double length) {
  constexpr double sufficient = 1e-4, nothing = 1e-12;  // of the slope; of the value
  constexpr int halvings = 30;
  std::deque<Pair> pairs;
  MatrixXd gradient(points.rows(), points.cols()), next_gradient(points.rows(), points.cols());
  double value = function(points, gradient);
  for (int step = 0; step < steps; ++step) {
    MatrixXd free = gradient;
    hold(free, points, gradient, box);
    const double steepest = free.cwiseAbs().maxCoeff();
    if (!(steepest > 0)) break;
    MatrixXd direction = newton_step(pairs, free);
    hold(direction, points, gradient, box);
    if (pairs.empty() || !(dot(direction, free) > 0)) pairs.clear(), direction = length / steepest * free;
    MatrixXd next;
    double next_value = value, rate = 1;
    for (int i = 0; i < halvings; ++i, rate /= 2) {
      next = points - rate * direction;
      box.clamp(next);
      next_value = function(next, next_gradient);
      if (next_value <= value - sufficient * dot(gradient, points - next)) break;
    }
    const double gain = value - next_value;
    if (!(gain > nothing * std::abs(value))) {
      if (pairs.empty()) break;
      pairs.clear();  // once more, straight down
      continue;
    }
    Pair pair{next - points, next_gradient - gradient, 0};
    pair.curvature = dot(pair.step, pair.change);
    if (pair.curvature > 1e-10 * pair.step.norm() * pair.change.norm()) pairs.push_back(std::move(pair));
    if (pairs.size() > remembered) pairs.pop_front();
    points.swap(next), gradient.swap(next_gradient), value = next_value;
  }
  return points;
}

}  // namespace dpmpi
