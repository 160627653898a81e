#pragma once
// NOT A CERTIFICATE. Settings and noise as Asi, Liu and Tian print them, to compare with: nothing here enters a
// ledger. Their Algorithm 7 is not private; see docs/methods/heavy-tailed.md for each difference.

#include <cstdint>

#include "method/heavy_tailed/bounds.hpp"
#include "method/heavy_tailed/erm.hpp"
#include "method/heavy_tailed/localization.hpp"

namespace dpmpi::printed {

/// Algorithm 1 in Theorem 1: T = max(m, m^2 rho / d), C = G_k (25 m^2 rho / (32 d))^(1 / (2k)).
ErmSettings erm(const HeavyTailProblem& problem);

/// Algorithms 1 to 3 in Theorem 1: I = log2(n / J) phases, J = 400 log(I / failure) folds of m 2^-i records, m = n
/// / J, and lambda_i = 32^i lambda, with the lambda that suits a solver within 107 (G_k r_m^(1 - 1/k) + G_2 /
/// sqrt(m)) / lambda. No bound: Proposition 2 is wrong. Throws ConfigError where a fold has no record.
LocalizedPlan localization(const HeavyTailProblem& problem, double failure);

/// Algorithm 8 and Theorem 4.
struct OnePass {
  double eta = 0, clip = 0;    ///< eta_i = eta / 16^i, C_i = 2^i C, i >= 1
  double most_smoothness = 0;  ///< of every loss, that the proof of privacy needs
  double bound = 0;            ///< that its proof supports, with constants
};
OnePass one_pass(const HeavyTailProblem& problem);

}  // namespace dpmpi::printed
