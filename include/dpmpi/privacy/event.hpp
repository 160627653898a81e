#pragma once
// What a mechanism did to the records, in the words that accounting needs and no others (JSON lines, public
// interface).
//
// `noise_multiplier` is always noise standard deviation over the L2 sensitivity *under the adjacency of the file*:
// a clipped sum of radius C has sensitivity C under add_remove and 2C under replace_one, so the same noise has half
// the multiplier there.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace dpmpi {

/// Which datasets are neighbours. Never compare epsilons across the two.
enum class Adjacency {
  add_remove,   ///< one record's slot is filled in one dataset and empty in the other; normalisers are public
                ///< constants
  replace_one,  ///< one record's values differ; n is the same
};
std::string_view name(Adjacency adjacency);                       ///< "add_remove" or "replace_one"
std::optional<Adjacency> parse_adjacency(std::string_view text);  ///< empty if it is neither

/// Gaussian noise on a query of all records.
struct Gaussian {
  double noise_multiplier = 0;  ///< > 0, finite
  auto operator<=>(const Gaussian&) const = default;
};
/// Gaussian noise on a query of a Poisson sample: every record independently with probability `sampling_rate`.
struct PoissonGaussian {
  double sampling_rate = 0;  ///< in (0, 1]
  double noise_multiplier = 0;
  auto operator<=>(const PoissonGaussian&) const = default;
};
/// Gaussian noise on a query of a uniform sample of exactly `batch` among `population` records, without
/// replacement.
struct WorGaussian {
  std::uint64_t population = 0;  ///< >= 1
  std::uint64_t batch = 0;       ///< 1..population
  double noise_multiplier = 0;
  auto operator<=>(const WorGaussian&) const = default;
};
/// A release without any guarantee (seeded noise, unsafe diagnostics, noise switched off): epsilon is infinite.
struct NonPrivate {
  auto operator<=>(const NonPrivate&) const = default;
};

/// One mechanism. Ordered, so that it can be the key of a map of counts.
using Mechanism = std::variant<Gaussian, PoissonGaussian, WorGaussian, NonPrivate>;

/// `count` adaptive uses of one mechanism, each with fresh noise and a fresh sample.
struct Event {
  Mechanism mechanism;
  std::uint64_t count = 1;
  bool operator==(const Event&) const = default;
};

/// Throws PrivacyError if a parameter is not finite or out of range; `where` ("ledger.jsonl:12") begins the
/// message.
void check(const Event& event, std::string_view where);

/// The event as one JSON object on one line without newline; numbers in their shortest form that reads back to the
/// same bits. `extra`: further members as JSON text without braces, e.g. `"step":3,"site":0`, put at the end.
std::string to_json(const Event& event, std::string_view extra = {});

/// The first line of a ledger or of an event list: {"ledger":1,"adjacency":"add_remove","n":60000,...}.
struct EventHeader {
  Adjacency adjacency = Adjacency::add_remove;
  std::optional<std::uint64_t> n = {};  ///< number of records, a public constant
  bool seeded = false;                  ///< the noise came from a known seed: no guarantee, whatever the events
};

/// One parsed line, and its link to the line above if it has one.
struct EventLine {
  std::variant<EventHeader, Event> content;
  std::optional<std::string> prev;  ///< value of the member "prev"
};

/// Reads one line: a header if it has the member "ledger", else an event.
/// Throws PrivacyError naming `where`, the member, its value and what is allowed: malformed JSON, a member given
/// twice, an unknown event, a missing, non-finite or out-of-range member.
EventLine parse_event_line(std::string_view line, std::string_view where);

}  // namespace dpmpi
