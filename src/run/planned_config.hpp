#pragma once
// What a config comes to before any record is read: headers are read and lines are counted, no value.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "run/config/config.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

struct PlannedConfig {
  std::unique_ptr<RunConfig> config;
  DatasetFacts all;              ///< of all records of the training files
  std::optional<HeldOut> parts;  ///< what is kept out of them for an evaluation
  std::unique_ptr<Objective> objective;
  PublicFacts facts;  ///< of the records that are trained on

  /// With its evaluation, if records are kept out. Local. Throws ConfigError or PrivacyError.
  Plan plan() const;
};

/// `overrides`: those of the command line, for which numbers stand in the place of `auto` in the end. Collective.
/// Throws ConfigError, DataError or PrivacyError on all ranks.
PlannedConfig planned_config(const Communicator& comm, const std::string& path, std::vector<std::string> overrides);

}  // namespace dpmpi
