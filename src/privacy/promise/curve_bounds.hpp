#pragma once
// What right guesses of coins say of a mechanism's whole privacy curve, delta as a function of epsilon, where
// audit_bounds.hpp looks at one point of it. docs/theory/audits.md ("One run, the whole curve") has the proofs.
// Local.

#include <cstdint>
#include <span>

#include "privacy/promise/audit_bounds.hpp"

namespace dpmpi {

/// One point of a curve: (log(odds), delta)-DP holds. odds >= 1.
struct CurvePoint {
  double odds = 1, delta = 0;
};

/// A bet on the guesses of one run, made before it: a right guess earns 1 and a wrong one costs `odds`, if at least
/// `least` of the others are right.
struct Bet {
  std::uint64_t made = 0;   ///< guesses
  std::uint64_t least = 0;  ///< <= made - 1
  double odds = 1;          ///< >= 1
  double stake = 0.5;       ///< share of the capital that can be lost, in (0, 1)
};

/// Capital after a run over the capital before: more than 0, and 1 on average at most if (log(bet.odds), delta)-DP
/// holds for every coin. So of runs that are independent, the product exceeds 1 / error with probability `error` at
/// most (Markov). `run` has bet.made guesses.
double gain(const Bet& bet, const Guesses& run, double delta);

/// Upper bound on the probability of so many right guesses in one run of a mechanism for which all of these points
/// hold: the recursion over the number of right guesses (Mahloujifar, Melis and Chaudhuri 2024), on the curve that
/// the points enclose.
double guessing_p_value(const Guesses& guesses, std::span<const CurvePoint> curve);

}  // namespace dpmpi
