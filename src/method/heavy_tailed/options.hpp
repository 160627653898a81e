#pragma once
// Options of methods that plan by moments of the gradients.

#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/heavy_tailed/bounds.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// Public guesses: wrong ones cost accuracy, never privacy.
class HeavyTailOptions {
 public:
  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  const HeavyTail& tail() const { return tail_; }
  double radius() const { return radius_; }
  /// All records, with the run's budget. The diameter is `radius`: in the bounds of phased methods it stands for
  /// the distance of the start from the minimiser.
  HeavyTailProblem problem(const PublicFacts& facts) const;

 private:
  HeavyTail tail_ = {};
  double radius_ = 1;
};

/// As rho-GDP. Throws ConfigError for a run without noise, which has none.
double privacy_target(const PublicFacts& facts);

// What methods refuse at plan time. Each call appends at most one problem: option, value, what is allowed.
using Problems = std::vector<std::string>;
/// Without a loss of one score that is convex.
void check_scalar_link(const PublicFacts& facts, const char* method, Problems& problems);
/// A public regulariser, where a method has none.
void check_no_regulariser(const PublicFacts& facts, const char* method, Problems& problems);
/// Batches that leave the first phase, which has half of the records, fewer than two steps.
void check_batch(const PublicFacts& facts, std::int64_t batch, Problems& problems);

/// "phase 1: m = 100, C = 2" and so on, from quantities like {"m_1", 100}: what plans say about phases.
std::string phase_lines(const Derived& quantities);

}  // namespace dpmpi
