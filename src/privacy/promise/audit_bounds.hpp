#pragma once
// What runs of a mechanism on two neighbouring datasets prove about its epsilon, from below. docs/theory/audits.md
// has the proofs. Local.

#include <cstdint>
#include <span>
#include <utility>

namespace dpmpi {

/// In how many of `runs` independent runs an event was seen.
struct Tally {
  std::uint64_t hits = 0, runs = 0;
};

/// Clopper and Pearson (1934): the event's probability lies below (above) this with probability `error` at most.
/// `error` in (0, 1).
double least_probability(const Tally& seen, double error);
double most_probability(const Tally& seen, double error);

/// Lower bound on every epsilon for which the mechanism can be (epsilon, delta)-DP, wrong with probability `error`
/// at most, if the event was fixed before these runs: `often` on one of the neighbours, `rarely` on the other.
/// 0 if nothing is proven.
double least_epsilon(const Tally& often, const Tally& rarely, double delta, double error);

/// An event of one number that a run leaves: it lies above `threshold` (or not above it), and the dataset that
/// shows it more often.
struct Cut {
  double threshold = 0;
  bool above = true;
  bool in_second = true;
};
/// The cut at which these numbers of runs on the two neighbours would prove most, by least_epsilon. It is chosen by
/// what was seen: prove with it on other runs.
Cut best_cut(std::span<const double> first, std::span<const double> second, double delta, double error);
/// least_epsilon at a cut.
double least_epsilon(const Cut& cut, std::span<const double> first, std::span<const double> second, double delta,
                     double error);

/// With probability `error` at most, the event is rarer on the one dataset than the first number, or more frequent
/// on the other than the second one: hits and false alarms of a test for membership.
std::pair<double, double> rates_at(const Cut& cut, std::span<const double> first, std::span<const double> second,
                                   double error);
/// The cut that parts the frequencies of its event most; like best_cut.
Cut widest_cut(std::span<const double> first, std::span<const double> second);

/// One run with many records, each of them put in or not by a fair coin of its own, or in one of two forms.
struct Guesses {
  std::uint64_t records = 0;  ///< m, with a coin each
  std::uint64_t made = 0;     ///< for how many a guess was made: fixed before the run
  std::uint64_t right = 0;
};
/// Upper bound on the probability of so many right guesses under (epsilon, delta)-DP.
double guessing_p_value(const Guesses& guesses, double epsilon, double delta);
/// Lower bound on epsilon, wrong with probability `error` at most. 0 if nothing is proven.
double least_epsilon(const Guesses& guesses, double delta, double error);

}  // namespace dpmpi
