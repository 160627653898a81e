#pragma once
// What no mechanism for prefix sums can do better than.

#include <algorithm>

#include <Eigen/Eigenvalues>

namespace dpmpi::test {

// Of all factorisations of the prefix sums, with single participation: the least mean of tr(A X^-1) over X = C'C
// with a diagonal of ones is (tr sqrt(V A V))^2 / n at the fixed point v = diag(sqrt(V A V)) of the dual (Denisov,
// McMahan, Rush, Smith and Thakurta 2022), A = L'L. From below: every v of sum 1 is a lower bound.
inline double least_error_of_prefixes(Eigen::Index n) {
  Eigen::MatrixXd L = Eigen::MatrixXd::Ones(n, n).triangularView<Eigen::Lower>();
  const Eigen::MatrixXd A = L.transpose() * L;
  Eigen::VectorXd v = Eigen::VectorXd::Ones(n);
  double bound = 0;
  for (int round = 0; round < 200; ++round) {
    const Eigen::VectorXd root = (v / v.sum()).cwiseSqrt();
    const Eigen::MatrixXd inner = root.asDiagonal() * A * root.asDiagonal();
    const Eigen::MatrixXd square_root = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(inner).operatorSqrt();
    bound = std::max(bound, square_root.trace() * square_root.trace() / static_cast<double>(n));
    v = square_root.diagonal();
  }
  return bound;
}

}  // namespace dpmpi::test
