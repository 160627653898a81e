#include "run/report/times.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

/// "seconds", then its parts; what is left of them is the method's own work, evaluations, checkpoints.
const std::vector<std::string> time_columns{"seconds", "sampling",  "kernels", "noise",
                                            "reduce",  "broadcast", "ledger"};

std::vector<std::string> time_row(const Json& line) {
  std::vector<std::string> row;
  double rest = 0;
  for (const auto& column : time_columns) {
    const double value = line.value(column, 0.0);
    row.push_back(fmt::format("{:.3f}", value));
    rest += column == "seconds" ? value : -value;
  }
  row.push_back(fmt::format("{:.3f}", std::max(0.0, rest)));
  return row;
}

}  // namespace

// A run that is not finished has the root's line of its last evaluation.
std::string times_section(const RunRecord& run) {
  if (run.times.empty()) return "";
  html::Rows loads, ranks;
  const Json* newest = nullptr;
  for (const Json& line : run.times) {
    if (line.contains("phase")) {
      loads.push_back({shown(line["phase"]), shown(line.value("ranks", Json(1))),
                       shown(line.value("step", Json(0))), shown(line.value("seconds", Json()))});
      ranks.clear();
    } else if (line.contains("rank")) {
      ranks.push_back(time_row(line));
      ranks.back().insert(ranks.back().begin(), shown(line["rank"]));
    } else {
      newest = &line;
    }
  }
  if (ranks.empty() && newest) ranks.push_back(time_row(*newest)), ranks[0].insert(ranks[0].begin(), "0");
  std::string out =
      html::heading("Where the time went") +
      html::alarm("Not public.", "Times follow the secret batch sizes: this page must not be published.") +
      html::table({"phase", "ranks", "from step", "seconds"}, loads);
  if (ranks.empty()) return out + html::paragraph("Steps of this run tell no times.");
  std::vector<std::string> head{"rank", "all steps"};
  head.insert(head.end(), time_columns.begin() + 1, time_columns.end());
  head.emplace_back("else");
  const std::string table = html::table(head, ranks);
  constexpr std::size_t most = 16;
  return out +
         html::paragraph(
             "Seconds since the run was last started. A rank that has much under broadcast waits for the root, a "
             "root that has much under reduce waits for the others; else is the method's own work, evaluations and checkpoints.") +
         (ranks.size() > most ? html::details(fmt::format("{} ranks", ranks.size()), table) : table);
}

}  // namespace dpmpi
