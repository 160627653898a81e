#pragma once
// `dpmpi report`: a page about a run, or about several.

#include "cli/command_line.hpp"

namespace dpmpi {

/// Writes RUN/report.html, or report.html here for several runs, or line.output. Returns the exit code; throws
/// Error.
int run_report(const CommandLine& line);

}  // namespace dpmpi
