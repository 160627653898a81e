#pragma once
// Plan of one pass of clipped steps over a linear model's records, in phases of which only the noised averages are
// released. Asi, Liu and Tian: Algorithms 5 and 8 and Theorem 4, with the exact noise, a schedule that minimises
// the bound, steps that need no common smoothness of the records, and rounding in the sensitivity.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "method/heavy_tailed/bounds.hpp"
#include "objective/linear/steps.hpp"

namespace dpmpi {

/// How phase i's step size and clip follow from the first: eta a^-(i-1), C b^(i-1).
struct OnePassRule {
  double step_fall = 8;                     ///< a > 2 b^2
  double clip_growth = 1.4142135623730951;  ///< b >= 1
  std::uint64_t phases = 0;                 ///< at most; 0: max(1, floor(log2 n) - 4)
  std::uint64_t batch = 1;                  ///< B; a phase of fewer records is one batch
  /// Bound of the rounding error of one step in |x|, for a batch step h = B eta, clip and batch. Empty: none.
  std::function<double(double step, double clip, std::uint64_t batch)> step_error = {};
  double reach = 0;  ///< max |x| over the domain, for what noise a double can hold; 0: not looked at
};

struct OnePassPhase {
  std::uint64_t first = 0, records = 0, batch = 1, steps = 0;
  double step = 0;         ///< h = batch * eta_i, that of the mean over a batch
  double clip = 0;         ///< C_i
  double sensitivity = 0;  ///< of the average of the points: change eta_i C_i + 2 steps * step_error
  double noise = 0;        ///< deviation per coordinate: sensitivity / mu
};

struct OnePassPlan {
  double eta = 0, clip = 0;  ///< of phase 1
  std::vector<OnePassPhase> phases;
  double bound = 0;  ///< of the expected excess risk, for batches of one record
};

/// Phases of floor(n / 2^i) records for given eta and C, as many of rule.phases as fulfil all of: at least two
/// steps; 2 steps * step_error <= 1 % of change eta_i C_i; noise >= 2^20 units in the last place of `reach`. May be
/// empty.
std::vector<OnePassPhase> one_pass_phases(const HeavyTailProblem& problem, const OnePassRule& rule, double eta,
                                          double clip);
/// D^2 / (eta n) + sum_i [eta_i G_2^2 / 2 + kappa_k G_k^k D / C_i^(k-1)] + sum_{i<I} sigma_i^2 d / (2 eta_(i+1)
/// n_(i+1)) + G_1 sigma_I sqrt(d), n_i = n / 2^i, sigma_i = change eta_i C_i / mu.
double one_pass_bound(const HeavyTailProblem& problem, const OnePassRule& rule, std::uint64_t phases, double eta,
                      double clip);
/// The eta and C with the smallest bound, which is convex in their logarithms, for the phases that are left with
/// them. Throws ConfigError if none is.
OnePassPlan plan_one_pass(const HeavyTailProblem& problem, const OnePassRule& rule);

/// Throws the ConfigError of a plan without phases. `steps`: where eta and C come from.
[[noreturn]] void refuse_no_phase(const HeavyTailProblem& problem, const OnePassRule& rule,
                                  std::string_view steps = "the guesses of the moments");

/// Rounding of one clamped step of a linear model within a ball of `radius`, for OnePassRule:
/// docs/theory/phases.md. The objective must stay.
std::function<double(double step, double clip, std::uint64_t batch)> clamped_step_error(const Objective& objective,
                                                                                        StepMode mode,
                                                                                        double radius);
/// Of the sum of the steps of one batch, which no noise joins.
Lattice lattice_of_batch(double cap, std::uint64_t batch);

/// Batches up to 1 / (2 smoothness eta) do not change the rate; `smoothness`: of the risk, not of single losses.
std::uint64_t largest_batch(double eta, double smoothness);

}  // namespace dpmpi
