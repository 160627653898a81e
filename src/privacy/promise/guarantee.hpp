#pragma once
// What all accountants together say about a list of events: what commands print and files record.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

/// (epsilon, delta)-differential privacy with its evidence.
struct Guarantee {
  double epsilon = 0, delta = 0;
  double least = 0;  ///< proven lower bound of whichever of the two was asked for; 0: none known
  /// The upper bound of every accountant that applies, in order.
  std::vector<std::pair<std::string, double>> by = {};
  std::map<std::string, std::string> refusals = {};  ///< why the others do not (accountant "best" only)

  /// The accountant that gives the smallest bound.
  const std::string& winner() const;
};

/// The smallest epsilon at `delta` that `accountant` ("best": any) proves for these events. Local. Throws
/// PrivacyError if none has a bound for all events, ConfigError if there is no such accountant. `answered`: an
/// accountant that may have composed the same events; what it was asked is not computed again.
Guarantee epsilon_guarantee(const std::vector<Event>& events, Adjacency adjacency, double delta,
                            std::string_view accountant, const PldAccountant* answered = nullptr);
/// The same for the smallest delta at `epsilon`.
Guarantee delta_guarantee(const std::vector<Event>& events, Adjacency adjacency, double epsilon,
                          std::string_view accountant);

/// Why a run ended before its plan did.
enum class StopReason {
  outside,  ///< a number of steps fixed in advance, or whatever nothing that was released had a part in
  results,  ///< somebody, or a rule, looked at iterates, metrics or data
};
/// The events that a claim about a stopped run has to cover. How many releases there were is then an outcome itself
/// if results decided it: no bound for a fixed number of them applies, only the plan's. Throws PrivacyError if what
/// was spent is not part of the plan.
const std::vector<Event>& to_cover(StopReason reason, const std::vector<Event>& planned,
                                   const std::vector<Event>& spent);

/// Six digits, rounded up: a promise in words must not be smaller than the number. `x` >= 0.
std::string rounded_up(double x);

/// Upper bound on the true positive rate of any test of one record's presence at this false positive rate, by one
/// (epsilon, delta): its trade-off curve (Kairouz, Oh and Viswanath 2015).
double attacker_power(const Guarantee& guarantee, double false_positive_rate);

/// The same by everything that is known at bearable cost, at some rates of false positives, as (false, true)
/// positive rates: the whole curves of cheap accountants, some points of those that convolve, and the guarantee
/// itself.
std::vector<std::pair<double, double>> attacker_table(const std::vector<Event>& events, Adjacency adjacency,
                                                      const Guarantee& guarantee,
                                                      const std::vector<double>& rates = {0.001, 0.01, 0.1});

}  // namespace dpmpi
