#include "run/train/check.hpp"

#include <memory>

#include "comm/shared_heartbeats.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/train/read_inputs.hpp"
#include "run/train/watchdog.hpp"

namespace dpmpi {

CheckedInputs check_inputs(const Communicator& comm, const RunConfig& config) {
  const SharedHeartbeats heartbeats(comm);
  const Watchdog watchdog(heartbeats.ranks(), config.run.timeout_s);
  const TrainOptions options;
  Problems problems;
  problems.attempt([&] { refuse_place(comm, config); });
  std::unique_ptr<Training> run;
  problems.attempt([&] { run = std::make_unique<Training>(comm, config, options); });
  if (run) {
    comm.agree(run->program.digest, "the program");
    look_at_inputs(*run, problems);
    read_inputs(*run, problems);
    problems.attempt([&] { throw_on_all_ranks(comm, [&] { run->stamps.check(); }); });
  }
  problems.raise();
  return {run->facts.data, run->public_data, run->plan.layout.blocks};
}

}  // namespace dpmpi
