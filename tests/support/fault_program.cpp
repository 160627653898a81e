// dpmpi with one fault: `fault_program FAULT CONFIG|RUN [section.key=value]...`. A folder is gone on with.
//
// FAULT is POINT[:PATH]@RANK#N=ACTION: at the N-th passage (from 1) of that point of the program (see fault_point),
// on that rank ("any": on each), for files whose path contains PATH. "none" is no fault; nor is "peak", which
// prints the peak resident memory of the process at the end. ACTION is one of
//   throw          an exception
//   kill           SIGKILL to this rank         killall   to all ranks         killmpirun   to the launcher
//   stop           SIGSTOP to this rank         hang      sleeps for ever
//   usr1, term     a signal to this rank, twice with 3 s between: usr1usr1
//   touch=FILE     writes to that file               replace=FILE   puts a copy in its place, as editors do
//   link=FILE      gives it a second name, FILE~
//   small          limits the size of files, as ulimit -f does (Open MPI could not start under one)
//   ENOSPC, EROFS, EIO, ENOLCK   the file operation fails, there and from then on

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/session.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "run/train/signals.hpp"
#include "run/train/train.hpp"

namespace dpmpi {
namespace {

struct Fault {
  std::string point, path, action;
  unsigned long when = 0, passed = 0;
  bool here = false;
} fault;

Fault parse(const std::string& text, int rank) {
  Fault f;
  if (text == "none") return f;
  const std::size_t at = text.find('@'), hash = text.find('#'), equals = text.find('=');
  f.point = text.substr(0, at);
  if (const std::size_t colon = f.point.find(':'); colon != f.point.npos)
    f.path = f.point.substr(colon + 1), f.point.resize(colon);
  const std::string who = text.substr(at + 1, hash - at - 1);
  f.here = who == "any" || std::stoi(who) == rank;
  f.when = std::stoul(text.substr(hash + 1, equals - hash - 1));
  f.action = text.substr(equals + 1);
  return f;
}

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// The launcher's other children are the other ranks.
void kill_all() {
  std::ifstream children("/proc/" + std::to_string(getppid()) + "/task/" + std::to_string(getppid()) + "/children");
  for (pid_t child; children >> child;)
    if (child != getpid()) kill(child, SIGKILL);
  kill(getpid(), SIGKILL);
}

int act() {
  const std::string& action = fault.action;
  if (action == "throw") throw std::runtime_error("injected fault in " + fault.point);
  if (action == "kill") kill(getpid(), SIGKILL);
  if (action == "killall") kill_all();
  if (action == "killmpirun") kill(getppid(), SIGKILL);
  if (action == "stop") kill(getpid(), SIGSTOP);
  if (action == "usr1" || action == "usr1usr1") kill(getpid(), SIGUSR1);
  if (action == "term") kill(getpid(), SIGTERM);
  if (action == "usr1usr1") sleep_for(3500), kill(getpid(), SIGUSR1);
  while (action == "hang") sleep_for(1000);
  if (action.starts_with("touch=")) std::ofstream(action.substr(6), std::ios::app) << "0\n";
  if (action == "small") {
    const rlimit nothing{100, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &nothing);
  }
  if (action.starts_with("replace=")) {
    const std::string file = action.substr(8);
    std::filesystem::copy_file(file, file + "~");
    std::filesystem::rename(file + "~", file);
  }
  if (action.starts_with("link=")) std::filesystem::create_hard_link(action.substr(5), action.substr(5) + "~");
  return 0;
}

int error_number() {
  return fault.action == "ENOSPC"   ? ENOSPC
         : fault.action == "EROFS"  ? EROFS
         : fault.action == "EIO"    ? EIO
         : fault.action == "ENOLCK" ? ENOLCK
                                    : 0;
}

int hook(const char* where, const char* path) {
  if (!fault.here || fault.point != where || std::string(path).find(fault.path) == std::string::npos) return 0;
  if (++fault.passed == fault.when) act();
  return fault.passed >= fault.when ? error_number() : 0;  // a disk that is full stays full
}

void print_peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) fmt::print(stderr, "peak resident memory: {} kB\n", std::stol(line.substr(6)));
}

int run(int argc, char** argv) {
  const std::string target = argv[2];
  const bool resume = std::filesystem::is_directory(target);
  std::vector<std::string> settings(argv + 3, argv + argc);
  settings.emplace_back("report.progress=none");
  const RunConfig config(resume ? target + "/config.ini" : target, settings);
  TrainOptions options{.quiet = true};
  if (resume) options.resume = target;
  Session session(argc, argv);
  catch_stop_signals();
  fault = parse(argv[1], session.world().rank());
  set_fault_hook(hook);
  const int code =
      session.run([&](const Communicator& world) { return static_cast<int>(train(world, config, options)); });
  if (std::getenv("SHOW_PEAK") != nullptr) print_peak_memory();
  if (std::getenv("SHOW_DUMPABLE") != nullptr) fmt::print(stderr, "dumpable: {}\n", prctl(PR_GET_DUMPABLE));
  return code;
}

}  // namespace
}  // namespace dpmpi

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  std::signal(SIGXFSZ, SIG_IGN);  // as main.cpp does
  try {
    return dpmpi::run(argc, argv);
  } catch (const dpmpi::Error& e) {  // before MPI starts
    fmt::print(stderr, "dpmpi: {}\n", e.what());
    return static_cast<int>(e.code());
  }
}
