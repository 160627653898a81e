#include "method/black_box/gradient_posterior.hpp"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include "core/errors.hpp"

namespace dpmpi {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

GradientPosterior::GradientPosterior(Covariance covariance, double noise_variance, bool centre)
    : covariance_(std::move(covariance)),
      noise_(std::max(noise_variance, 1e-8 * covariance_.scale())),
      centre_(centre),
      points_(covariance_.dim(), 0),
      L_(0, 0) {}

GradientPosterior::Extension GradientPosterior::extend(const Covariance::Points& Z) const {
  Extension e{covariance_.between(points_, Z), covariance_.between(Z, Z)};
  e.corner.diagonal().array() += noise_;
  if (count() > 0) {
    factor().solveInPlace(e.across);
    e.corner.noalias() -= e.across.transpose() * e.across;
  }
  const Eigen::LLT<MatrixXd> corner(e.corner);
  if (corner.info() != Eigen::Success)
    throw ConfigError(
        "the design points are too close together for double precision: make method.obs_noise_std larger");
  e.corner = corner.matrixL();
  return e;
}

void GradientPosterior::append(const Covariance::Points& points) {
  const Extension e = extend(points);
  if (theta_.size() > 0) {
    const MatrixXd rows = more_rows(e, points);
    U_.conservativeResize(count() + points.cols(), Eigen::NoChange);
    U_.bottomRows(points.cols()) = rows;
    C_.noalias() -= rows.transpose() * rows;
  }
  grow(e);
  points_.conservativeResize(Eigen::NoChange, count() + points.cols());
  points_.rightCols(points.cols()) = points;
  batches_.push_back(static_cast<std::uint64_t>(points.cols()));
}

// Room grows in proportion: a copy of all of L at every step would take as long as solving with it.
void GradientPosterior::grow(const Extension& e) {
  const Index N = count(), b = e.corner.cols();
  if (N + b > L_.cols()) {
    const Index room = std::max(N + b, L_.cols() + L_.cols() / 4);
    L_.conservativeResize(room, room);
  }
  L_.block(N, 0, b, N) = e.across.transpose();
  L_.block(N, N, b, b) = e.corner;
}

void GradientPosterior::forget_first(Index forgotten) {
  verify(forgotten >= 0 && forgotten < count(), "a posterior keeps a point");
  if (forgotten == 0) return;
  const MatrixXd kept = points_.rightCols(count() - forgotten);
  restore(kept, {static_cast<std::uint64_t>(kept.cols())});
}

void GradientPosterior::restore(const MatrixXd& points, const std::vector<std::uint64_t>& batches) {
  if (batches == batches_ && points == points_) return;
  points_.resize(covariance_.dim(), 0);
  L_.resize(0, 0);
  batches_.clear();
  theta_.resize(0);
  for (const std::uint64_t batch : batches) append(points.middleCols(count(), static_cast<Index>(batch)));
  verify(count() == points.cols(), "the batches make up the points");
}

void GradientPosterior::move_to(const Covariance::Point& theta) {
  theta_ = theta;
  C_ = covariance_.mixed(theta_, theta_);
  U_ = covariance_.gradients(theta_, points_).transpose();
  if (count() == 0) return;
  factor().solveInPlace(U_);
  C_.noalias() -= U_.transpose() * U_;
}

MatrixXd GradientPosterior::weights() const {
  verify(U_.rows() == count() && count() > 0, "weights of the points at which the posterior stands");
  MatrixXd transposed = transposed_factor().solve(U_);
  if (centre_) {
    VectorXd ones = VectorXd::Ones(count());
    factor().solveInPlace(ones);
    transposed_factor().solveInPlace(ones);
    const Eigen::RowVectorXd sums = transposed.colwise().sum();
    transposed -= ones * (sums / ones.sum());
  }
  return transposed.transpose();
}

// R = S^-1/2 (J_Z^T - ...), where S is the covariance of the values at Z given those at D: Z lowers C by R^T R.
MatrixXd GradientPosterior::more_rows(const Extension& e, const Covariance::Points& Z) const {
  MatrixXd rows = covariance_.gradients(theta_, Z).transpose();
  rows.noalias() -= e.across.transpose() * U_;
  e.corner.triangularView<Eigen::Lower>().solveInPlace(rows);
  return rows;
}

double GradientPosterior::trace_with(const Covariance::Points& more) const {
  return trace() - more_rows(extend(more), more).squaredNorm();
}

// With W of old and new points together: -2 H(theta, z_q)^T w_q + 2 sum_p (W^T W)_qp grad_1 k(z_q, x_p).
GradientPosterior::TraceSlope GradientPosterior::trace_slope(const Covariance::Points& more) const {
  const Extension e = extend(more);
  MatrixXd fresh = more_rows(e, more);  // W^T, the rows of the new points
  TraceSlope slope{trace() - fresh.squaredNorm(), MatrixXd(covariance_.dim(), more.cols())};
  e.corner.triangularView<Eigen::Lower>().transpose().solveInPlace(fresh);
  MatrixXd old = U_;
  old.noalias() -= e.across * fresh;
  transposed_factor().solveInPlace(old);
  const MatrixXd across = old * fresh.transpose(), within = fresh * fresh.transpose();
  for (Index q = 0; q < more.cols(); ++q) {
    const auto z = more.col(q);
    slope.gradient.col(q) = -2 * covariance_.mixed(theta_, z).transpose() * fresh.row(q).transpose();
    slope.gradient.col(q) += 2 * covariance_.gradients(z, points_) * across.col(q);
    slope.gradient.col(q) += 2 * covariance_.gradients(z, more) * within.col(q);
  }
  return slope;
}

}  // namespace dpmpi
