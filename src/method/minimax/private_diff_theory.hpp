#pragma once
// The quantities of the analysis of PrivateDiff that can be written down: when the difference estimator has less
// noise than single-level noise, how to split a budget between its two families, and the paper's constants.
//
// Source: "Improved rates of differentially private nonconvex-strongly-concave minimax optimization"; derivations
// in docs/methods/minimax.md.

#include <cstdint>

namespace dpmpi {

/// Mean squared noise of the estimator over a block of T rounds, over that of one noisy gradient a round at the
/// same first-order budget. rho: difference clip over gradient clip. An equal split: 2 / T + rho^2 (T - 1)^2 / T.
double difference_noise_energy(double T, double rho);
/// The same with the best split (sqrt(A) + sqrt(B))^2, A = 1 / T, B = rho^2 (T - 1)^2 / (2 T).
double best_difference_noise_energy(double T, double rho);
/// The restarts' share of the budget in that split: sqrt(A) / (sqrt(A) + sqrt(B)).
double best_restart_share(double T, double rho);

/// Noise multipliers that the paper prints for (epsilon, delta) on n records: their proofs do not carry them (they
/// are audited by the accountants like any others), and no calibration uses them unless method.calibration = paper.
struct PaperNoise {
  double records = 0, batch = 0, epsilon = 0, delta = 0;
  /// 8 m sqrt(T log(1 / delta)) / (n epsilon): DP-SGDA with T steps, each of the two gradients.
  double dp_sgda(double steps) const;
  /// 4 m sqrt(count log(1 / delta)) / (n epsilon): PrivateDiff, with count = R / T at restarts and R at
  /// differences.
  double private_diff(double count) const;
  /// 4 (2 C_0^2 + beta M) sqrt(R log(1 / delta)) / (mu n epsilon): deviation of the noise that the printed
  /// algorithm adds to the dual (C_0: its clip, beta: smoothness in y, M: bound of the loss, mu: strong concavity).
  double dual_deviation(double rounds, double clip, double smoothness, double loss_bound, double concavity) const;
};

}  // namespace dpmpi
