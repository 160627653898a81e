#include <fmt/format.h>

#include "cli/command_line.hpp"
#include "cli/plan.hpp"
#include "cli/report.hpp"
#include "cli/tools.hpp"
#include "comm/communicator.hpp"

namespace dpmpi {
std::optional<int> run_alone(const CommandLine& line) {
  if (line.command == "help") {
    fmt::print("{}", line.arguments.empty() ? usage() : help_topic(line.arguments[0]));
    return 0;
  }
  if (line.command == "version") {
    fmt::print("dpmpi {}\n", DPMPI_VERSION);
    return 0;
  }
  if (line.command == "list") {
    fmt::print("{}", list_text(line.arguments.empty() ? "" : line.arguments[0]));
    return 0;
  }
  if (line.command == "plan" && !line.measure) return show_plan(Communicator::alone(), line);
  if (line.command == "generate") return run_generate(line.rest);
  if (line.command == "convert") return run_convert(line.rest);
  if (line.command == "account") return run_account(line.rest);
  if (line.command == "calibrate") return run_calibrate(line.rest);
  if (line.command == "verify") return run_verify(line.rest);
  if (line.command == "report") return run_report(line);
  return std::nullopt;
}

}  // namespace dpmpi
