#pragma once
// What `dpmpi evaluate` shows on a terminal.

#include <string>

#include "run/evaluate/metrics.hpp"

namespace dpmpi {

/// Tables of metrics, of classes and groups, of confused classes and of probabilities. `resamples`: what intervals
/// are by. `grouped_by`: a column, or empty.
std::string evaluation_text(const Objective& objective, const Assessment& a, std::int64_t resamples,
                            const std::string& grouped_by);

/// Columns as wide as what is in them, the first to the left and the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace dpmpi
