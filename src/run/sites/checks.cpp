// Which runs can be made by sites.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "run/sites/sites.hpp"

namespace dpmpi {

void check_for_sites(const RunConfig& config) {
  std::vector<std::string> problems;
  const auto refuse = [&](bool wrong, const char* why) {
    if (wrong) problems.emplace_back(why);
  };
  refuse(config.data.shards.size() < 2, "data.shards: name the file of each site, of two or more");
  refuse(!config.is_private(), "privacy.noise = none: sites' sums are released with noise only");
  refuse(config.privacy.trust != "root", "privacy.trust = cluster: sites do not see each other's sums (root)");
  refuse(config.data.test_share > 0, "data.test_share: sites hold no records out; use data.eval");
  refuse(config.prepare.on(), "data.prepare: sites count no columns; name scales in data.columns");
  refuse(config.tunes(), "tune.search: the settings are chosen in one job only");
  refuse(config.training() != nullptr,
         "objective.trainer: models on a second private set are trained in one job only");
  refuse(config.library() != nullptr,
         "objective.library, objective.module: no code of the config's is run by sites");
  refuse(!config.audit.result.empty(), "audit.result: an audit is of a run of one job");
  refuse(!config.automatic().empty(),
         "settings that are auto: let dpmpi suggest give numbers, the same for all sites");
  if (!problems.empty())
    throw ConfigError(
        fmt::format("{}: a run of several sites cannot have\n  {}", config.path(), fmt::join(problems, "\n  ")));
}

void check_for_sites(const Plan& plan, const std::string& method) {
  const bool one = plan.queries.size() == 1;
  const Query* const query = one ? &plan.queries.front() : nullptr;
  const bool sums = one && (query->as<Sum>() || query->as<RunningSum>()) && query->parts.empty() &&
                    query->worker_noise == 0 && query->steps == plan.steps && query->schedule.times == 1 &&
                    query->schedule.period == 1;
  if (!sums)
    throw ConfigError(fmt::format(
        "method.name = {}: sites can make a run in which every step is one sum over the records and its "
        "iterate is released, as of dp-sgd and dp-ftrl; others keep what is secret between their sums",
        method));
}

}  // namespace dpmpi
