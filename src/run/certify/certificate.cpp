#include "run/certify/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/files/digest.hpp"
#include "core/numbers/real.hpp"
#include "privacy/events/planned_events.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/json_values.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {

namespace {

constexpr const char* key_check = "dpmpi key check value";  // what is authenticated under each key

// Every bound that applies to a run whose iterates stay hidden, and which one was used.
OrderedJson json_explanation(const HiddenState& run, const Plan& plan) {
  const HiddenExplanation e = explain(run, plan.adjacency, plan.delta());
  OrderedJson out;
  out["used"] = e.used;
  out["epsilon"] = {{"hidden", json_number(e.hidden_epsilon)},
                    {"composition", json_number(e.composition_epsilon)},
                    {"last_step", json_number(e.last_step_epsilon)}};
  out["mu"] = e.mu;
  out["delta"] = {{"coupling", e.coupling_failure}, {"clip", e.clip_failure}};
  out["stretches"] = OrderedJson::array();
  for (const auto& s : e.stretches)
    out["stretches"].push_back({{"steps", {s.stretch.begin, s.stretch.end}},
                                {"bound", name(s.bound)},
                                {"mu", json_number(s.mu)},
                                {"N", s.window},
                                {"theta", s.theta},
                                {"c1", std::exp(s.growth.log_rate)},
                                {"Wfac", std::exp(s.growth.log_excess)},
                                {"failure", s.failure}});
  out["towards_ranks"] = "composition: a rank of the job sees every iterate";
  return out;
}

}  // namespace

std::string theorem(const std::string& method) {
  for (const auto& entry : methods())
    if (entry.name == method) return entry.source;
  return {};
}

namespace {

std::string releases_of(const RunConfig& config) {
  return config.method->describe_releases() +
         (config.prepare.on() ? fmt::format(", and the counts in {}", PreparationPlan::results) : "");
}

std::string theorem_of(const RunConfig& config) {
  if (!config.is_private()) return "none";
  return theorem(config.method_name) +
         (config.tunes() ? "; the choice of settings: Papernot and Steinke 2022 (arXiv:2110.03620), Theorems 2 and "
                           "6, with K = 0 counted"
                         : "");
}

/// Why there is no guarantee; empty: there is one.
std::string not_private(const RunConfig& config, double epsilon) {
  if (!config.is_private()) return "NOT PRIVATE: no noise was added (privacy.noise = none).";
  if (config.privacy.seeded()) return "NOT PRIVATE: the noise was drawn from privacy.seed, which anybody may know.";
  if (std::isinf(epsilon)) return "NOT PRIVATE: the noise is too small for any bound.";
  return {};
}

/// "... is (epsilon, delta)-differentially private: what `among` changes ...".
std::string bounded(const RunConfig& config, const std::string& among, double epsilon, double delta) {
  return fmt::format(
      "is ({}, {})-differentially private: {} {} changes the probability of any outcome by at most a factor e^{}, "
      "except with probability {}.",
      rounded_up(epsilon), rounded_up(delta), change_between_neighbours(config.privacy.which(), config.data.unit()),
      among, rounded_up(epsilon), rounded_up(delta));
}

/// Whom the promise does not cover: it is kept towards everybody but these.
std::string trusted_ranks(const RunConfig& config) {
  return config.privacy.trust == "root" ? "" : " Every rank of the job is trusted with un-noised sums.";
}

/// What a promise for persons does not know.
std::string persons_at_sites(const RunConfig& config) {
  if (!config.data.by_person() || config.data.shards.size() < 2) return {};
  return " Somebody who has records at two sites counts as two persons, and has a weaker promise.";
}

}  // namespace

std::string statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta) {
  if (const std::string reason = not_private(config, epsilon); !reason.empty()) return reason;
  return fmt::format(
      "Everything released by this run, {}, {}{} It says nothing about data.eval, which is treated as public, nor "
      "about how {} were chosen.{}",
      releases_of(config), bounded(config, fmt::format("among {}", n), epsilon, delta), persons_at_sites(config),
      config.tunes() ? "tune.search and all other settings" : "the settings", trusted_ranks(config));
}

std::string training_statement(const RunConfig& config, std::uint64_t n, std::uint64_t runs, double epsilon,
                               double delta) {
  if (config.privacy.seeded()) return not_private(config, epsilon);
  const RunConfig& trainer = *config.trainer();
  if (const std::string reason = not_private(trainer, epsilon); !reason.empty()) return reason;
  return fmt::format(
      "For those on whose records models are trained (data.train of objective.trainer): everything released by this "
      "run, all models, {} at most, and what follows from them, {} It does not cover models that are trained "
      "afterwards with the settings found.{}",
      runs, bounded(trainer, fmt::format("among {}", n), epsilon, delta),
      trainer.privacy.trust == "root" ? "" : " Every rank of the job is trusted with these records.");
}

std::string both_statement(const RunConfig& config, double epsilon, double delta) {
  if (const std::string reason = not_private(config, epsilon); !reason.empty()) return reason;
  return fmt::format("For who has a record in both sets: everything released by this run {}",
                     bounded(config, "in each of them", epsilon, delta));
}

std::string evaluation_statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta) {
  if (const std::string reason = not_private(config, epsilon); !reason.empty()) return reason;
  return fmt::format(
      "For those whose records were held out of training (data.test_share): everything released by this run, of which "
      "only the counts in {} depend on their records, {}{}{}",
      EvaluationPlan::results, bounded(config, fmt::format("among these {}", n), epsilon, delta),
      persons_at_sites(config), trusted_ranks(config));
}

std::string whole_statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta) {
  if (const std::string reason = not_private(config, epsilon); !reason.empty()) return reason;
  return fmt::format(
      "For everybody in the data: nobody's slot is in both parts, so everything released by this run together {}{}{}",
      bounded(config, fmt::format("among all {}", n), epsilon, delta), persons_at_sites(config),
      trusted_ranks(config));
}

SecretKey evaluation_key(const SecretKey& run_key) { return run_key.derive("evaluation"); }

std::map<std::string, std::string> generator_commitments(const SecretKey& key, std::uint32_t blocks) {
  constexpr const char* label = key_check;
  std::string selections;
  for (std::uint32_t b = 0; b < blocks; ++b) selections += key.derive("selection", b).authenticate(label);
  return {{"noise", key.derive("noise").authenticate(label)},
          {"worker_noise", key.derive("shared noise").authenticate(label)},
          {"phase_noise", key.derive("phase noise").authenticate(label)},
          {"repetitions", key.derive("repetitions").authenticate(label)},
          {"repeated_runs", key.derive("repeated runs").authenticate(label)},
          {"selection", sha256(selections)},
          {"trainings", key.derive("trainings").authenticate(label)}};
}

std::string evaluation_commitment(const SecretKey& run_key) {
  return evaluation_key(run_key).derive("noise").authenticate(key_check);
}

Guarantee certified(const std::vector<Event>& events, bool is_private, Adjacency adjacency, double delta,
                    const std::string& accountant) {
  if (is_private) return epsilon_guarantee(events, adjacency, delta, accountant);
  return {.epsilon = infinity, .delta = delta, .least = infinity};
}

namespace {

/// To the trainer's people. The number of trainings may follow from what was released: all that were planned count.
OrderedJson json_training(const RunConfig& config, const PublicFacts& facts, const Plan& plan,
                          const TrainingProvenance& provenance) {
  const RunConfig& trainer = *config.trainer();
  const PublicFacts& dearest = trains_models(facts)->dearest();
  const Plan& trainings = plan.training->plan;
  const std::uint64_t n = dearest.data.records;
  const Guarantee g = certified(trainings.events(), !config.privacy.seeded(), trainings.adjacency,
                                trainings.delta(), trainer.privacy.accountant);
  OrderedJson out;
  put_guarantee(out, g);
  out["statement"] = training_statement(config, n, trainings.runs, g.epsilon, g.delta);
  out["adjacency"] = name(trainings.adjacency);
  out["accountant"] = trainer.privacy.accountant;
  out["events"] = json_events(trainings.events());
  out["runs"] = trainings.runs;
  out["trained"] = provenance.trained;
  out["theorem"] = theorem(trainer.method_name);
  out["noise"] = trainer.privacy.noise;
  out["numerical_slack"] = trainings.largest_slack();
  out["trust"] = trainer.privacy.trust;
  auto assumptions = trainings.method->assumptions;
  for (auto& about_loss : dearest.objective->assumptions()) assumptions.push_back(std::move(about_loss));
  if (!assumptions.empty()) out["assumptions"] = assumptions;
  out["method"] = trainer.method_name;
  out["objective"] = trainer.objective_name;
  out["n"] = n;
  out["data_commitment"] = provenance.commitment;
  out["ledger_head"] = provenance.head;
  return out;
}

OrderedJson json_both(const RunConfig& config, const Plan& plan, std::vector<Event> events, bool is_private) {
  for (Event& event : plan.training->plan.events()) events.push_back(std::move(event));
  const Guarantee g =
      certified(events, is_private, plan.adjacency, plan.training->both.guarantee.delta, config.privacy.accountant);
  OrderedJson out;
  put_guarantee(out, g);
  out["statement"] = both_statement(config, g.epsilon, g.delta);
  return out;
}

/// To those whose records were held out.
OrderedJson json_evaluation(const RunConfig& config, const EvaluationPlan& plan,
                            const EvaluationProvenance& provenance, const Guarantee& g) {
  OrderedJson out;
  put_guarantee(out, g);
  out["statement"] = evaluation_statement(config, plan.data.units(), g.epsilon, g.delta);
  out["events"] = json_events(provenance.events);
  out["n"] = plan.data.units();
  out["generator"] = provenance.generator;
  out["data_commitment"] = provenance.commitment;
  out["ledger_head"] = provenance.head;
  out["results_digest"] = provenance.results;
  return out;
}

/// Parallel composition: everybody's slot is in one of the two parts.
OrderedJson json_whole(const RunConfig& config, std::uint64_t n, const Guarantee& training,
                       const Guarantee& evaluation) {
  const double epsilon = std::max(training.epsilon, evaluation.epsilon),
               delta = std::max(training.delta, evaluation.delta);
  return {{"epsilon", json_number(epsilon)},
          {"delta", delta},
          {"n", n},
          {"statement", whole_statement(config, n, epsilon, delta)}};
}

}  // namespace

std::string certificate_json(const RunConfig& config, const PublicFacts& facts, const Plan& plan,
                             const Provenance& provenance) {
  const bool is_private = config.is_private() && !config.privacy.seeded();
  const Guarantee guarantee =
      certified(provenance.events, is_private, plan.adjacency, plan.delta(), config.privacy.accountant);
  OrderedJson out;
  out["epsilon"] = json_number(guarantee.epsilon);
  out["delta"] = guarantee.delta;
  out["adjacency"] = name(plan.adjacency);
  if (config.data.by_person()) out["unit"] = name(config.data.unit());
  out["statement"] = statement(config, facts.data.units(), guarantee.epsilon, guarantee.delta);
  out["interval"] = json_interval(guarantee);
  out["by"] = json_by(guarantee);
  out["accountant"] = config.privacy.accountant;
  out["events"] = json_events(provenance.events);
  out["theorem"] = theorem_of(config);
  out["noise"] = config.privacy.noise;
  out["numerical_slack"] = plan.largest_slack();
  out["trust"] = config.privacy.trust;
  out["released"] = releases_of(config);
  for (const auto& event : provenance.events)
    if (const auto* run = std::get_if<HiddenState>(&event.mechanism))
      out["hidden_state"] = json_explanation(*run, plan);
  auto assumptions = plan.method->assumptions;
  for (auto& about_loss : facts.objective->assumptions()) assumptions.push_back(std::move(about_loss));
  if (config.start.given()) assumptions.push_back(start_assumption(config.start));
  if (!assumptions.empty()) out["assumptions"] = assumptions;
  if (provenance.training) {
    out["training"] = json_training(config, facts, plan, *provenance.training);
    out["both"] = json_both(config, plan, provenance.events, is_private);
  }
  if (provenance.evaluation) {
    const EvaluationPlan& evaluation = *plan.evaluation;
    const Guarantee g = certified(provenance.evaluation->events, is_private, plan.adjacency, plan.delta(),
                                  config.privacy.accountant);
    out["evaluation"] = json_evaluation(config, evaluation, *provenance.evaluation, g);
    out["whole"] = json_whole(config, facts.data.units() + evaluation.data.units(), guarantee, g);
  }
  if (!plan.preparation.empty())
    out["preparation"] = {{"columns", plan.preparation.columns}, {"results_digest", provenance.preparation}};
  if (!provenance.audit.empty()) out["audit"] = OrderedJson::parse(provenance.audit);
  out["method"] = config.method_name;
  out["objective"] = config.objective_name;
  out["n"] = facts.data.units();
  out["dim"] = facts.objective->dim();
  out["steps"] = plan.steps;
  out["seeded"] = config.privacy.seeded();
  out["generators"] = provenance.generators;
  out["generators"]["keyed_by"] = config.privacy.seeded() ? "privacy.seed (predictable)" : "getrandom";
  if (const std::string seed = config.value("method.seed"); !seed.empty()) out["public_seed"] = seed;
  out["config_digest"] = config.digest();
  out["plan_digest"] = sha256(plan_json(plan, config, facts));
  out["data_commitment"] = provenance.commitment;
  out["ledger_head"] = provenance.head;
  out["model_digest"] = provenance.model;
  out["metrics_digest"] = provenance.metrics;
  out["program"] = provenance.program;
  if (!provenance.public_models.empty()) out["public_models"] = provenance.public_models;
  if (!provenance.training_files.empty()) out["training_files"] = provenance.training_files;
  out["version"] = DPMPI_VERSION;
  return out.dump(2) + "\n";
}

}  // namespace dpmpi
