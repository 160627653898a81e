#pragma once
// What a linear model weighs most.

#include <string>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// The largest weights with the names of their features. Empty unless the model is linear; of one with a row of
/// weights a class, unless the features have names.
std::string weights_section(const RunRecord& run);

}  // namespace dpmpi
