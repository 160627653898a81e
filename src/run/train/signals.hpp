#pragma once
// Stop requests from outside: SIGUSR1, SIGTERM and SIGINT ask for a checkpoint at the next step; one that comes
// more than two seconds after the first ends the process at once.

namespace dpmpi {

void catch_stop_signals();
bool stop_signalled();

}  // namespace dpmpi
