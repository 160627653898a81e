#include "run/train/signals.hpp"

#include <csignal>
#include <ctime>
#include <initializer_list>

#include <unistd.h>

namespace dpmpi {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

volatile std::sig_atomic_t first_second = 0;

// Only flags, the clock and _exit: anything else is unsafe in a handler. A job manager may signal the launcher and
// the ranks, and the launcher forwards: what arrives within two seconds is the same request.
void on_signal(int number) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto second = static_cast<std::sig_atomic_t>(now.tv_sec);
  if (signals_seen == 0) {
    signals_seen = 1;
    first_second = second;
  } else if (second - first_second > 2) {
    _exit(128 + number);
  }
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
