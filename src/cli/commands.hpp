#pragma once
// The table of commands: of each its words, its options and what it does. The parser, the help, the manual page,
// the reference and the completion follow from that.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/options.hpp"

namespace dpmpi {

struct Command {
  struct Form {
    std::string typed, does;  ///< "dpmpi verify RUN", and in a line what that does
  };
  std::string name;
  std::vector<Form> forms;
  std::string about = {};         ///< what else help says
  Options options = Options("");  ///< of no section: "eval_records" is typed --eval-records
  /// Options that may be typed without their names, in this order.
  std::vector<std::string> arguments = {};
  std::vector<std::string> needed = {};
  /// Whether MPI is needed. A command that needs none is run by the first process alone, before MPI starts.
  std::function<bool()> on_all_ranks = [] { return false; };
  /// Finds what is wrong, on every process that will run it, before MPI starts. Throws Error.
  std::function<void()> prepare = [] {};
  /// Returns the exit code; throws Error. Collective if it is on all ranks.
  std::function<int(const Communicator& world)> run;
};

/// All commands as nobody has typed them yet, in the order in which help shows them.
std::vector<Command> commands();

/// Each in a file of its own.
Command train_command();
Command tune_command();
Command resume_command();
Command site_command();
Command round_command();
Command check_command();
Command suggest_command();
Command plan_command();
Command account_command();
Command calibrate_command();
Command evaluate_command();
Command predict_command();
Command export_command();
Command sample_command();
Command audit_command();
Command watch_command();
Command report_command();
Command verify_command();
Command generate_command();
Command convert_command();
Command inspect_command();
Command list_command();
Command help_command();
Command version_command();

/// What commands have in common.
inline constexpr const char* set_help = "section.key=value in place of what the config says; as often as needed";

/// The exit code of a command whose answer is what it prints, once that has left the program. Throws DataError.
int printed(int code = 0);

/// True if only warnings and errors are said.
bool quiet();

}  // namespace dpmpi
