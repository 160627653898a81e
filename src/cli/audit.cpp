#include "cli/audit.hpp"

#include <filesystem>

#include <fmt/format.h>

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
  return text + (game.holds ? "" : "  ABOVE THE PROMISE");
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
  if (!plan.is_object() || plan.value("config_digest", nlohmann::json()) != config.digest())
    throw ConfigError(fmt::format(
        "{} was planned with other settings than these: an audit of a run takes --set audit.* only; for "
        "other settings use dpmpi audit --config FILE",
        run));
  if (config.privacy.seeded())
    throw PrivacyError(fmt::format(
        "{} drew its noise from privacy.seed, which anybody may know: it promises nothing that could be tested",
        run));
}

}  // namespace

int print_audit(const AuditReport& report, bool json) {
  if (json) {
    fmt::print("{}", report.json());
  } else {
    for (const GameResult& game : report.games) fmt::print("{:<12} {}\n", game.game, line_of(game));
    fmt::print("claimed      epsilon {} at delta {:.6g} under {}; all bounds hold with {:.6g} % confidence\n",
               rounded_up(report.epsilon), report.delta, report.adjacency, 100 * report.confidence);
  }
  if (report.holds()) return static_cast<int>(ExitCode::done);
  print_user("dpmpi: {} does not keep its promise: a bound lies above it, with {:.6g} % confidence\n",
             report.method, 100 * report.confidence);
  return static_cast<int>(ExitCode::privacy);
}

int run_audit(const Communicator& comm, const CommandLine& line) {
  const std::string run = line.arguments.empty() ? "" : line.arguments[0];
  const std::string path = run.empty() ? *line.config : run + "/config.ini";
  const ConfigOf whose = run.empty() ? ConfigOf::user : ConfigOf::run;
  if (!line.output.empty()) refuse_part_of_run(line.output);
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const RunConfig config(path, line.overrides, whose);
    if (!run.empty()) refuse_other_promise(run, config);
    verify_before_code(config);
    if (!line.output.empty()) keep_inputs(config, line.output);
  });
  set_log(LogLevel::error, comm.rank());  // thousands of runs would say what one run says
  const AuditReport report = audit(comm, path, line.overrides, line.quiet() || line.json, whose);
  int code = 0;
  if (comm.is_root()) {
    const std::string output = !line.output.empty() ? line.output : next_result(run);
    write_file(output_target(output), report.json());
    code = print_audit(report, line.json);
    if (!line.json) fmt::print("{}\n", output);
  }
  comm.broadcast(code);
  return code;
}

std::string audit_help() {
  return "mpirun -n N dpmpi audit --config FILE [--set section.key=value]... [--output FILE] [--json]\n"
         "mpirun -n N dpmpi audit RUN ...\n\n"
         "Tests the promise: runs the config's mechanism many times on datasets that differ in one record, lets an\n"
         "attacker who sees all releases guess which it was, and bounds epsilon from below by how often it is right.\n"
         "Training records are not read: other slots are empty, or hold the public records of data.eval. The result\n"
         "goes to audit.json (of a run: RUN/audit.json), or audit-2.json and so on: no result is overwritten. "
         "Exit code 4 if a bound lies above the promise.\n"
         "docs/guide/auditing.md says what the games show and what they do not.\n\n"
         "  --output         another file\n"
         "  --json           print the result as JSON\n";
}

}  // namespace dpmpi
