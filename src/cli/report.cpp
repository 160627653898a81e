#include "cli/report.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/report/report.hpp"

namespace dpmpi {

namespace {

/// What is replaced has to be a page.
void refuse_other_file(const std::string& path) {
  constexpr std::string_view beginning = "<!DOCTYPE html>";
  if (!std::filesystem::exists(path)) return;
  FileReader file(path);
  std::string found(std::min<std::uint64_t>(beginning.size(), file.left()), '\0');
  file.read(found);
  if (found != beginning)
    throw ConfigError(fmt::format("{} is there, and is no report: give another name for the output", path));
}

}  // namespace

int run_report(const CommandLine& line) {
  const std::vector<std::string> runs = distinct_runs(line.arguments);
  const std::string path =
      !line.output.empty() ? line.output : (runs.size() == 1 ? runs[0] + "/" : "") + "report.html";
  constexpr int of_all = 0644, of_owner = 0600;  // times are not to be published
  refuse_part_of_run(path);
  refuse_other_file(path);
  const std::string page = report_html(runs, line.times);
  write_file(output_target(path), page, line.times ? of_owner : of_all);
  fmt::print("{}\n", path);
  return static_cast<int>(ExitCode::done);
}

}  // namespace dpmpi
