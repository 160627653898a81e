#include "run/report/report.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "run/report/comparison.hpp"
#include "run/report/held_out.hpp"
#include "run/report/html.hpp"
#include "run/report/noise.hpp"
#include "run/report/numbers.hpp"
#include "run/report/promise.hpp"
#include "run/report/result.hpp"
#include "run/report/run_record.hpp"
#include "run/report/sections.hpp"
#include "run/report/times.hpp"
#include "run/report/warnings_section.hpp"
#include "run/report/weights.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

/// The promise and the result first, then what explains them, then what is for those who check.
std::string body_of(const RunRecord& run) {
  return alarms({run}) + html::tiles(promise_tiles(run) + result_tile(run)) + warnings_section({run}) +
         promise_section(run) + held_out_section(run) + metrics_section({run}) + assessment_section(run) +
         roc_section({run}) + samples_section(run) + chosen_section(run) + weights_section(run) +
         attacker_section(run) + training_section(run) + releases_section(run) + running_sum_section(run) +
         method_section({run}) + times_section(run) + settings_section(run) + evidence_section(run);
}

std::string page_of(const RunRecord& run) {
  const std::string what = fmt::format("{} by {}", shown(run.plan.value("objective", Json("?"))),
                                       shown(run.plan.value("method", Json::object()).value("name", Json("?"))));
  std::string under = "A model trained by dpmpi";
  if (run.finished()) under += " " + shown(run.certificate.value("version", Json("?")));
  if (!run.begun.empty()) under += ", begun on " + run.begun;
  return html::page(fmt::format("{}: {}", run.name, what), under, body_of(run));
}

}  // namespace

std::vector<std::string> distinct_runs(const std::vector<std::string>& directories) {
  std::vector<std::string> kept;
  for (const auto& directory : directories) {
    std::error_code absent;  // read_run says so
    if (std::none_of(kept.begin(), kept.end(), [&](const std::string& known) {
          return known == directory || std::filesystem::equivalent(known, directory, absent);
        }))
      kept.push_back(directory);
  }
  return kept;
}

std::string report_html(const std::vector<std::string>& directories, bool with_times) {
  std::vector<RunRecord> runs;
  for (const auto& directory : distinct_runs(directories)) runs.push_back(read_run(directory, with_times));
  try {
    if (runs.size() == 1) return page_of(runs[0]);
    return html::page(fmt::format("{} runs", runs.size()), "Models trained by dpmpi, beside each other",
                      comparison(runs));
  } catch (const nlohmann::json::exception& e) {  // a value of another type than dpmpi writes
    throw DataError(fmt::format("{}: the files of the run{} are not understood ({})", fmt::join(directories, ", "),
                                runs.size() > 1 ? "s" : "", e.what()));
  }
}

}  // namespace dpmpi
