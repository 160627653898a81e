// What an audit plays, and what it says of it.

#include "run/audit/audit.hpp"

#include "core/errors.hpp"
#include "privacy/promise/attacker_curve.hpp"
#include "run/audit/games.hpp"
#include "run/plan/settings_table.hpp"

namespace dpmpi {
void judge(const AuditGround& ground, GameResult& result) {
  if (result.false_alarms)
    result.allowed = attacker_curve(ground.plan.events(), ground.plan.adjacency, ground.plan.promise.guarantee,
                                    {*result.false_alarms})
                         .front();
  result.holds = result.bound <= ground.plan.epsilon() && (!result.found || *result.found <= *result.allowed);
}

AuditReport audit(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                  bool quiet, ConfigOf whose) {
  AuditGround ground(world, path, overrides, whose);
  ground.announces = world.is_root() && !quiet;
  if (ground.announces) print_settings(ground.config, ground.facts, ground.plan, ground.layout, world.size());
  const std::string& chosen = ground.config.audit.game;
  const auto plays = [&](const char* game) { return chosen == "all" || chosen == game; };
  const double error = (1 - ground.config.audit.confidence) / (chosen == "all" ? 4 : 1);
  if (chosen == "canary" && ground.public_rows.empty())
    throw ConfigError("audit.game = canary needs public records: data.eval is not set");
  AuditReport report{ground.config.path(),
                     ground.config.digest(),
                     ground.config.method_name,
                     ground.config.objective_name,
                     std::string(name(ground.plan.adjacency)),
                     ground.plan.epsilon(),
                     ground.plan.delta(),
                     ground.config.audit.confidence,
                     ground.seed(),
                     {}};
  Records candidates;
  RecordPair pair;
  if (plays("distinguish") || plays("canary") || !ground.worst_objective()) pair = choose_pair(ground, candidates);
  if (plays("worst_case")) report.games.push_back(worst_case(ground, error));
  if (plays("distinguish")) report.games.push_back(distinguish(ground, {.name = "distinguish"}, pair, error));
  if (plays("canary"))
    report.games.push_back(distinguish(ground, {.name = "canary", .among_public = true}, pair, error));
  if (plays("one_run")) report.games.push_back(one_run(ground, pair, error));
  return report;
}

}  // namespace dpmpi
