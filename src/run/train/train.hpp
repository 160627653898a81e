#pragma once
// One training run from config to certificate.

#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "core/errors.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

struct SiteJob;

struct TrainOptions {
  std::optional<std::string> resume = {};  ///< run directory to go on with, instead of starting a new one
  bool quiet = false;                      ///< no settings table, no summary
  const SiteJob* job = nullptr;            ///< of a run of several jobs; must outlive the training
};

/// Runs `config` on all ranks of `comm`. Collective. Returns ExitCode::done or ExitCode::stopped; throws on errors.
ExitCode train(const Communicator& comm, const RunConfig& config, const TrainOptions& options = {});

}  // namespace dpmpi
