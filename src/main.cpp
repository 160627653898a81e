// dpmpi: the program. A recipe in five steps.

#include <chrono>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>

#include "cli/audit.hpp"
#include "cli/command_line.hpp"
#include "cli/evaluate.hpp"
#include "cli/plan.hpp"
#include "comm/session.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/secrecy.hpp"
#include "run/config/config.hpp"
#include "run/directory/directory.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/train/signals.hpp"
#include "run/train/train.hpp"

namespace {

// Before MPI starts every process meets the same error; the first one prints it, and its exit ends the others while
// they wait here: a process that left at once could have the launcher end the first before it spoke. One that is
// alone with its error speaks after the wait.
int fail_early(const char* kind, const char* message, dpmpi::ExitCode code) {
  if (dpmpi::launcher_rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  dpmpi::print_user("dpmpi: {}: {}\n", dpmpi::painted(dpmpi::Colour::red, kind), message);
  return static_cast<int>(code);
}

// The exit code of a command whose answer is what it prints, once that has left the program.
int printed(int code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw dpmpi::DataError("cannot write to standard output");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dpmpi;
  CommandLine line;
  TrainOptions options;
  std::unique_ptr<RunConfig> config;
  forbid_core_dumps();  // before there is anything to keep secret
  try {
    // 1. What is asked for?
    line = parse_command_line(argc, argv);
    set_log(line.level, launcher_rank());
    if (launcher_rank() == 0 && !line.quiet()) show_progress("auto");

    // 2. What needs no other rank is answered by the first process, before MPI starts.
    if (launcher_rank() == 0 || line.parallel()) {
      if (const auto code = run_alone(line)) return printed(*code);
    } else {
      return 0;
    }

    // 3. The configuration, checked as a whole.
    if (line.command == "resume") options.resume = line.arguments[0];
    if (line.on_trained_model()) {
      config = config_of_run(line.arguments[0], line.data, line.overrides);
    } else if (line.command != "audit") {
      const std::string path = options.resume ? *options.resume + "/config.ini" : *line.config;
      config = std::make_unique<RunConfig>(path, line.overrides, options.resume ? ConfigOf::run : ConfigOf::user);
    }
    if (options.resume && launcher_rank() == 0) refuse_finished(*options.resume, config->run.keep_key);
    options.quiet = line.quiet();
    if (options.quiet && config) config->report.progress = "none";
  } catch (const Error& e) {
    return fail_early(e.kind(), e.what(), e.code());
  } catch (const std::system_error& e) {  // the system's refusal: a path, a disk, a closed pipe
    return fail_early("data error", e.what(), ExitCode::data);
  } catch (const std::exception& e) {
    return fail_early("internal error (please report)", e.what(), ExitCode::bug);
  }

  // 4. MPI, and signals that ask for a stop.
  try {
    Session session(argc, argv);
    if (line.command != "audit") catch_stop_signals();  // an audit has nothing to save

    // 5. Train, or what else takes all ranks. An error on any rank ends the whole job with its exit code.
    return session.run([&](const Communicator& world) {
      set_log(line.level, world.rank());
      const bool trains = line.command == "train" || line.command == "resume";
      show_progress(!world.is_root() || line.quiet() ? "none" : trains ? config->report.progress : "auto");
      if (line.measure) return printed(show_plan(world, line));
      if (line.command == "audit") return printed(run_audit(world, line));
      if (line.command == "evaluate") return printed(show_evaluation(world, line, *config));
      if (line.command == "predict") return run_predict(world, line, *config);
      return static_cast<int>(train(world, *config, options));
    });
  } catch (const Error& e) {
    return fail_early(e.kind(), e.what(), e.code());
  }
}
