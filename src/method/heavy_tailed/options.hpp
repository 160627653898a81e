#pragma once
// Options of methods that plan by moments of the gradients.

#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/heavy_tailed/bounds.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// Public guesses: wrong ones cost accuracy, never privacy.
struct HeavyTailOptions {
  HeavyTail tail = {};
  double radius = 1;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  /// All records, with the run's budget. The diameter is `radius`: in the bounds of phased methods it stands for
  /// the distance of the start from the minimiser.
  HeavyTailProblem problem(const PublicFacts& facts) const;
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

/// The objective's start point of a public seed.
AlignedVector<float> start_point(const Objective& objective, std::uint64_t seed);

}  // namespace dpmpi
