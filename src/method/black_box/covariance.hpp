#pragma once
// Covariance functions of Gaussian processes over R^d and their derivatives, in double. No records: all is public.

#include "core/eigen.hpp"

namespace dpmpi {

/// k(x, z). With u = x - z and q^2 = sum_j u_j^2 / l_j^2:
///   rbf       s exp(-q^2 / 2)
///   matern52  s (1 + a + a^2 / 3) exp(-a), a = sqrt(5) q
///   poly2     (<x, z> + 1)^2: not stationary, and without length-scales
/// The gradient of a process is differentiable only where k has four derivatives: Matern 3/2 has not.
class Covariance {
 public:
  enum class Kind { rbf, matern52, poly2 };

  /// One length-scale for each coordinate, > 0; `scale` s > 0 (poly2: 1).
  Covariance(Kind kind, Eigen::VectorXd lengths, double scale);

  using Point = Eigen::Ref<const Eigen::VectorXd>;
  using Points = Eigen::Ref<const Eigen::MatrixXd>;  ///< d x N, a point a column

  Eigen::Index dim() const { return lengths_.size(); }
  bool stationary() const { return kind_ != Kind::poly2; }
  const Eigen::VectorXd& lengths() const { return lengths_; }
  double scale() const { return scale_; }

  /// k(X, Z), N x M.
  Eigen::MatrixXd between(const Points& X, const Points& Z) const;
  /// Column j is the gradient of k(x, z_j) in x, d x M.
  Eigen::MatrixXd gradients(const Point& x, const Points& Z) const;
  /// Entry (i, j) is the derivative of k(x, z) in x_i and z_j.
  Eigen::MatrixXd mixed(const Point& x, const Point& z) const;

  /// The profile psi(q) = k / s of a stationary kernel: 1 - psi(q) without cancellation, and psi'(q).
  double one_minus_profile(double q) const;
  double profile_slope(double q) const;
  /// -psi''(0).
  double curvature() const;
  /// The q > 0 where |psi'| is largest.
  double steepest() const;

 private:
  /// psi, -psi'(q) / q and the same of that once more, all regular at q = 0.
  struct Profile {
    double value, first, second;
  };
  Profile profile(double q) const;

  Kind kind_;
  Eigen::VectorXd lengths_;
  double scale_;
};

}  // namespace dpmpi
