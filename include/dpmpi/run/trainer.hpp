#pragma once
// One training run from config to certificate.

#include <optional>
#include <string>

#include "dpmpi/comm/communicator.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/config.hpp"

namespace dpmpi {

struct TrainOptions {
  std::optional<std::string> resume = {};  ///< run directory to go on with, instead of starting a new one
  bool quiet = false;                      ///< no settings table, no summary
};

/// Runs `config` on all ranks of `comm`. Collective. Returns ExitCode::done or ExitCode::stopped; throws on errors.
ExitCode train(const Communicator& comm, const RunConfig& config, const TrainOptions& options = {});

}  // namespace dpmpi
