#include "method/black_box/point_selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <Eigen/Eigenvalues>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "method/black_box/stencil.hpp"

namespace dpmpi {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double first_move = 0.05;  // of refined points, in length-scales

void round_to_float(Eigen::Ref<MatrixXd> points, const Box& box) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (Index j = 0; j < points.cols(); ++j)
    for (Index i = 0; i < points.rows(); ++i) {
      auto x = static_cast<float>(points(i, j));
      if (box.bounded() && double{x} > box.high(i)) x = std::nextafter(x, -infinity);
      if (box.bounded() && double{x} < box.low(i)) x = std::nextafter(x, infinity);
      points(i, j) = double{x};
    }
}

MatrixXd uncertain_directions(const GradientPosterior& posterior) {
  const VectorXd& lengths = posterior.covariance_function().lengths();
  const Index d = lengths.size();
  MatrixXd directions = MatrixXd::Identity(d, d);
  VectorXd share = lengths.cwiseAbs2().cwiseInverse();
  if (posterior.count() > 0) {
    const MatrixXd scaled = lengths.asDiagonal() * posterior.covariance() * lengths.asDiagonal();
    const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled);
    verify(eigen.info() == Eigen::Success, "the eigenvectors of a covariance");
    directions = eigen.eigenvectors();
    share = directions.cwiseAbs2().transpose() * share;
    share.array() *= eigen.eigenvalues().array();
  }
  std::vector<Index> order(static_cast<std::size_t>(d));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](Index a, Index b) { return share(a) > share(b); });
  return directions(Eigen::all, order);
}

// At the distance of the largest slope, on the side that says more.
MatrixXd PointSelection::single(const GradientPosterior& posterior, const VectorXd& direction) const {
  const Covariance& k = posterior.covariance_function();
  const VectorXd offset = k.steepest() * direction.cwiseProduct(k.lengths());
  MatrixXd sides(k.dim(), 2);
  sides << posterior.theta() + offset, posterior.theta() - offset;
  rule_.box.clamp(sides);
  round_to_float(sides, rule_.box);
  const bool other = posterior.trace_with(sides.col(1)) < posterior.trace_with(sides.col(0));
  return sides.col(other ? 1 : 0);
}

MatrixXd PointSelection::points(const GradientPosterior& posterior, std::uint64_t t, Index b) const {
  const Covariance& k = posterior.covariance_function();
  MatrixXd z(k.dim(), b);
  if (rule_.design == SelectionRule::Design::random) {
    const PublicStream stream(rule_.seed, "design points", t);
    for (Index i = 0; i < z.size(); ++i)
      z.data()[i] = rule_.radius * (2 * stream.uniform(static_cast<std::uint64_t>(i)) - 1);
  } else {
    const MatrixXd directions = uncertain_directions(posterior);
    if (b == 1) return single(posterior, directions.col(0));
    const double gamma = posterior.noise_variance() / k.scale();
    const auto blocks = rule_.design == SelectionRule::Design::refined ? best_partition(k, gamma, k.dim(), b)
                                                                       : simple_partition(k.dim(), b);
    verify(!blocks.empty(), "a stencil of so many points");
    const Index repeats = std::max<Index>(1, b / (2 * k.dim()));
    z = k.lengths().asDiagonal() * block_offsets(k, gamma, blocks, directions, repeats);
  }
  z.colwise() += posterior.theta();
  rule_.box.clamp(z);
  round_to_float(z, rule_.box);
  return z;
}

// In coordinates that are scaled by the length-scales, around theta.
MatrixXd PointSelection::refined(const GradientPosterior& posterior, std::uint64_t t, Index b) const {
  MatrixXd z = points(posterior, t, b);
  const VectorXd& lengths = posterior.covariance_function().lengths();
  const VectorXd& theta = posterior.theta();
  const auto scaled = [&](const auto& x) {
    return MatrixXd(lengths.cwiseInverse().asDiagonal() * (x.colwise() - theta));
  };
  const auto original = [&](const MatrixXd& u) { return MatrixXd((lengths.asDiagonal() * u).colwise() + theta); };
  Box box;
  if (rule_.box.bounded()) box = {scaled(rule_.box.low), scaled(rule_.box.high)};
  const auto trace = [&](const MatrixXd& u, MatrixXd& gradient) {
    const auto slope = posterior.trace_slope(original(u));
    gradient = lengths.asDiagonal() * slope.gradient;
    return slope.trace;
  };
  MatrixXd u = scaled(z);
  box.clamp(u);
  MatrixXd better = original(descend_in_box(trace, std::move(u), box, rule_.refinement, first_move));
  rule_.box.clamp(better);
  round_to_float(better, rule_.box);
  return posterior.trace_with(better) < posterior.trace_with(z) ? better : z;
}

// Where the closed form needs b points, others may do with fewer.
MatrixXd PointSelection::choose(const GradientPosterior& posterior, std::uint64_t t) const {
  MatrixXd best = rule_.adaptive ? fewest(posterior, t) : points(posterior, t, rule_.most);
  if (rule_.design != SelectionRule::Design::refined) return best;
  best = refined(posterior, t, best.cols());
  while (rule_.adaptive && best.cols() > 1 && posterior.trace_with(best) <= rule_.tolerance) {
    Index b = best.cols() - 1;
    while (!possible(posterior.covariance_function().dim(), b)) --b;
    MatrixXd fewer = refined(posterior, t, b);
    if (posterior.trace_with(fewer) > rule_.tolerance) break;
    best = std::move(fewer);
  }
  return best;
}

// The trace falls as points are added, so the fewest are found by halving.
MatrixXd PointSelection::fewest(const GradientPosterior& posterior, std::uint64_t t) const {
  const Index d = posterior.covariance_function().dim();
  std::vector<Index> sizes;
  for (Index b = 1; b <= rule_.most; ++b)
    if (rule_.design == SelectionRule::Design::random || possible(d, b)) sizes.push_back(b);
  std::size_t below = 0, enough = sizes.size() - 1;  // `enough` is taken unseen where nothing is
  MatrixXd best;
  while (below < enough) {
    const std::size_t middle = (below + enough) / 2;
    MatrixXd z = points(posterior, t, sizes[middle]);
    if (posterior.trace_with(z) <= rule_.tolerance) {
      enough = middle;
      best = std::move(z);
    } else {
      below = middle + 1;
    }
  }
  return best.cols() == sizes[enough] ? best : points(posterior, t, sizes[enough]);
}

}  // namespace dpmpi
