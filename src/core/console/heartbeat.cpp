#include "core/console/heartbeat.hpp"

#include <array>

namespace dpmpi {
namespace {

Heartbeat own;
Heartbeat* the_heartbeat = &own;

}  // namespace

const char* name(Stage stage) {
  constexpr std::array names{"start",  "reading data", "the run directory", "the ledger", "kernels",    "noise",
                             "update", "evaluation",   "the checkpoint",    "finish",     "an MPI call"};
  const auto i = static_cast<std::size_t>(stage);
  return i < names.size() ? names[i] : "?";
}

Heartbeat& heartbeat() { return *the_heartbeat; }

void place_heartbeat(Heartbeat* place) {
  Heartbeat& next = place ? *place : own;
  next.stage = the_heartbeat->stage.load();
  next.step = the_heartbeat->step.load();
  the_heartbeat = &next;
}

}  // namespace dpmpi
