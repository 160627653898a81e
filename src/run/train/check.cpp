#include "run/train/check.hpp"

#include <memory>

#include "comm/shared_heartbeats.hpp"
#include "core/console/log.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/train/read_inputs.hpp"
#include "run/train/watchdog.hpp"
#include "run/warnings/before_training.hpp"

namespace dpmpi {
namespace {

// What a training would say before its first step. Collective.
void warn_of_training(const Training& run) {
  if (run.public_data.records == 0 || run.config.prepare.on()) return;  // its columns are not scaled yet
  const Findings findings =
      look_before_training(run.comm, run.config, run.facts, *run.objective, run.public_records);
  for (const Warning& warning : findings.warnings) warn("{}", warning.text);
}

}  // namespace

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
  warn_of_training(*run);
  return {run->facts.data, run->public_data, run->plan.layout.blocks};
}

}  // namespace dpmpi
