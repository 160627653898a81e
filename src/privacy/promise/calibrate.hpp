#pragma once
// How much noise a privacy promise needs; or how many steps, or how large a sampling rate, it allows.

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "privacy/accountants/accountant.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// The promise (epsilon, delta) under an adjacency.
struct PrivacyTarget {
  double epsilon = 1;  ///< > 0, finite
  double delta = 0;    ///< in (0, 1)
  Adjacency adjacency = Adjacency::add_remove;
};

/// A member of events whose value may be asked for.
struct Unknown {
  std::string_view name;  ///< "noise_multiplier", ...
  bool protects = true;   ///< epsilon falls as it grows: the smallest value is wanted; else the largest
  bool whole = false;     ///< a whole number
  double least = 0, most = 0;
  double start = 1;  ///< where a search begins that knows nothing better
};
/// noise_multiplier, scale, count, sampling_rate, mu, rho.
std::span<const Unknown> unknowns();
/// Gives the member of that name a value. False if the event has no such member.
bool assign(Event& event, std::string_view member, double value);

/// All events of a plan, as a function of the unknown (where it stands for several members, they share its value or
/// scale with it).
using EventsOf = std::function<std::vector<Event>(double)>;

/// What a search found.
struct Calibration {
  double value = 0;
  /// What has answered costly questions about the events with this value, for epsilon_guarantee; may be empty.
  std::shared_ptr<const PldAccountant> answered = {};
};

/// The tightest value of the unknown that keeps the target: the smallest noise or scale, rounded up, the largest
/// rate, mu or rho, rounded down (6 decimals and at least 7 significant digits), or the largest count. It uses the
/// target up, to 7 significant digits of the value, but where an accountant needs grids of more than 2^17 points:
/// there it may end 3 % below the target, and farther where the accountant's bound jumps or two of its answers have
/// taken all the time there is. `accountant`: a name of make_accountant. The promise is verified
/// on the rounded value: the target is never overshot. Throws PrivacyError if no value in the unknown's range keeps
/// it (part of the plan does not depend on it, or epsilon is below what the accountant can show), or if no
/// accountant has a bound for the events.
Calibration calibrate(const Unknown& unknown, const EventsOf& events, const PrivacyTarget& target,
                      std::string_view accountant);

/// The same for the noise multiplier.
Calibration calibrate_noise(const EventsOf& events, const PrivacyTarget& target, std::string_view accountant);

/// Smallest x in [low, high] on the same decimal grid with epsilon_of(x) <= epsilon, for a decreasing function.
/// Infinity if epsilon_of(high) > epsilon. The returned x has been evaluated.
double smallest_noise(const std::function<double(double)>& epsilon_of, double epsilon, double low, double high);

}  // namespace dpmpi
