#include "dpmpi/cli/report.hpp"

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/files.hpp"
#include "dpmpi/run/report.hpp"

namespace dpmpi {

int run_report(const CommandLine& line) {
  const auto& runs = line.arguments;
  const std::string page = report_html(runs, line.times);
  const std::string path =
      !line.output.empty() ? line.output : (runs.size() == 1 ? runs[0] + "/" : "") + "report.html";
  constexpr int of_all = 0644, of_owner = 0600;  // times are not to be published
  write_file(path, page, line.times ? of_owner : of_all);
  fmt::print("{}\n", path);
  return static_cast<int>(ExitCode::done);
}

}  // namespace dpmpi
