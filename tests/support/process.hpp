#pragma once
// Runs a command as a user would and looks at what comes back.

#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace dpmpi::test {

struct Outcome {
  int code = -1;       ///< exit code; 128 + signal if killed; 124 or 137 if it hung
  std::string output;  ///< standard output and error
  double seconds = 0;
};

/// `command` by the shell, ended after `limit` seconds. The shell survives SIGTERM, so that what does not, killed
/// five seconds later, cannot keep the pipe open.
inline Outcome run_command(const std::string& command, int limit = 60) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  const std::string line =
      "timeout -k 5 " + std::to_string(limit) + " sh -c 'trap : TERM; " + command + "' 2>&1 </dev/null";
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return outcome;
  std::array<char, 4096> buffer;
  while (const std::size_t got = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace dpmpi::test
