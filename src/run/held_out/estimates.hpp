#pragma once
// What noisy counts say of a model: metrics with intervals that cover both what the noise does and that the records
// are the ones that they are.
//
// Shares have Wilson's intervals, which hold for few records and for the noise as well. The area under the ROC
// curve, the average precision and the log-loss are smooth functions f of the counts c. The records are independent
// draws, so counts vary as those of a multinomial law, whose variance of f is sum_j c_j g_j^2 to first order, g the
// gradient of f at c, where f does not change if all of c is multiplied by a number; noise of deviation s adds
// s^2 sum_j g_j^2. All intervals are of 95 % (docs/theory/held_out.md).

#include <string>
#include <utility>
#include <vector>

#include "run/held_out/counts.hpp"
#include "run/held_out/intervals.hpp"

namespace dpmpi {

/// accuracy, balanced_accuracy, auc, average_precision, recall, specificity, precision, positives; of classes
/// accuracy, balanced_accuracy and recall.K; log_loss where there is one.
std::vector<Estimate> estimates_of(const NoisyCounts& counts);

/// With fewer records than this nothing is said: neither how many are right, nor anything else of all of them.
/// `counts_std`: the noise of each of the counts by bin.
double fewest_records(const CountedScores& shape, double counts_std);

/// Of each bin the share of +1 (of classes: of right predictions), named by nothing. Where scores are
/// logits, to be compared with the probabilities at the bin's ends.
std::vector<Estimate> shares_of_bins(const NoisyCounts& counts);

/// Signs: the shares of -1 and of +1 above each bin's beginning, the highest bin first.
std::vector<std::pair<Estimate, Estimate>> roc_of(const NoisyCounts& counts);

}  // namespace dpmpi
