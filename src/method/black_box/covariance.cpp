#include "method/black_box/covariance.hpp"

#include <cmath>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

Covariance::Covariance(Kind kind, VectorXd lengths, double scale)
    : kind_(kind), lengths_(std::move(lengths)), scale_(scale) {
  verify(scale_ > 0 && (lengths_.array() > 0).all(), "a kernel has positive scales");
  verify(stationary() || scale_ == 1, "the scale of poly2 is 1");
}

Covariance::Profile Covariance::profile(double q) const {
  if (kind_ == Kind::rbf) {
    const double e = std::exp(-q * q / 2);
    return {e, e, e};
  }
  const double a = std::sqrt(5.0) * q, e = std::exp(-a);
  return {(1 + a + a * a / 3) * e, 5.0 / 3 * (1 + a) * e, 25.0 / 3 * e};
}

double Covariance::one_minus_profile(double q) const {
  if (kind_ == Kind::rbf) return -std::expm1(-q * q / 2);
  const double a = std::sqrt(5.0) * q;
  return -std::expm1(-a) - (a + a * a / 3) * std::exp(-a);
}

double Covariance::profile_slope(double q) const { return -q * profile(q).first; }
double Covariance::curvature() const { return kind_ == Kind::rbf ? 1 : 5.0 / 3; }

// psi'' = 0: q = 1, and a^2 = 1 + a.
double Covariance::steepest() const { return kind_ == Kind::rbf ? 1 : (1 + std::sqrt(5.0)) / 2 / std::sqrt(5.0); }

MatrixXd Covariance::between(const Points& X, const Points& Z) const {
  MatrixXd k(X.cols(), Z.cols());
  if (!stationary()) {
    k.noalias() = X.transpose() * Z;
    return (k.array() + 1).square();
  }
  const VectorXd inverse = lengths_.cwiseInverse();
  for (Index j = 0; j < Z.cols(); ++j)
    for (Index i = 0; i < X.cols(); ++i)
      k(i, j) = scale_ * profile((X.col(i) - Z.col(j)).cwiseProduct(inverse).norm()).value;
  return k;
}

MatrixXd Covariance::gradients(const Point& x, const Points& Z) const {
  MatrixXd J(dim(), Z.cols());
  if (!stationary()) {
    for (Index j = 0; j < Z.cols(); ++j) J.col(j) = 2 * (x.dot(Z.col(j)) + 1) * Z.col(j);
    return J;
  }
  for (Index j = 0; j < Z.cols(); ++j) {
    const VectorXd u = (x - Z.col(j)).cwiseQuotient(lengths_);
    J.col(j) = -scale_ * profile(u.norm()).first * u.cwiseQuotient(lengths_);
  }
  return J;
}

MatrixXd Covariance::mixed(const Point& x, const Point& z) const {
  MatrixXd H(dim(), dim());
  if (!stationary()) {
    H.noalias() = 2 * z * x.transpose();
    H.diagonal().array() += 2 * (x.dot(z) + 1);
    return H;
  }
  const VectorXd u = (x - z).cwiseQuotient(lengths_), v = u.cwiseQuotient(lengths_);
  const Profile p = profile(u.norm());
  H.noalias() = -scale_ * p.second * v * v.transpose();
  H.diagonal() += scale_ * p.first * lengths_.cwiseAbs2().cwiseInverse();
  return H;
}

}  // namespace dpmpi
