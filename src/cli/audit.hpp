#pragma once
// `dpmpi audit`: lower bounds on epsilon by playing against the mechanism.

#include "run/audit/audit.hpp"

namespace dpmpi {

/// Prints a report; returns the exit code: 4 if a bound lies above what is promised. Root only.
int print_audit(const AuditReport& report, bool json);

}  // namespace dpmpi
