// plan.json: the promise as a file.

#include <variant>

#include <fmt/format.h>

#include "privacy/events/planned_events.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/json_values.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

OrderedJson json_queries(const std::vector<Query>& all);

OrderedJson json_candidates(const Query& best) {
  auto candidates = OrderedJson::array();
  const auto& specs = *best.as<BestOfRuns>()->candidates;
  for (std::size_t c = 0; c < specs.size(); ++c)
    candidates.push_back({{"candidate", specs[c].name}, {"noise", json_queries((*best.trainings)[c])}});
  return candidates;
}

OrderedJson json_queries(const std::vector<Query>& all) {
  auto queries = OrderedJson::array();
  for (const auto& query : all) {
    queries.push_back({{"site", query.name},
                       {"sampling", describe(query.sampling)},
                       {"batch", expected_batch(query.sampling, query.records)},
                       {"clip", query.bound.clip},
                       {"sensitivity", query.sensitivity},
                       {"law", name(query.noise)},
                       {"std", query.noise_std},
                       {"noise_multiplier", query.noise_multiplier},
                       {"count", query.steps},
                       {"dim", query.dim},
                       {"lattice", query.lattice.k}});
    if (query.trainings) queries.back()["runs"] = json_candidates(query);
  }
  return queries;
}

OrderedJson json_attacker(const std::vector<std::pair<double, double>>& table) {
  auto rates = OrderedJson::object();
  for (const auto& [rate, power] : table) rates[fmt::format("{}", rate)] = power;
  return rates;
}

OrderedJson json_method(const Plan& plan, const RunConfig& config) {
  OrderedJson method{{"name", config.method_name}};
  for (const auto& [symbol, value] : plan.method->report_quantities(plan.queries))
    std::visit([&, &key = symbol](const auto& v) { method[key] = v; }, value);
  return method;
}

// What is public about the records beside their number, and planning asks for.
OrderedJson json_data(const DatasetFacts& data) {
  OrderedJson out{{"features", data.features}};
  for (const auto& [name, storage] : storages())
    if (storage == data.storage) out["storage"] = name;
  if (!data.shards.empty()) out["shards"] = data.shards;
  return out;
}

OrderedJson json_plan(const Plan& plan, const RunConfig& config, const PublicFacts& facts) {
  const Guarantee& guarantee = plan.promise.guarantee;
  const StepCost cost = step_cost(plan, *facts.objective, facts.ranks_trusted);
  OrderedJson out;
  out["events"] = json_events(plan.events());
  put_guarantee(out, guarantee);
  out["accountant"] = config.privacy.accountant;
  out["adjacency"] = name(plan.adjacency);
  out["steps"] = plan.steps;
  out["n"] = facts.data.units();
  if (plan.hides_times()) out[secret_times] = true;
  if (config.data.by_person()) out["unit"] = name(config.data.unit());
  out["data"] = json_data(facts.data);
  out["dim"] = facts.objective->dim();
  out["noise"] = json_queries(plan.queries);
  out["slack"] = plan.largest_slack();
  out["attacker"] = json_attacker(attacker_of_everybody(plan));
  out["bytes_per_step"] = {{"up", cost.up}, {"down", cost.down}};
  out["flops_per_step"] = cost.flops;
  if (cost.own_values > 0) out["normals_per_rank_and_step"] = cost.own_values;
  out["method"] = json_method(plan, config);
  out["objective"] = config.objective_name;
  out["config_digest"] = config.digest();
  return out;
}

OrderedJson json_evaluation_plan(const EvaluationPlan& plan) {
  OrderedJson out;
  out["events"] = json_events(plan.events());
  put_guarantee(out, plan.promise.guarantee);
  out["n"] = plan.data.units();
  if (!plan.data.shards.empty()) out["shards"] = plan.data.shards;
  out["noise"] = json_queries(plan.queries);
  out["attacker"] = json_attacker(plan.promise.attacker);
  return out;
}

}  // namespace

std::string plan_json(const Plan& plan, const RunConfig& config, const PublicFacts& facts) {
  OrderedJson out = json_plan(plan, config, facts);
  if (const auto* const trains = trains_models(facts)) {
    out["training"] = {{"runs", plan.training->plan.runs}};
    out["training"].update(json_plan(plan.training->plan, trains->dearest_config(), trains->dearest()));
    out["both"] = OrderedJson::object();
    put_guarantee(out["both"], plan.training->both.guarantee);
    out["both"]["attacker"] = json_attacker(plan.training->both.attacker);
  }
  if (plan.evaluation) out["evaluation"] = json_evaluation_plan(*plan.evaluation);
  return out.dump(2) + "\n";
}

}  // namespace dpmpi
