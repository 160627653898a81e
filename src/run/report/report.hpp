#pragma once
// report.html: one page on a run, or beside each other on several, for people who look before they read.

#include <string>
#include <vector>

namespace dpmpi {

/// `runs` without those that name a folder again. Local.
std::vector<std::string> distinct_runs(const std::vector<std::string>& runs);

/// A self-contained page: no scripts, nothing from a network; plots are inline SVG. From the files of the run
/// directories only, all of them public, so that the page can be published with the model; with `times` also from
/// timing.jsonl, which tells the secret batch sizes (the page says so). A run that is not finished is shown as far
/// as it got. Local. Throws ConfigError for a folder that is no run directory, DataError for files that are not
/// understood.
std::string report_html(const std::vector<std::string>& runs, bool times);

}  // namespace dpmpi
