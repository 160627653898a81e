#include "run/report/warnings_section.hpp"

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
std::string constant_of(const RunRecord& run, const std::string& name) {
  const auto accuracy = run.last("constant.accuracy"), loss = run.last("constant.loss");
  const auto prepared = run.last("constant.prepared_accuracy");
  std::string text;
  if (prepared)
    text += fmt::format(" The largest class is a share of about {} of the training records, by noisy counts.",
                        measured(*prepared));
  if (accuracy) text += fmt::format(" The largest class is a share of {} of data.eval.", measured(*accuracy));
  if (loss)
    text += fmt::format(" One score for all records of data.eval has a loss of {} at best.", measured(*loss));
  return text.empty() ? "" : html::paragraph(name + "To compare with:" + text);
}

}  // namespace

std::string warnings_section(const std::vector<RunRecord>& runs) {
  std::string warnings, constants;
  for (const RunRecord& run : runs) {
    const std::string name = runs.size() > 1 ? run.name + ": " : "";
    warnings += warnings_of(run, name);
    constants += constant_of(run, name);
  }
  return (warnings.empty() ? "" : html::heading("Warnings") + warnings) + constants;
}

}  // namespace dpmpi
