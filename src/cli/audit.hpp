#pragma once
// `dpmpi audit`: lower bounds on epsilon by playing against the mechanism.

#include <string>

#include "cli/command_line.hpp"
#include "comm/communicator.hpp"
#include "run/audit/audit.hpp"

namespace dpmpi {

/// Collective; the root prints, and writes line.output, RUN/audit.json or audit.json. Returns the exit code: 4 if a
/// bound lies above what is promised. Throws Error.
int run_audit(const Communicator& comm, const CommandLine& line);

/// Prints a report; returns the exit code. Root only.
int print_audit(const AuditReport& report, bool json);

std::string audit_help();

}  // namespace dpmpi
