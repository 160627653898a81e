#pragma once
// What transcripts of runs on two neighbouring datasets prove. Half of the runs choose a test and its thresholds,
// the other half proves with them, so nothing is chosen by what it is judged by. Local.

#include <span>
#include <string>

#include "privacy/promise/audit_bounds.hpp"
#include "run/audit/attacker.hpp"

namespace dpmpi {

struct Proof {
  std::string test = {};  ///< that was chosen
  double epsilon = 0;     ///< the mechanism's is no smaller
  /// Another cut of the same test: it finds at least so many of the members at this many false alarms at most.
  double found = 0, false_alarms = 1;
};

/// Transcripts of independent runs on either dataset, at least 8 each. All of the proof is wrong with probability
/// `error` at most.
Proof prove(std::span<const Transcript> first, std::span<const Transcript> second, double delta, double error);

/// The attacker guesses the coins of those `made` records (an even number: one more is left out) of which it is
/// surest: half of them were in their second form, as far as the evidence says, and half in their first.
Guesses guess_surest(std::span<const double> evidence, std::span<const char> second, std::size_t made);

/// Lower bound on epsilon from one run in which record i was in its second form if second[i] says so, by fair
/// coins; `evidence` of the attacker for that. It guesses the coins of all records, and of the half, the quarter
/// ... the 32nd part of them of which it is surest; each number has a part of the error. Several runs, with coins
/// of their own, count like one run of a mechanism that is all of them.
double prove_by_guessing(std::span<const double> evidence, std::span<const char> second, double delta,
                         double error);

}  // namespace dpmpi
