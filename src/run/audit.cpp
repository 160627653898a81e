// The games that are played with a config's mechanism.

#include "dpmpi/run/audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "audit_ground.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/progress.hpp"
#include "dpmpi/core/random.hpp"
#include "dpmpi/run/settings_table.hpp"

namespace dpmpi {
namespace {

double feature_norm(const Records& records, std::uint32_t row) {
  const double norm = static_cast<double>(records.norm[row]), bias = static_cast<double>(records.bias);
  return std::sqrt(std::max(1e-6, norm * norm - bias * bias));
}

/// Against the promise.
void judge(const AuditGround& ground, GameResult& result) {
  if (result.false_alarms) {
    const auto table = attacker_table(ground.plan.events(), ground.plan.adjacency, ground.plan.promise.guarantee,
                                      {*result.false_alarms});
    result.allowed = table.front().second;
  }
  result.holds = result.bound <= ground.plan.epsilon() && (!result.found || *result.found <= *result.allowed);
}

// Two runs with one key: the same noise.
std::vector<double> effect_of_second(const AuditGround& ground, const Shard& first, const Shard& second,
                                     Observer& observer) {
  ground.run(first, ground.common_key(), observer);
  const std::vector<double> before(observer.effect().begin(), observer.effect().end());
  ground.run(second, ground.common_key(), observer);
  std::vector<double> difference(observer.effect().begin(), observer.effect().end());
  for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= before[j];
  return difference;
}

GameResult distinguish(const AuditGround& ground, const RecordPair& pair, bool among_public, double error) {
  GameResult result{.game = among_public ? "canary" : "distinguish"};
  if (among_public && ground.public_rows.empty()) {
    result.remark = "needs public records: data.eval";
    return result;
  }
  std::vector<RowSource> rows;
  for (const RowSource& row : {pair.first, pair.second})
    if (row.records) rows.push_back(row);
  const Records suspects = gather_rows(ground.shape, rows);
  const Shard first = ground.dataset(ground.place, std::span(&pair.first, 1), among_public);
  const Shard second = ground.dataset(ground.place, std::span(&pair.second, 1), among_public);
  Observer observer(*ground.objective, suspects, std::vector(rows.size(), ground.place), ground.layout);

  if (!ground.groups.idle()) observer.expect(effect_of_second(ground, first, second, observer));

  const auto runs = static_cast<std::uint64_t>(ground.config.audit.runs);
  Progress progress("playing " + result.game, runs, "runs", 0, !ground.plan.hides_times());
  const Transcripts all = play_rounds(ground.groups,
                                      [&](const Communicator&, bool in_second, std::uint64_t key) {
                                        ground.run(in_second ? second : first, key, observer);
                                        return observer.transcript();
                                      },
                                      {runs, ground.seed(), [&](std::uint64_t done) {
                                         if (progress.reached(done)) progress.show();
                                       }});
  result.runs = runs;
  if (!ground.world.is_root()) return result;
  const Proof proof = prove(all.first, all.second, ground.plan.delta(), error);
  result.test = proof.test, result.bound = proof.epsilon;
  result.found = proof.found, result.false_alarms = proof.false_alarms;
  judge(ground, result);
  return result;
}

/// One run with every canary in its second form where second[i] says so; the evidence for that, on the root.
std::vector<double> evidence_of(const AuditGround& ground, const Records& suspects, std::size_t count,
                                const std::vector<char>& second) {
  const bool replace = ground.replaces();
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  if (replace) {
    const std::vector<std::uint64_t> again = places;
    places.insert(places.end(), again.begin(), again.end());
  }
  std::vector<RowSource> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (second[i])
      rows[i] = {&suspects, static_cast<std::uint32_t>(i)};
    else if (replace)
      rows[i] = {&suspects, static_cast<std::uint32_t>(i + count)};
  }
  Observer observer(*ground.objective, suspects, places, ground.layout);
  std::vector<double> evidence(count);
  if (ground.groups.number == 0) {
    const std::uint64_t key = PublicStream(ground.seed(), "one run").word(0);
    ground.run(ground.dataset(0, rows, false), key, observer);
    for (std::size_t i = 0; ground.world.is_root() && i < count; ++i)
      evidence[i] = observer.evidence()[i] - (replace ? observer.evidence()[i + count] : 0);
  }
  return evidence;
}

GameResult one_run(const AuditGround& ground, const RecordPair& pair, double error) {
  GameResult result{.game = "one_run", .test = "likelihood ratio of the releases", .runs = 1};
  const bool replace = ground.replaces();
  const auto seed = ground.seed();
  const std::size_t wanted =
      std::min<std::size_t>(static_cast<std::size_t>(ground.config.audit.canaries), ground.facts.data.records);
  const Records suspects = random_canaries(ground.shape, *ground.objective, wanted * (replace ? 2 : 1),
                                           feature_norm(*pair.second.records, pair.second.row), seed);
  const std::size_t count = suspects.count / (replace ? 2 : 1);
  if (count < 16) {
    result.remark = "fewer than 16 records that the objective takes fit the data";
    return result;
  }
  std::vector<char> second(count);
  for (std::size_t i = 0; i < count; ++i) second[i] = PublicStream(seed, "coins").word(i) % 2 == 1;
  const auto evidence = evidence_of(ground, suspects, count, second);
  result.canaries = count;
  if (!ground.world.is_root()) return result;

  result.bound = prove_by_guessing(evidence, second, ground.plan.delta(), error);
  judge(ground, result);
  return result;
}

}  // namespace

AuditReport audit(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                  bool quiet) {
  const AuditGround ground(world, path, overrides);
  if (world.is_root() && !quiet)
    print_settings(ground.config, ground.facts, ground.plan, ground.layout, world.size());
  const std::string& chosen = ground.config.audit.game;
  const auto plays = [&](const char* game) { return chosen == "all" || chosen == game; };
  const double error = (1 - ground.config.audit.confidence) / (chosen == "all" ? 3 : 1);
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
  const RecordPair pair = choose_pair(ground, candidates);
  if (plays("distinguish")) report.games.push_back(distinguish(ground, pair, false, error));
  if (plays("canary")) report.games.push_back(distinguish(ground, pair, true, error));
  if (plays("one_run")) report.games.push_back(one_run(ground, pair, error));
  return report;
}

}  // namespace dpmpi
