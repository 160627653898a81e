#include "run/report/warnings_section.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

std::string warnings_of(const RunRecord& run, const std::string& name) {
  std::string out;
  for (const Json& line : run.metrics)
    for (const Json& warning : line.value("warnings", Json::array()))
      out += html::alarm(name + "Warning.", warning.at("text").get<std::string>());
  return out;
}

/// What accuracy and loss are to be compared with.
std::string constant_of(const RunRecord& run) {
  const auto accuracy = run.last("constant.accuracy"), loss = run.last("constant.loss");
  const auto prepared = run.last("constant.prepared_accuracy");
  std::string text;
  if (prepared)
    text += fmt::format(" The largest class is a share of about {} of the training records, by noisy counts.",
                        measured(*prepared));
  if (accuracy) text += fmt::format(" The largest class is a share of {} of data.eval.", measured(*accuracy));
  if (loss)
    text += fmt::format(" One score for all records of data.eval has a loss of {} at best.", measured(*loss));
  return text;
}

/// Once where it is the same for all runs.
std::string constants_of(const std::vector<RunRecord>& runs) {
  const std::string first = runs.empty() ? "" : constant_of(runs[0]);
  const bool same = std::ranges::all_of(runs, [&](const RunRecord& run) { return constant_of(run) == first; });
  if (same) return first.empty() ? "" : html::paragraph("To compare with:" + first);
  std::string out;
  for (const RunRecord& run : runs)
    if (const std::string text = constant_of(run); !text.empty())
      out += html::paragraph(fmt::format("{}: To compare with:{}", run.name, text));
  return out;
}

}  // namespace

std::string warnings_section(const std::vector<RunRecord>& runs) {
  std::string warnings;
  for (const RunRecord& run : runs) warnings += warnings_of(run, runs.size() > 1 ? run.name + ": " : "");
  return (warnings.empty() ? "" : html::heading("Warnings") + warnings) + constants_of(runs);
}

}  // namespace dpmpi
