#include "run/look/look_plan.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "privacy/curator/planned_lines.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/certify/certificate.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {
namespace {

EvaluationPlan outline_of(const LookTerms& terms) {
  EvaluationPlan plan;
  plan.data.records = terms.n;
  plan.layout = {terms.n, 1};
  plan.adjacency = terms.adjacency;
  plan.counted = terms.counted;
  return plan;
}

/// "is (epsilon, delta)-differentially private: ...".
std::string bounded(const LookTerms& terms, const Guarantee& g) {
  return fmt::format(
      "({}, {})-differentially private: {} changes the probability of any outcome by at most a factor e^{}, except "
      "with probability {}",
      rounded_up(g.epsilon), rounded_up(g.delta), change_between_neighbours(terms.adjacency, terms.noise.slot_unit),
      rounded_up(g.epsilon), rounded_up(g.delta));
}

/// Of all looks together: by what they cost, if that was not chosen by what earlier ones found; however it was
/// chosen, by a budget that was fixed before (docs/theory/later_looks.md).
std::string together(const LookTerms& terms, const Guarantee& all) {
  std::string text;
  if (terms.look > 1)
    text += fmt::format(
        " The {} looks of the ledger together are {}, if what each may cost was not chosen by what earlier ones found.",
        terms.look, bounded(terms, all));
  if (terms.budget)
    text += fmt::format(" However that is chosen, all looks together stay within epsilon {} at delta {}.",
                        rounded_up(*terms.budget), rounded_up(terms.delta));
  return text;
}

/// The promise in words.
std::string statement_of(const LookTerms& terms, const Guarantee& own, const Guarantee& all) {
  if (terms.seeded) return "NOT PRIVATE: the noise was drawn from --seed, which anybody may know.";
  return fmt::format(
      "For those whose {} were counted, {} of them: the counts in {} and all that follows from them are {}.{} It is "
      "about these counts alone: whoever the model was trained on has the promise of the training, too, and for who "
      "is among both the two add up.{}",
      plural(terms.noise.slot_unit), terms.n, EvaluationPlan::results, bounded(terms, own), together(terms, all),
      terms.ranks_trusted ? " Every rank of the job is trusted with un-noised sums." : "");
}

OrderedJson json_all_looks(const LookTerms& terms, const Guarantee& all) {
  OrderedJson out{{"looks", terms.look}};
  put_guarantee(out, all);
  if (terms.budget) out["budget"] = *terms.budget;
  return out;
}

}  // namespace

Promise promise_of_look(const LookTerms& terms) {
  return promise_of_counts(terms.noise, outline_of(terms), terms.epsilon, terms.delta);
}

EvaluationPlan plan_of_look(const LookTerms& terms, Promise promise) {
  return with_promise(outline_of(terms), terms.noise, std::move(promise));
}

std::string members_of_look(const LookTerms& terms) {
  return fmt::format(R"("look":{},"n":{},"model":"{}")", terms.look, terms.n, terms.model);
}

std::vector<LedgerEntry> lines_of_look(const LookTerms& terms, const EvaluationPlan& plan) {
  std::vector<LedgerEntry> lines;
  each_planned_line(plan.queries, [&](const LedgerEntry& line) {
    lines.push_back(with_members(line, members_of_look(terms)));
    return true;
  });
  return lines;
}

Guarantee cost_of_looks(const LookTerms& terms, const std::vector<Event>& events) {
  return certified(events, !terms.seeded, terms.adjacency, terms.delta, terms.noise.accountant);
}

OrderedJson look_json(const LookTerms& terms, const EvaluationPlan& plan, const LookEvidence& evidence) {
  std::vector<Event> events = evidence.before;
  events.insert(events.end(), evidence.own.begin(), evidence.own.end());
  const Guarantee own = cost_of_looks(terms, evidence.own), all = cost_of_looks(terms, events);
  OrderedJson out{{"look", terms.look}};
  put_guarantee(out, own);
  out["statement"] = statement_of(terms, own, all);
  out["all_looks"] = json_all_looks(terms, all);
  out["asked_epsilon"] = terms.epsilon;
  out["adjacency"] = name(terms.adjacency);
  out["unit"] = name(terms.noise.slot_unit);
  out["n"] = terms.n;
  out["accountant"] = terms.noise.accountant;
  out["noise"] = name(terms.noise.law);
  out["noise_multiplier"] = plan.promise.noise_multiplier;
  out["events"] = json_events(evidence.own);
  out["trust"] = terms.ranks_trusted ? "cluster" : "root";
  out["seeded"] = terms.seeded;
  out["labels"] = terms.counted.signs ? "signs" : "classes";
  out["classes"] = terms.counted.classes;
  out["logits"] = terms.counted.logits;
  out["model_digest"] = terms.model;
  if (!terms.certificate.empty()) out["run_certificate"] = terms.certificate;
  out["ledger_head"] = evidence.head;
  out["results_digest"] = evidence.results;
  out["version"] = DPMPI_VERSION;
  return out;
}

}  // namespace dpmpi
