// `dpmpi site`: what a site does in a run whose records are at sites that cannot be one job.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "run/sites/sites.hpp"

namespace dpmpi {
namespace {

struct SiteTyped {
  std::string action, from;
  std::int64_t site = 0;
  SiteStep files;
  std::vector<std::string> overrides;
  std::unique_ptr<RunConfig> config;
};

// Each action has options of its own.
void check_typed(const SiteTyped& typed) {
  if (typed.action != "join" && typed.action != "step")
    throw ConfigError(fmt::format("dpmpi site {}: allowed are join and step", typed.action));
  const bool joins = typed.action == "join";
  if (joins && typed.site == 0)
    throw ConfigError("dpmpi site join needs --site: which of data.shards is yours, from 1");
  if (joins && !typed.files.round.empty()) throw ConfigError("--round is an option of dpmpi site step");
  if (!joins && typed.files.round.empty())
    throw ConfigError("dpmpi site step needs --round: the file of the round, from the coordinator");
  if (!joins && typed.site != 0)
    throw ConfigError("--site is an option of dpmpi site join: the key says whose step it is");
}

}  // namespace

Command site_command() {
  const auto typed = std::make_shared<SiteTyped>();
  return {.name = "site",
          .forms = {{"dpmpi site join --config FILE --site S --key KEY --output FILE",
                     "makes this site's key, and the file by which it joins a run"},
                    {"[mpirun -n N] dpmpi site step --config FILE --key KEY --round FILE --output FILE",
                     "this site's part of a round, behind masks"}},
          .about =
              "For sites that cannot be one job: each runs one of its own for every step, and hands a file over.\n"
              "Guide: docs/guide/sites.md. The coordinator's side: dpmpi help round",
          .options = Options("")
                         .add("action", typed->action, "join or step")
                         .add("config", typed->from, "the configuration, the same at all sites")
                         .add("site", typed->site, "join: which of data.shards is this site's file, from 1",
                              Range::at_least(1))
                         .add("key", typed->files.key, "file of this site's secret key: it never leaves the site")
                         .add("round", typed->files.round, "step: the file of the round, from the coordinator")
                         .add("output", typed->files.output, "the file to hand over to the coordinator")
                         .add_each("set", typed->overrides, set_help),
          .arguments = {"action"},
          .needed = {"action", "config", "key", "output"},
          .on_all_ranks = [typed] { return typed->action == "step"; },
          .prepare =
              [typed] {
                check_typed(*typed);
                typed->config = std::make_unique<RunConfig>(typed->from, typed->overrides);
                check_for_sites(*typed->config);
              },
          .run =
              [typed](const Communicator& world) {
                if (typed->action == "join")
                  join_run(*typed->config, typed->site, typed->files.key, typed->files.output);
                else
                  step_at_site(world, *typed->config, typed->files);
                return printed();
              }};
}

}  // namespace dpmpi
