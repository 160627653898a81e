#pragma once
// Sections of a report that only some runs have: pictures of what a method or an objective is about. Each is
// markup, and empty where there is nothing to show.

#include <string>
#include <vector>

#include "run/report/plot.hpp"
#include "run/report/run_record.hpp"

namespace dpmpi {

/// One line a run, named where there are several.
std::vector<Plot::Line> lines_of(const std::vector<RunRecord>& runs, const std::string& x, const std::string& y);

/// Names of metrics of any of the runs that begin with `prefix`, in the order in which they are met.
std::vector<std::string> metric_names(const std::vector<RunRecord>& runs, const std::string& prefix);
/// A table of their last values: a row for each metric, a column for each run.
std::string last_values(const std::vector<RunRecord>& runs, const std::vector<std::string>& names);
/// ROC curves of the final models on the evaluation set.
std::string roc_section(const std::vector<RunRecord>& runs);
/// What a method says about its own state, over steps.
std::string method_section(const std::vector<RunRecord>& runs);
/// The noise of running sums over their leaves, from the plan.
std::string running_sum_section(const RunRecord& run);
/// Of three and more runs of one method and objective that differ in n, or in epsilon: final metrics against it,
/// with fitted slopes on logarithmic axes.
std::string slope_section(const std::vector<RunRecord>& runs);

}  // namespace dpmpi
