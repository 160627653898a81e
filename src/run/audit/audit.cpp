// What an audit plays, and what it says of it.

#include "run/audit/audit.hpp"

#include "core/errors.hpp"
#include "privacy/promise/attacker_curve.hpp"
#include "run/audit/games.hpp"
#include "run/plan/settings_table.hpp"

namespace dpmpi {
void compare_with_promise(const AuditSetup& setup, GameResult& result) {
  if (result.false_alarms)
    result.allowed = attacker_curve(setup.plan.events(), setup.plan.adjacency, setup.plan.promise.guarantee,
                                    {*result.false_alarms})
                         .front();
  result.holds = result.bound <= setup.plan.epsilon() && (!result.found || *result.found <= *result.allowed);
}

AuditReport audit(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                  bool quiet, ConfigOf whose) {
  AuditSetup setup(world, path, overrides, whose);
  setup.announces = world.is_root() && !quiet;
  if (setup.announces) print_settings(setup.config, setup.facts, setup.plan, world.size());
  const std::string& chosen = setup.config.audit.game;
  const auto plays = [&](const char* game) { return chosen == "all" || chosen == game; };
  const double error = (1 - setup.config.audit.confidence) / (chosen == "all" ? 4 : 1);
  if (chosen == "canary" && setup.public_rows.empty())
    throw ConfigError("audit.game = canary needs public records: data.eval is not set");
  AuditReport report{setup.config.path(),
                     setup.config.digest(),
                     setup.config.method_name,
                     setup.config.objective_name,
                     std::string(name(setup.plan.adjacency)),
                     setup.plan.epsilon(),
                     setup.plan.delta(),
                     setup.config.audit.confidence,
                     setup.seed(),
                     setup.person_records,
                     {}};
  Records candidates;
  RecordPair pair;
  if (plays("distinguish") || plays("canary") || !setup.worst_objective()) pair = choose_pair(setup, candidates);
  if (plays("worst_case")) report.games.push_back(worst_case(setup, error));
  if (plays("distinguish")) report.games.push_back(distinguish(setup, {.name = "distinguish"}, pair, error));
  if (plays("canary"))
    report.games.push_back(distinguish(setup, {.name = "canary", .among_public = true}, pair, error));
  if (plays("one_run")) report.games.push_back(one_run(setup, pair, error));
  return report;
}

}  // namespace dpmpi
