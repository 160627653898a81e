// `dpmpi train`, `dpmpi tune`, which chooses settings as well, and `dpmpi resume`, which goes on with either.

#include <optional>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/search.hpp"
#include "comm/session.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "run/directory/directory.hpp"
#include "run/suggest/suggest.hpp"
#include "run/train/signals.hpp"
#include "run/train/train.hpp"

namespace dpmpi {
namespace {

struct TrainRequest {
  std::string from;  ///< config or run
  std::vector<std::string> overrides, searches;
  std::unique_ptr<RunConfig> config;
};

/// Checked as a whole.
void read_config(TrainRequest& typed, const std::string& path, ConfigOf whose) {
  if (quiet()) typed.overrides.emplace_back("report.progress=none");
  typed.config = std::make_unique<RunConfig>(path, typed.overrides, whose);
}

/// Collective.
int run_training(const Communicator& world, TrainRequest& typed, const std::optional<std::string>& resume = {}) {
  catch_stop_signals();
  settle(world, typed.config, typed.overrides);
  const RunConfig& config = *typed.config;
  show_progress(world.is_root() ? config.report.progress : "none");
  return static_cast<int>(train(world, config, {.resume = resume, .quiet = quiet()}));
}

}  // namespace

Command train_command() {
  const auto typed = std::make_shared<TrainRequest>();
  return {
      .name = "train",
      .forms = {{"mpirun -n N dpmpi --config FILE [--set section.key=value]...", "train; same as dpmpi train ..."}},
      .about =
          "Trains a model into a new run directory, whose name is the last line of its output.\n"
          "Settings: dpmpi help run | data | objective | method | privacy | report",
      .options =
          Options("").add("config", typed->from, "the configuration").add_each("set", typed->overrides, set_help),
      .needed = {"config"},
      .on_all_ranks = [] { return true; },
      .prepare = [typed] { read_config(*typed, typed->from, ConfigOf::user); },
      .run = [typed](const Communicator& world) { return run_training(world, *typed); }};
}

Command tune_command() {
  const auto typed = std::make_shared<TrainRequest>();
  return {
      .name = "tune",
      .forms = {{"mpirun -n N dpmpi tune --config FILE --search method.key=value,value,...",
                 "train, with settings that are chosen in private"}},
      .about =
          "Trains a secret number of models with settings among those listed, and keeps the best. What that costs is\n"
          "in the promise: the larger part of epsilon. Settings from public numbers cost nothing (dpmpi suggest): take\n"
          "these first. Further settings: dpmpi help tune",
      .options = Options("")
                     .add("config", typed->from, "the configuration")
                     .add_each("search", typed->searches, search_help)
                     .add_each("set", typed->overrides, set_help),
      .needed = {"config"},
      .on_all_ranks = [] { return true; },
      .prepare =
          [typed] {
            apply_searches(typed->searches, typed->overrides);
            read_config(*typed, typed->from, ConfigOf::user);
            if (!typed->config->tunes())
              throw ConfigError(fmt::format(
                  "{} lists no settings to choose among (tune.search): add --search method.key=value,value,...",
                  typed->from));
          },
      .run = [typed](const Communicator& world) { return run_training(world, *typed); }};
}

Command resume_command() {
  const auto typed = std::make_shared<TrainRequest>();
  return {
      .name = "resume",
      .forms = {{"mpirun -n N dpmpi resume RUN", "goes on with a stopped or killed run, on any number of ranks"}},
      .about = "Goes on from the newest checkpoint. Settings of [run] and [report] and data.root may be changed.",
      .options =
          Options("").add("run", typed->from, "the run directory").add_each("set", typed->overrides, set_help),
      .arguments = {"run"},
      .needed = {"run"},
      .on_all_ranks = [] { return true; },
      .prepare =
          [typed] {
            read_config(*typed, typed->from + "/config.ini", ConfigOf::run);
            if (launcher_rank() == 0) refuse_finished(typed->from, typed->config->run.keep_key);
          },
      .run = [typed](const Communicator& world) { return run_training(world, *typed, typed->from); }};
}

}  // namespace dpmpi
