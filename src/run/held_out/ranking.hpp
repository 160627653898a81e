#pragma once
// How well scores put records in order, by noisy counts of -1 and +1 in bins of scores. Within a bin nothing is
// known of the order, so what is taken of it is an error, too.

#include "run/held_out/counts.hpp"
#include "run/held_out/intervals.hpp"

namespace dpmpi {

/// "auc": the area under the ROC curve, the share of pairs of a -1 and a +1 that are in the right order.
Estimate area_under_roc(const NoisyCounts& counts);

/// "average_precision": the area under precision over recall, the mean over the records of +1 of the precision at
/// their score.
Estimate average_precision(const NoisyCounts& counts);

}  // namespace dpmpi
