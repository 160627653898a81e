#pragma once
// Settings that a config leaves to the program (run/config/automatic.hpp): numbers for them, from what is public.

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "method/sgd/settings_rule.hpp"
#include "run/config/config.hpp"
#include "run/suggest/feature_size.hpp"

namespace dpmpi {

/// All that the rule goes by for this config, whose training records `data` are.
struct SuggestionFacts {
  SgdFacts sgd;
  FeatureSize size;
};
/// mu of a Gaussian mechanism that keeps the config's delta and `factor` times its epsilon; infinity where it has
/// no epsilon. Local. Throws PrivacyError where delta makes no sense.
double budget_of(const RunConfig& config, const DatasetFacts& data, double factor = 1);
/// Local. Throws PrivacyError where delta makes no sense.
SuggestionFacts suggestion_facts(const RunConfig& config, const DatasetFacts& data);

/// What the config itself says of the settings, those in `open` ("method.rate") excepted.
SgdSettings fixed_settings(const RunConfig& config, const std::vector<std::string>& open);

/// "method.rate" and the text of its value, in the order of automatic_keys().
std::vector<std::pair<std::string, std::string>> texts_of(const SettledSgd& settled);

/// Puts numbers in the place of `auto`: from there on the config is as if the user had given them. The training
/// data are inspected, which reads headers and counts lines; where they cannot be, the config stays as it is, and
/// whoever reads them says why. `overrides` are those that it was read with. Collective. Throws ConfigError.
void settle(const Communicator& comm, std::unique_ptr<RunConfig>& config, std::vector<std::string>& overrides);

}  // namespace dpmpi
