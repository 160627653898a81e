#include "run/certify/derived_run.hpp"

#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/plugin/unloaded_plugin.hpp"
#include "run/certify/certificate.hpp"
#include "run/config/training_builder.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {
namespace {

using nlohmann::json;

// A member of plan.json that has to be of that type.
template <class T>
T stated(const json& object, const std::string& name, const std::string& part) {
  try {
    return object.at(name).get<T>();
  } catch (const json::exception&) {
    throw DataError(fmt::format("{}: {} is missing or is no such fact", part, name));
  }
}

std::uint64_t positive(const json& object, const std::string& name, const std::string& part) {
  const json number = stated<json>(object, name, part);
  if (!number.is_number_unsigned() || number == 0)
    throw DataError(fmt::format("{}: {} is {}, and has to be a positive whole number", part, name, number.dump()));
  return number.get<std::uint64_t>();
}

std::unique_ptr<Objective> objective_of(const RunConfig& config, const DatasetFacts& data,
                                        const json& stated_plan) {
  const auto bias = static_cast<float>(config.data.bias);
  std::unique_ptr<Objective> objective;
  if (config.library())
    objective = unloaded_plugin(positive(stated_plan, "dim", "plan.json"));
  else if (const TrainingBuilder* const builder = config.training())
    objective = builder->make({data.features, data.storage, bias},
                              stated_facts(stated<json>(stated_plan, "training", "plan.json"),
                                           builder->trainer().data, "plan.json: training"));
  else
    return make_objective(config, data);
  objective->l2 = config.l2;
  return objective;
}

/// What was held out, if config and plan say that something was. The number of all records is declared, or stated
/// in two parts, which have to be those of their sum.
std::optional<HeldOut> stated_parts(const RunConfig& config, const DatasetFacts& training,
                                    const json& stated_plan) {
  if (config.data.test_share == 0) return {};
  const json held_out = stated<json>(stated_plan, "evaluation", "plan.json");
  DatasetFacts whole = training;  // of all records, where their number is declared
  if (config.data.shards.empty() && config.data.records == 0) {
    whole.records += positive(held_out, "n", "plan.json: evaluation");
  } else if (!config.data.shards.empty() && config.data.shard_records.empty()) {
    const auto of_sites = stated<std::vector<std::uint64_t>>(held_out, "shards", "plan.json: evaluation");
    if (of_sites.size() != whole.shards.size())
      throw DataError("plan.json: evaluation: shards is not one number for each of data.shards");
    for (std::size_t s = 0; s < of_sites.size(); ++s) whole.shards[s] += of_sites[s], whole.records += of_sites[s];
  }
  if (whole.records > std::uint64_t{1} << 53)
    throw DataError(fmt::format("plan.json: n = {} in both parts is no number of records", whole.records));
  return HeldOut(config.data.test_share, whole);
}

}  // namespace

DatasetFacts stated_facts(const json& stated_plan, const DataOptions& declared, const std::string& part) {
  const json data = stated<json>(stated_plan, "data", part);
  const auto storage = storages().find(stated<std::string>(data, "storage", part + ": data"));
  if (storage == storages().end()) throw DataError(fmt::format("{}: data.storage is not known", part));
  const std::uint64_t slots = declared.slots_of_unit(), stated_units = positive(stated_plan, "n", part);
  if (stated_units > (std::uint64_t{1} << 53) / slots)
    throw DataError(
        fmt::format("{}: n = {} with {} slots each is no number of records", part, stated_units, slots));
  DatasetFacts facts{stated_units * slots, positive(data, "features", part + ": data"), storage->second};
  facts.slots_of_unit = slots;
  if (!declared.shards.empty()) {
    facts.shards = stated<std::vector<std::uint64_t>>(data, "shards", part + ": data");
    if (!declared.shard_records.empty()) {
      facts.shards.clear();
      for (const std::int64_t units : declared.shard_records)
        facts.shards.push_back(static_cast<std::uint64_t>(units) * slots);
    }
    facts.records = std::accumulate(facts.shards.begin(), facts.shards.end(), std::uint64_t{0});
  } else if (declared.records > 0) {
    facts.records = static_cast<std::uint64_t>(declared.records) * slots;
  }
  return facts;
}

std::string not_derivable(const RunConfig& config) {
  if (config.prepare.on() && !config.data.columns_file)
    return "data.prepare asks for columns of data.columns, which is not here";
  if (!config.trainer() || !config.trainer()->library()) return {};
  return "objective.trainer has a plugin, and libraries that a run names are not loaded";
}

DerivedRun derive_run(std::shared_ptr<const RunConfig> config, const json& stated_plan) {
  DerivedRun run;
  run.config = std::move(config);
  DatasetFacts data = stated_facts(stated_plan, run.config->data, "plan.json");
  const std::optional<HeldOut> parts = stated_parts(*run.config, data, stated_plan);
  if (parts) data = parts->training();
  auto objective = objective_of(*run.config, data, stated_plan);
  run.facts = public_facts(*run.config, data, *objective);
  run.objective = std::move(objective);
  run.plan = make_plan(*run.config, run.facts);
  if (parts)
    run.plan.evaluation =
        std::make_shared<const EvaluationPlan>(make_evaluation_plan(*run.config, *run.objective, run.plan, *parts));
  run.plan_json = json::parse(plan_json(run.plan, *run.config, run.facts));
  Provenance nowhere{.events = run.plan.events()};
  if (run.plan.training) nowhere.training = TrainingProvenance{};
  if (run.plan.evaluation) nowhere.evaluation = EvaluationProvenance{.events = run.plan.evaluation->events()};
  run.certificate = json::parse(certificate_json(*run.config, run.facts, run.plan, nowhere));
  return run;
}

}  // namespace dpmpi
