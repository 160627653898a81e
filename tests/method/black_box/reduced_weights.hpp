#pragma once
// Weights of fewer points than dimensions, as fewer numbers a function.

#include "objective/eigen.hpp"

namespace dpmpi::test {

/// R with |R y| = |W y| for all y, N x N, and an orthogonal Q, d x d, with W = Q (R, 0).
struct ReducedWeights {
  explicit ReducedWeights(const Eigen::MatrixXd& weights) {
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(weights);
    Q = qr.householderQ();
    R = qr.matrixQR().topRows(weights.cols()).triangularView<Eigen::Upper>();
  }
  Eigen::MatrixXd Q, R;
};

}  // namespace dpmpi::test
