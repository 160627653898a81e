// dpmpi: the program. Finds the command that was typed and runs it, on as many ranks as it needs.

#include <csignal>
#include <exception>

#include "cli/command_line.hpp"
#include "comm/session.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/secrecy.hpp"

int main(int argc, char** argv) {
  using namespace dpmpi;
  forbid_core_dumps();            // before there is anything to keep secret
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit then is a failed write with a message, no death without one
  CommandLine line;
  try {
    line = parse_command_line(argc, argv);
    set_log(line.level, launcher_rank());
    show_progress(launcher_rank() == 0 && !quiet() ? "auto" : "none");
    if (!line.command.on_all_ranks() && launcher_rank() > 0) return 0;
    line.command.prepare();
    if (!line.command.on_all_ranks()) return line.command.run(Communicator::alone());
  } catch (...) {
    return report_before_mpi(std::current_exception());
  }
  try {
    Session session(argc, argv);
    return session.run([&](const Communicator& world) {
      set_log(line.level, world.rank());
      show_progress(world.is_root() && !quiet() ? "auto" : "none");
      return line.command.run(world);
    });
  } catch (...) {
    return report_before_mpi(std::current_exception());
  }
}
