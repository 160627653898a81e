#include "run/train/train.hpp"

#include "comm/shared_heartbeats.hpp"
#include "core/console/heartbeat.hpp"
#include "core/console/print.hpp"
#include "core/console/progress.hpp"
#include "core/fault.hpp"
#include "run/train/stop_requests.hpp"
#include "run/train/training.hpp"
#include "run/train/watchdog.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t compare_every = 50;  // steps

// All steps that are left, or until the run is asked to stop.
ExitCode take_steps(Training& run) {
  const std::uint64_t total = run.plan.steps;
  const auto checkpoint_every = static_cast<std::uint64_t>(run.config.run.checkpoint_every);
  Progress progress("training", total, "steps", run.next, !run.plan.hides_times());
  run.started = Training::Clock::now();
  StopRequests requests(run.config.run, run.root != nullptr);
  const InStage stage(Stage::update);
  while (run.next < total) {
    heartbeat().step = run.next;
    heartbeat().beat();
    fault_point("step");
    if (requests.seen()) run.curator->request_stop();
    run.algorithm->step(*run.curator, run.next);
    ++run.next;

    const bool stop = run.curator->stop_agreed() && run.next < total;
    const bool checkpoint = checkpoint_every > 0 && run.next % checkpoint_every == 0 && run.next < total;
    if (run.next % compare_every == 0) run.compare_replicas();
    if (run.evaluation_due()) run.evaluate();
    if (checkpoint || stop) run.save_checkpoint();
    if (progress.reached(run.next)) progress.show(run.note());
    if (stop) {
      if (run.root)
        print_user("stopped after step {} of {} with a checkpoint ({}); go on with: dpmpi resume {}\n", run.next,
                   total, requests.reason(), run.root->place.path);
      return ExitCode::stopped;
    }
  }
  return ExitCode::done;
}

}  // namespace

ExitCode train(const Communicator& comm, const RunConfig& config, const TrainOptions& options) {
  const SharedHeartbeats heartbeats(comm);
  const Watchdog watchdog(heartbeats.ranks(), config.run.timeout_s);
  const auto run = prepare(comm, config, options);
  // ---------------- training begins ----------------
  const ExitCode end = take_steps(*run);
  // ---------------- training ends ------------------
  if (end == ExitCode::done) finish(*run);
  return end;
}

}  // namespace dpmpi
