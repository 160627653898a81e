#pragma once
// The balance of the classes, as data.prepare counted it.

#include <optional>
#include <vector>

#include "run/preparation/preparation.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// "constant.prepared_accuracy": its share of the training records, with which an accuracy is to be compared. None
/// where labels are quantities, or noise leaves nothing of the counts. Local.
std::vector<Measure> balance_measures(const Preparation& preparation);

/// Of classes that were counted no more often than noise may make it seem. Post-processing, local.
std::optional<Warning> scarce_classes(const Preparation& preparation);

}  // namespace dpmpi
