#include "run/report/comparison.hpp"

#include <algorithm>
#include <map>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"
#include "run/report/promise.hpp"
#include "run/report/result.hpp"
#include "run/report/sections.hpp"
#include "run/report/slopes.hpp"
#include "run/report/warnings_section.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

/// Settings that are not the same in all runs, but for where files lie.
html::Rows differences(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const auto& [name, value] : runs[r].settings) {
      if (name == "run.dir") continue;
      if (!values.contains(name)) names.push_back(name), values[name].resize(runs.size());
      values[name][r] = value;
    }
  html::Rows rows;
  for (const auto& name : names) {
    const auto& row = values[name];
    if (std::all_of(row.begin(), row.end(), [&](const auto& value) { return value == row[0]; })) continue;
    rows.push_back({name});
    rows.back().insert(rows.back().end(), row.begin(), row.end());
  }
  return rows;
}

/// A row for each run: telephones show many rows, and few columns.
std::string promises(const std::vector<RunRecord>& runs) {
  html::Rows rows;
  for (const RunRecord& run : runs)
    rows.push_back({run.name, run.is_private() ? shown_above(run.epsilon()) : "none",
                    run.is_private() ? shown_above(run.plan.at("delta")) : "none", shown(run.plan.at("adjacency")),
                    shown(run.plan.value("n", Json())), run.finished() ? "finished" : "not finished"});
  return html::table({"run", "epsilon", "delta", "neighbours", "records", "state"}, rows);
}

}  // namespace

std::string comparison(const std::vector<RunRecord>& runs) {
  std::vector<std::pair<std::string, int>> colours;
  std::vector<std::string> head{"setting"};
  for (const RunRecord& run : runs) {
    colours.emplace_back(run.name, static_cast<int>(colours.size()));
    head.push_back(run.name);
  }
  std::string body = alarms(runs) + colour_key(colours) + html::heading("Promises") + promises(runs);
  const auto same = [&](const char* key) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunRecord& run) { return run.plan.at(key) == runs[0].plan.at(key); });
  };
  if (!same("adjacency") || !same("delta"))
    body += html::alarm("Careful.", "Epsilons for other neighbours or another delta do not compare.");
  body += html::paragraph(
      "Each promise is about its own run. Who sees several runs on the same records has the sum of what they tell: "
      "dpmpi account on all their events.");
  return body + warnings_section(runs) + metrics_section(runs) + roc_section(runs) + method_section(runs) +
         slope_section(runs) + html::heading("Settings that differ") + html::table(head, differences(runs));
}

}  // namespace dpmpi
