#pragma once
// What a Gaussian process says of the gradient of a function at a point, given values of it at design points.
//
// With A = k(D, D) + sigma^2 I and J = the gradients of k(theta, x_j), all functions that were observed at D share
//   W = J A^-1   (d x N): the posterior mean of function i's gradient is W y_i, linear in its own values y_i;
//   C = the prior covariance of the gradient - W J^T   (d x d): its covariance, whatever the values;
//   trace C: how far the mean may be from the gradient, which says when there are enough points.
// Nothing here has seen a value. Mueller, von Rohr and Trimpe 2021 (GIBO).

#include <cstdint>
#include <vector>

#include "core/eigen.hpp"
#include "method/black_box/covariance.hpp"

namespace dpmpi {

class GradientPosterior {
 public:
  /// `noise_variance` sigma^2, at least 1e-8 of the kernel's scale: less is raised to that, so that A can be
  /// factored. `centre`: functions have an unknown constant each, which is estimated by generalised least squares.
  GradientPosterior(Covariance covariance, double noise_variance, bool centre = false);

  const Covariance& covariance_function() const { return covariance_; }
  double noise_variance() const { return noise_; }
  const Eigen::MatrixXd& points() const { return points_; }  ///< d x N
  Eigen::Index count() const { return points_.cols(); }

  /// Adds b design points (d x b), where the posterior stands as well: O(N^2 b + N d b). Throws ConfigError if A
  /// has no Cholesky factor in double precision.
  void append(const Covariance::Points& points);
  /// Forgets the first `count` points and factors what remains: O(N^3).
  void forget_first(Eigen::Index count);

  /// How many points came at a time, since the last forgetting. The bits of the factor follow from it and the
  /// points.
  const std::vector<std::uint64_t>& batches() const { return batches_; }
  /// Becomes the posterior that has these points in these batches, bit for bit: nothing to do if it is that
  /// already.
  void restore(const Eigen::MatrixXd& points, const std::vector<std::uint64_t>& batches);

  /// Moves to theta: what follows is about the gradient there: O(N^2 d). forget_first() and restore() end that.
  void move_to(const Covariance::Point& theta);
  const Eigen::VectorXd& theta() const { return theta_; }
  /// W, or with `centre` W - (W 1)(1^T A^-1) / (1^T A^-1 1), whose rows add up to 0.
  Eigen::MatrixXd weights() const;
  /// C and its trace (of the process without the unknown constant).
  const Eigen::MatrixXd& covariance() const { return C_; }
  double trace() const { return C_.trace(); }
  /// The trace that b more points would leave: O(N^2 b + N d b).
  double trace_with(const Covariance::Points& more) const;
  /// That trace and its derivative in each of the points, d x b: O(N^2 (b + d) + N d b).
  struct TraceSlope {
    double trace;
    Eigen::MatrixXd gradient;
  };
  TraceSlope trace_slope(const Covariance::Points& more) const;

 private:
  /// L^-1 k(D, Z), and the Cholesky factor of what Z adds to A, given D.
  struct Extension {
    Eigen::MatrixXd across, corner;
  };
  Extension extend(const Covariance::Points& Z) const;
  /// L and its transpose, to solve with.
  auto factor() const { return L_.topLeftCorner(count(), count()).triangularView<Eigen::Lower>(); }
  auto transposed_factor() const {
    return L_.topLeftCorner(count(), count()).transpose().triangularView<Eigen::Upper>();
  }
  void grow(const Extension& e);
  /// The rows of U that Z adds.
  Eigen::MatrixXd more_rows(const Extension& e, const Covariance::Points& Z) const;

  Covariance covariance_;
  double noise_;
  bool centre_;
  Eigen::MatrixXd points_, L_;  // L_: L in its upper left corner, with room to grow; nothing above the diagonal
  std::vector<std::uint64_t> batches_;
  Eigen::VectorXd theta_;
  Eigen::MatrixXd U_, C_;  // U = L^-1 J^T
};

}  // namespace dpmpi
