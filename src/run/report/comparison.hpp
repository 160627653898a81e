#pragma once
// Several runs beside each other.

#include <string>
#include <vector>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// The body of their page.
std::string comparison(const std::vector<RunRecord>& runs);

}  // namespace dpmpi
