#pragma once
// Runs a command on a terminal of its own, as in a user's window.

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

namespace dpmpi::test {

/// What `command`, run by the shell for at most a minute, writes to a terminal of 200 columns.
inline std::string terminal_output(const std::string& command) {
  winsize size{};
  size.ws_col = 200;
  size.ws_row = 50;
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) return "forkpty failed";
  if (child == 0) {
    execl("/usr/bin/env", "env", "timeout", "--foreground", "-k", "5", "60", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::string output;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = read(terminal, buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<std::size_t>(got));
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  return output;
}

}  // namespace dpmpi::test
