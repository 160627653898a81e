#include "dpmpi/run/signals.hpp"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace dpmpi {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

// Only flags and _exit: anything else is unsafe in a handler.
void on_signal(int number) {
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) _exit(128 + number);
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGUSR1, SIGTERM, SIGINT}) sigaction(number, &action, nullptr);
}

bool stop_signalled() { return signals_seen > 0; }

}  // namespace dpmpi
