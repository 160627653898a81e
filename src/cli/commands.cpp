#include "cli/commands.hpp"

#include <cstdio>

#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi {

std::vector<Command> commands() {
  return {train_command(),    tune_command(),    resume_command(), site_command(),     round_command(),
          check_command(),    suggest_command(), plan_command(),   account_command(),  calibrate_command(),
          evaluate_command(), predict_command(), export_command(), sample_command(),   audit_command(),
          watch_command(),    report_command(),  verify_command(), generate_command(), convert_command(),
          inspect_command(),  list_command(),    help_command(),   version_command()};
}

int printed(int code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw DataError("cannot write to standard output");
  return code;
}

bool quiet() { return !logs(LogLevel::info); }

}  // namespace dpmpi
