#include <algorithm>

#include <nlohmann/json.hpp>

#include "run/audit/audit.hpp"

namespace dpmpi {

bool AuditReport::holds() const {
  return std::ranges::all_of(games, [](const GameResult& game) { return game.holds; });
}

double AuditReport::bound() const {
  double most = 0;
  for (const GameResult& game : games) most = std::max(most, game.bound);
  return most;
}

std::string AuditReport::json() const {
  nlohmann::ordered_json out{{"config", config},       {"config_digest", digest},  {"method", method},
                             {"objective", objective}, {"adjacency", adjacency},   {"epsilon", epsilon},
                             {"delta", delta},         {"confidence", confidence}, {"seed", seed},
                             {"bound", bound()},       {"holds", holds()}};
  if (person_records > 1) out["person_records"] = person_records;
  for (const GameResult& game : games) {
    nlohmann::ordered_json entry{{"game", game.game}};
    if (!game.remark.empty()) {
      entry["not_played"] = game.remark;
    } else {
      entry["runs"] = game.runs;
      if (game.canaries > 0) entry["canaries"] = game.canaries;
      entry["test"] = game.test;
      entry["bound"] = game.bound;
      if (game.curve_bound) entry["by_curve"] = {{"bound", *game.curve_bound}, {"noise", *game.noise}};
      if (game.found) {
        entry["found"] = *game.found;
        entry["false_alarms"] = *game.false_alarms;
        entry["allowed"] = *game.allowed;
      }
      entry["holds"] = game.holds;
    }
    out["games"].push_back(entry);
  }
  return out.dump(2) + "\n";
}

}  // namespace dpmpi
