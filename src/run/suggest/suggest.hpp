#pragma once
// Settings that a config leaves to the program (run/config/automatic.hpp): numbers for them, from what is public.

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "method/automatic.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// mu of a Gaussian mechanism that keeps the config's delta and `factor` times its epsilon; infinity where it has
/// no epsilon. Local. Throws PrivacyError where delta makes no sense.
double budget_of(const RunConfig& config, const DatasetFacts& data, double factor = 1);

/// What a rule goes by for this config, whose training records `data` are, and its objective. Local. Throws
/// PrivacyError where delta makes no sense.
PublicNumbers public_numbers(const RunConfig& config, const DatasetFacts& data, const Objective& objective);

/// What the rule of the config's method, which has one, makes of them, with the settings in `open` ("method.rate")
/// left to it and the others as the config says. Local.
FoundSettings found_settings(const RunConfig& config, const PublicNumbers& numbers,
                             const std::vector<std::string>& open);

/// Puts numbers in the place of `auto`: from there on the config is as if the user had given them. The training
/// data are inspected, which reads headers and counts lines; where they cannot be, the config stays as it is, and
/// whoever reads them says why. `overrides` are those that it was read with. Collective. Throws ConfigError.
void settle(const Communicator& comm, std::unique_ptr<RunConfig>& config, std::vector<std::string>& overrides);

}  // namespace dpmpi
