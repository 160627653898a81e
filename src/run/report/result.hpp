#pragma once
// How good the models are on public records.

#include <string>
#include <vector>

#include "run/report/plot.hpp"
#include "run/report/run_record.hpp"

namespace dpmpi {

/// A line for each run, in its colour; named where there are several.
std::vector<Plot::Line> lines_of(const std::vector<RunRecord>& runs, const std::string& x, const std::string& y);
/// Names of metrics of any of the runs that begin with `prefix`, in the order in which they are met.
std::vector<std::string> metric_names(const std::vector<RunRecord>& runs, const std::string& prefix);
/// A table of their last values: a row for each metric, a column for each run; of one run that was assessed, also
/// what the best constant reaches.
std::string last_values(const std::vector<RunRecord>& runs, const std::vector<std::string>& names);

/// The result as a large number beside that of the best constant.
std::string result_tile(const RunRecord& run);
/// Public metrics at the end and on the way.
std::string metrics_section(const std::vector<RunRecord>& runs);
/// Which classes were taken for which, and whether probabilities can be believed, of a run that was assessed.
std::string assessment_section(const RunRecord& run);
/// ROC curves of the final models on the evaluation set.
std::string roc_section(const std::vector<RunRecord>& runs);

}  // namespace dpmpi
