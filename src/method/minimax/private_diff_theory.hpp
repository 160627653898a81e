#pragma once
// The quantities of the analysis of PrivateDiff that can be written down: when the difference estimator has less
// noise than single-level noise, and how to split a budget between its two families.
//
// Source: "Improved rates of differentially private nonconvex-strongly-concave minimax optimization"; derivations
// in docs/methods/minimax.md.

namespace dpmpi {

/// Mean squared noise of the estimator over a block of T rounds, over that of one noisy gradient a round at the
/// same first-order budget. rho: difference clip over gradient clip. An equal split: 2 / T + rho^2 (T - 1)^2 / T.
double difference_noise_energy(double T, double rho);
/// The same with the best split (sqrt(A) + sqrt(B))^2, A = 1 / T, B = rho^2 (T - 1)^2 / (2 T).
double best_difference_noise_energy(double T, double rho);
/// The restarts' share of the budget in that split: sqrt(A) / (sqrt(A) + sqrt(B)).
double best_restart_share(double T, double rho);

}  // namespace dpmpi
