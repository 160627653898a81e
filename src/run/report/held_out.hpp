#pragma once
// How good a model is on records that were kept out of its training, by noisy counts.

#include <string>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// The number by which a reader judges, with its interval; empty: nothing was held out, or the noise says nothing.
std::string held_out_tile(const RunRecord& run);
/// Metrics with intervals, the ROC curve with its band, and whether probabilities can be believed. Empty: nothing
/// was held out.
std::string held_out_section(const RunRecord& run);
/// The same of a later look, of which the record has the results alone. Who is looked at may have been trained on.
std::string looked_at_tile(const RunRecord& look);
std::string looked_at_section(const RunRecord& look);

}  // namespace dpmpi
