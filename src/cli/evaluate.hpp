#pragma once
// `dpmpi evaluate` and `dpmpi predict`: a finished run's model on records.

#include "cli/command_line.hpp"
#include "comm/communicator.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// `config`: config_of_run. Collective; the root prints. Returns the exit code; throws Error.
int show_evaluation(const Communicator& comm, const CommandLine& line, const RunConfig& config);
int run_predict(const Communicator& comm, const CommandLine& line, const RunConfig& config);

/// `dpmpi help evaluate` and `dpmpi help predict`.
std::string evaluate_help();
std::string predict_help();

}  // namespace dpmpi
