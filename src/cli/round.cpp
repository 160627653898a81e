// `dpmpi round`: what the coordinator does in a run whose records are at sites that cannot be one job.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "run/sites/sites.hpp"

namespace dpmpi {
namespace {

struct RoundTyped {
  std::string action, from, run;
  std::vector<std::string> files, overrides;
  std::vector<std::int64_t> without;
};

// Each action has options of its own.
void check_typed(const RoundTyped& typed) {
  const std::string& action = typed.action;
  const bool opens = action == "open", combines = action == "combine", repeats = action == "repeat";
  if (!opens && !combines && !repeats)
    throw ConfigError(fmt::format("dpmpi round {}: allowed are open, combine and repeat", action));
  if (opens && typed.from.empty())
    throw ConfigError("dpmpi round open needs --config: the configuration of all sites");
  if (!opens && typed.run.empty())
    throw ConfigError(fmt::format("dpmpi round {} needs --run: the run directory", action));
  if (!repeats && typed.files.empty())
    throw ConfigError(fmt::format("dpmpi round {} needs the files that the sites have handed over", action));
  if (repeats && !typed.files.empty()) throw ConfigError("dpmpi round repeat takes no files: sites make new ones");
  if (!repeats && !typed.without.empty()) throw ConfigError("--without is an option of dpmpi round repeat");
  if (opens && !typed.run.empty())
    throw ConfigError("dpmpi round open takes the run directory from run.dir, not --run");
  if (!opens && !(typed.from.empty() && typed.overrides.empty()))
    throw ConfigError(
        fmt::format("dpmpi round {} takes the settings from the run, not from --config or --set", action));
}

}  // namespace

Command round_command() {
  const auto typed = std::make_shared<RoundTyped>();
  return {
      .name = "round",
      .forms = {{"dpmpi round open --config FILE JOIN...", "begins a run of the sites that have joined"},
                {"dpmpi round combine --run RUN PART...",
                 "the step that the sites' parts make; then the next round"},
                {"dpmpi round repeat --run RUN [--without S,...]", "asks again, without sites that are gone"}},
      .about =
          "For sites that cannot be one job: the coordinator adds their parts, with the run's noise in the sum, and\n"
          "has ledger, model and certificate. The last line of the output is the file of the next round, or the\n"
          "run directory. Guide: docs/guide/sites.md. The sites' side: dpmpi help site",
      .options = Options("")
                     .add("action", typed->action, "open, combine or repeat")
                     .add_each("files", typed->files, "the files that the sites have handed over")
                     .add("config", typed->from, "open: the configuration, the same as the sites'")
                     .add("run", typed->run, "combine, repeat: the run directory")
                     .add("without", typed->without, "repeat: numbers of sites to go on without, from 1",
                          Range::at_least(1))
                     .add_each("set", typed->overrides, set_help),
      .arguments = {"action", "files"},
      .needed = {"action"},
      .prepare = [typed] { check_typed(*typed); },
      .run =
          [typed](const Communicator&) {
            if (typed->action == "open")
              open_run_of_sites(RunConfig(typed->from, typed->overrides), typed->files);
            else if (typed->action == "combine")
              combine_round(typed->run, typed->files, quiet());
            else
              repeat_round(typed->run, typed->without);
            return printed();
          }};
}

}  // namespace dpmpi
