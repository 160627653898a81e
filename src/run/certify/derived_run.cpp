#include "run/certify/derived_run.hpp"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/plugin/unloaded_plugin.hpp"
#include "run/certify/certificate.hpp"
#include "run/config/training_builder.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {
namespace {

using nlohmann::json;

constexpr const char* plugin = "plugin";  // objective.name of what a library computes

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
  if (config.objective_name == plugin)
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
  if (!config.trainer() || config.trainer()->objective_name != plugin) return {};
  return "objective.trainer has a plugin, and libraries that a run names are not loaded";
}

DerivedRun derive_run(std::shared_ptr<const RunConfig> config, const json& stated_plan) {
  DerivedRun run;
  run.config = std::move(config);
  const DatasetFacts data = stated_facts(stated_plan, run.config->data, "plan.json");
  auto objective = objective_of(*run.config, data, stated_plan);
  run.facts = public_facts(*run.config, data, *objective);
  run.objective = std::move(objective);
  run.plan = make_plan(*run.config, run.facts);
  run.plan_json = json::parse(plan_json(run.plan, *run.config, run.facts));
  Provenance nowhere{.events = run.plan.events()};
  if (run.plan.training) nowhere.training = TrainingProvenance{};
  run.certificate = json::parse(certificate_json(*run.config, run.facts, run.plan, nowhere));
  return run;
}

}  // namespace dpmpi
