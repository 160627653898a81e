#include "cli/audit.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "data/formats/write.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/audit/audit.hpp"
#include "run/certify/named_code.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"

namespace dpmpi {
namespace {

std::string line_of(const GameResult& game) {
  if (!game.remark.empty()) return fmt::format("not played: {}", game.remark);
  std::string text = fmt::format("epsilon >= {:.4f}", game.bound);
  if (game.found)
    text += fmt::format("  finds {:.1f} % at {:.1f} % false alarms (promised: at most {:.1f} %)", 100 * *game.found,
                        100 * *game.false_alarms, 100 * *game.allowed);
  text += game.canaries > 0 ? fmt::format("  {} canaries in each of {} runs", game.canaries, game.runs)
                            : fmt::format("  {} runs; {}", game.runs, game.test);
  if (!game.holds) text += "  ABOVE THE PROMISE";
  if (game.curve_bound)
    text += fmt::format("\n  its curve  epsilon >= {:.4f}  noise times {:.3f} would promise this, and is refuted",
                        *game.curve_bound, *game.noise);
  return text;
}

/// Results are kept, because a certificate may speak of the first: audit.json, audit-2.json, ...
std::string next_result(const std::string& run) {
  const std::string place = run.empty() ? "" : run + "/";
  std::string path = place + "audit.json";
  for (int i = 2; std::filesystem::exists(path); ++i) path = fmt::format("{}audit-{}.json", place, i);
  return path;
}

/// A run is audited as it was: with the settings, and so the promise, of its plan.
void refuse_other_promise(const std::string& run, const RunConfig& config) {
  const auto plan = read_run_json(run + "/plan.json");
  if (!plan.is_object() || !config.has_digest(text_member(plan, "config_digest")))
    throw ConfigError(fmt::format(
        "{} was planned with other settings than these, or by a version of dpmpi with other options: an audit of a run "
        "takes --set audit.* only; for other settings use dpmpi audit --config FILE",
        run));
  if (config.privacy.seeded())
    throw PrivacyError(fmt::format(
        "{} drew its noise from privacy.seed, which anybody may know: it promises nothing that could be tested",
        run));
}

struct AuditRequest {
  std::string config, run, output;
  std::vector<std::string> overrides;
  bool json = false;
};

/// Collective; the root prints and writes. The exit code is 4 if a bound lies above what is promised.
int run_audit(const Communicator& comm, const AuditRequest& typed) {
  const std::string& run = typed.run;
  const std::string path = run.empty() ? typed.config : run + "/config.ini";
  const ConfigOf whose = run.empty() ? ConfigOf::user : ConfigOf::run;
  if (!typed.output.empty()) refuse_part_of_run(typed.output);
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const RunConfig config(path, typed.overrides, whose);
    if (!run.empty()) refuse_other_promise(run, config);
    if (config.data.test_share > 0 && !typed.json && !quiet())
      print_user(
          "data.test_share: games are about the training; the counts of held-out records are not played against\n");
    verify_before_code(config);
    const DataFiles files = config.find_files();
    if (!run.empty()) check_file_of_models(Communicator::alone(), run, files.models);
    if (!typed.output.empty()) keep_inputs(config, files, typed.output);
  });
  const bool silent = quiet() || typed.json;
  set_log(LogLevel::error, comm.rank());  // thousands of runs would say what one run says
  const AuditReport report = audit(comm, path, typed.overrides, silent, whose);
  int code = 0;
  if (comm.is_root()) {
    const std::string output = !typed.output.empty() ? typed.output : next_result(run);
    write_file(output_target(output), report.json());
    code = print_audit(report, typed.json);
    if (!typed.json) fmt::print("{}\n", output);
  }
  comm.broadcast(code);
  return printed(code);
}

}  // namespace

int print_audit(const AuditReport& report, bool json) {
  if (json) {
    fmt::print("{}", report.json());
  } else {
    for (const GameResult& game : report.games) fmt::print("{:<12} {}\n", game.game, line_of(game));
    if (report.person_records > 1) fmt::print("canaries     persons of {} equal records\n", report.person_records);
    fmt::print("claimed      epsilon {} at delta {:.6g} under {}; all bounds hold with {:.6g} % confidence\n",
               rounded_up(report.epsilon), report.delta, report.adjacency, 100 * report.confidence);
  }
  if (report.holds()) return static_cast<int>(ExitCode::done);
  print_user("dpmpi: {} does not keep its promise: a bound lies above it, with {:.6g} % confidence\n",
             report.method, 100 * report.confidence);
  return static_cast<int>(ExitCode::privacy);
}

Command audit_command() {
  const auto typed = std::make_shared<AuditRequest>();
  return {
      .name = "audit",
      .forms = {{"mpirun -n N dpmpi audit --config FILE | RUN",
                 "plays against the mechanism: lower bounds on its epsilon"}},
      .about =
          "Tests the promise: runs the config's mechanism many times on datasets that differ in one record, lets an\n"
          "attacker who sees all releases guess which it was, and bounds epsilon from below by how often it is right.\n"
          "Guesses of many canaries also test the whole promised curve: how much more noise could not explain them.\n"
          "Training records are not read: other slots are empty, or hold the public records of data.eval. The result\n"
          "goes to audit.json (of a run: RUN/audit.json), or audit-2.json and so on: no result is overwritten. "
          "Exit code 4 if a bound lies above the promise.\n"
          "docs/guide/auditing.md says what the games show and what they do not.",
      .options = Options("")
                     .add("config", typed->config, "the configuration")
                     .add("run", typed->run, "in place of --config: a run directory")
                     .add_each("set", typed->overrides, set_help)
                     .add("output", typed->output, "another file")
                     .add("json", typed->json, "print the result as JSON"),
      .arguments = {"run"},
      .on_all_ranks = [] { return true; },
      .prepare =
          [typed] {
            if (typed->config.empty() == typed->run.empty())
              throw ConfigError("dpmpi audit needs --config FILE, or the directory of a run");
          },
      .run = [typed](const Communicator& world) { return run_audit(world, *typed); }};
}

}  // namespace dpmpi
