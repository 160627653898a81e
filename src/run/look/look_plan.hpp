#pragma once
// A look: how good a finished model is on private records, later, by the noisy counts of run/held_out. Looks at the
// same people add up: their ledger is one file, whatever models were looked at (looks_ledger.hpp;
// docs/theory/later_looks.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "privacy/promise/guarantee.hpp"
#include "run/plan/evaluation_plan.hpp"

namespace dpmpi {

/// What is public of a look before anything is counted, and what all else follows from.
struct LookTerms {
  static constexpr const char* document = "look.json";
  static constexpr const char* ledger = "ledger.jsonl";  ///< in the look's folder: all looks up to it
  static constexpr const char* page = "report.html";     ///< for people
  static constexpr const char* folders = "looks";        ///< in a run directory: looks/1, looks/2, ...

  double epsilon = 0, delta = 0;  ///< what this look may cost
  Adjacency adjacency = Adjacency::add_remove;
  ReleaseTerms noise = {};
  bool seeded = false;
  bool ranks_trusted = false;    ///< with un-noised sums
  std::uint64_t n = 0;           ///< records, or persons: declared or counted
  CountedScores counted = {};    ///< the number of bins follows
  std::string model = {};        ///< SHA-256 of its parameters
  std::string certificate = {};  ///< SHA-256 of that of its run; empty: the model file came alone

  std::uint64_t look = 1;             ///< its number among all looks at these people
  std::optional<double> budget = {};  ///< of all of them, fixed before the first; none: not fixed
};

/// The promise by itself. Local, deterministic, may take long. Throws PrivacyError.
Promise promise_of_look(const LookTerms& terms);
/// What is released to keep it. Local, cheap.
EvaluationPlan plan_of_look(const LookTerms& terms, Promise promise);

/// The ledger's lines of a look, in their order.
std::vector<LedgerEntry> lines_of_look(const LookTerms& terms, const EvaluationPlan& plan);
/// What these lines say beside their events.
std::string members_of_look(const LookTerms& terms);

/// What these events, of some or of all looks, cost by the look's accountant.
Guarantee cost_of_looks(const LookTerms& terms, const std::vector<Event>& events);

/// Where a look's numbers come from.
struct LookEvidence {
  std::vector<Event> before = {}, own = {};  ///< of the looks before, and of this one: all in the ledger
  std::string head = {};                     ///< SHA-256 of the ledger's last line
  std::string results = {};                  ///< of evaluation.json
};
/// look.json. Deterministic.
nlohmann::ordered_json look_json(const LookTerms& terms, const EvaluationPlan& plan, const LookEvidence& evidence);

}  // namespace dpmpi
