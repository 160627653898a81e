#pragma once
// Stop requests from outside: SIGUSR1, SIGTERM and SIGINT ask for a checkpoint at the next step; a second one ends
// at once.

namespace dpmpi {

void catch_stop_signals();
bool stop_signalled();

}  // namespace dpmpi
