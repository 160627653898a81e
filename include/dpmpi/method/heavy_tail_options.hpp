#pragma once
// Options of methods that plan by moments of the gradients.

#include <string>
#include <vector>

#include "dpmpi/core/options.hpp"
#include "dpmpi/method/heavy_tail_bounds.hpp"
#include "dpmpi/method/method.hpp"

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

/// "phase 1: m = 100, C = 2" and so on, from quantities like {"m_1", 100}: what plans say about phases.
std::string phase_lines(const Derived& quantities);

}  // namespace dpmpi
