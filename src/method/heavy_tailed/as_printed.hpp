#pragma once
// NOT A CERTIFICATE. Settings and noise as Asi, Liu and Tian print them, to compare with: nothing here enters a
// ledger. Their Algorithm 7 is not private; see docs/methods/heavy-tailed.md for each difference.

#include <cstdint>

#include "method/heavy_tailed/bounds.hpp"
#include "method/heavy_tailed/erm.hpp"
#include "method/heavy_tailed/localization.hpp"

namespace dpmpi::printed {

/// Lemma 1 solved for rho: (sqrt(L + epsilon) - sqrt(L))^2, L = log(1 / delta). Valid for every epsilon, and loose.
double zcdp_rho(double epsilon, double delta);

/// Algorithm 1 in Theorem 1: T = max(m, m^2 rho / d), C = G_k (25 m^2 rho / (32 d))^(1 / (2k)).
ErmSettings erm(const HeavyTailProblem& problem);
/// Proposition 1: 32 C^2 d / (lambda m^2 rho) + bias^2 / lambda + 7 lambda radius^2 / m. Its proof needs T >= 39:
/// refuses m below.
double erm_gap(const HeavyTailProblem& problem, double clip, double lambda, double radius, double bias);

/// Algorithms 1 to 3 in Theorem 1: I = log2(n / J) phases, J = 400 log(I / failure) folds of m 2^-i records, m = n
/// / J, and lambda_i = 32^i lambda, with the lambda that suits a solver within 107 (G_k r_m^(1 - 1/k) + G_2 /
/// sqrt(m)) / lambda. No bound: Proposition 2 is wrong. Throws ConfigError where a fold has no record.
LocalizedPlan localization(const HeavyTailProblem& problem, double failure);

/// Algorithm 8 and Theorem 4.
struct OnePass {
  double eta = 0, clip = 0;    ///< eta_i = eta / 16^i, C_i = 2^i C, i >= 1
  double most_smoothness = 0;  ///< of every loss, that the proof of privacy needs
  double bound = 0;            ///< that its proof supports, with constants
  double mu = 0;
  double noise(std::uint64_t phase) const;        ///< as printed
  double exact_noise(std::uint64_t phase) const;  ///< for the same budget: half of it
};
OnePass one_pass(const HeavyTailProblem& problem);

/// Algorithm 6: noise of the sparse vector technique for `queries` queries of the given sensitivity, `hits` of
/// which may be above. Refuses epsilon > 1, where its proof does not hold.
struct SparseVector {
  double scale = 0, cut = 0;  ///< R and tau: of the Laplace noise and where it is cut off
};
SparseVector sparse_vector(double sensitivity, double epsilon, double delta, double hits, double queries);

/// Algorithm 7 in Theorem 3. NOT PRIVATE. Refuses epsilon > 1.
struct Smooth {
  double eta = 0, clip = 0, hits = 0, omega = 0, most_smoothness = 0;
  double noise = 0;  ///< of phase 1
};
Smooth smooth(const HeavyTailProblem& problem, double epsilon, double delta);

}  // namespace dpmpi::printed
