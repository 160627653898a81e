#pragma once
// What a run should say of itself: its config is planned again by the code that plans, for records of which nothing
// is known but the public facts that plan.json states. No record, no file of the data, no key and no plugin is
// touched.

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "run/plan/plan.hpp"

namespace dpmpi {

struct DerivedRun {
  std::shared_ptr<const RunConfig> config;
  std::unique_ptr<const Objective> objective;
  PublicFacts facts;
  Plan plan;
  nlohmann::json plan_json;
  /// What follows from the plan; members that say where it comes from (Provenance) are there and empty.
  nlohmann::json certificate;
};

/// The public facts that one part of a plan.json states: its own, or those of its member `training`. `part`: its
/// name for messages. What config.ini declares (data.records, data.shard_records) is not taken from there. Throws
/// DataError naming the member.
DatasetFacts stated_facts(const nlohmann::json& stated_plan, const DataOptions& declared, const std::string& part);

/// Why a config cannot be planned here, whatever plan.json states; empty: it can.
std::string not_derivable(const RunConfig& config);

/// Calibrates and accounts as planning does, so it can take as long. Throws ConfigError, DataError or PrivacyError
/// if `stated_plan` lacks the facts, or if there is no plan for them.
DerivedRun derive_run(std::shared_ptr<const RunConfig> config, const nlohmann::json& stated_plan);

}  // namespace dpmpi
