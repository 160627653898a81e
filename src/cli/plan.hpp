#pragma once
// `dpmpi plan`: the promise and the cost of a config, before the data: headers are read and lines are counted, no
// value.

#include "cli/command_line.hpp"
#include "comm/communicator.hpp"

namespace dpmpi {

/// Collective; prints on the root. With line.measure the machine is measured on all ranks of `comm`. Returns the
/// exit code; throws Error.
int show_plan(const Communicator& comm, const CommandLine& line);

}  // namespace dpmpi
