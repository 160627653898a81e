#pragma once
// Losses whose gradients have few moments: what a clip costs.
//
// Source: Asi, Liu and Tian, "Private stochastic convex optimization with heavy tails: near-optimality from simple
// reductions". The plans of this folder are functions of public numbers, and local; arguments out of range
// throw ConfigError. What differs from the paper: docs/methods/heavy-tailed.md.

namespace dpmpi {

/// L = sup over the domain of |grad f(x; s)| of a random record s: E L^j <= G_j^j for j = 1, 2 and `order`. The
/// paper's Assumption 1.
struct HeavyTail {
  double order = 2;  ///< k > 1, finite; not necessarily whole
  double first = 1;  ///< G_1
  double second = 1;
  double moment = 1;  ///< G_k
};

/// One optimisation problem with a budget. The whole run is to be mu-GDP, that is mu^2 / 2-zCDP.
struct HeavyTailProblem {
  double records = 1;
  double dim = 1;
  double diameter = 1;  ///< of the domain
  double mu = 1;
  double change = 2;  ///< sensitivity of a sum in clips: 2 for replace_one, 1 for add_remove
  HeavyTail tail = {};
  double rho() const { return mu * mu / 2; }
};
/// Throws ConfigError if a number of the problem is out of range.
void check(const HeavyTailProblem& problem);

/// kappa_k = (k - 1)^(k - 1) / k^k, the smallest constant of clip_bias. The paper's Fact 1 has 1 / (k - 1).
double clip_constant(double order);
/// E (L - clip)_+ <= kappa_k G_k^k / clip^(k - 1): how far clipping moves the mean gradient. Attained.
double clip_bias(const HeavyTail& tail, double clip);

/// r = sqrt(d) / (n sqrt(rho)), the private share of all rates, for replace_one.
double privacy_ratio(const HeavyTailProblem& problem);

}  // namespace dpmpi
