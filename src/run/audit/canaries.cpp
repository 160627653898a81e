// The game of many canaries in one run.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/numbers/random.hpp"
#include "run/audit/by_curve.hpp"
#include "run/audit/games.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t fewest_canaries = 16;

double feature_norm(const Records& records, std::uint32_t row) {
  const double norm = static_cast<double>(records.norm[row]), bias = static_cast<double>(records.bias);
  return std::sqrt(std::max(1e-6, norm * norm - bias * bias));
}

/// Many canaries in one run. Row i in its second form, row i + count, under replace_one, in its first.
struct Canaries {
  Records suspects;
  std::size_t count = 0;
  bool at_worst = false;
};

Canaries canaries_of(const AuditSetup& setup, const RecordPair& pair) {
  const auto most = std::max(fewest_canaries, static_cast<std::size_t>(setup.config.audit.canaries) /
                                                  setup.canary_stride());  // empty slots take memory, too
  const std::size_t room =
      std::max(fewest_canaries, setup.plan.queries.front().dim);  // beyond they hide each other
  const std::size_t wanted = std::min({most, room, static_cast<std::size_t>(setup.facts.data.units())});
  const std::size_t forms = setup.replaces() ? 2 : 1;
  if (!setup.worst_objective()) {
    Records all = random_canaries(setup.shape, *setup.objective, wanted * forms,
                                  feature_norm(*pair.second.records, pair.second.row), setup.seed());
    const std::size_t count = all.count / forms;
    return {std::move(all), count, false};
  }
  const Records in = worst_case_canaries(setup.shape, wanted, false);
  const Records out = worst_case_canaries(setup.shape, wanted, true);
  std::vector<RowSource> rows;
  for (std::size_t form = 0; form < forms; ++form)
    for (std::uint32_t i = 0; i < wanted; ++i) rows.push_back({form == 0 ? &in : &out, i});
  return {copy_rows(setup.shape, rows), wanted, true};
}

/// A run with every canary in its second form where second[i] says so; the evidence for that, on a group's root.
std::vector<double> evidence_of(const AuditSetup& setup, const Canaries& canaries, std::uint64_t key,
                                std::span<const char> second) {
  const std::size_t count = canaries.count;
  std::vector<std::uint64_t> places(canaries.suspects.count);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i % count * setup.canary_stride();
  std::vector<RowSource> rows(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (second[i])
      rows[i] = {&canaries.suspects, i};
    else if (setup.replaces())
      rows[i] = {&canaries.suspects, i + static_cast<std::uint32_t>(count)};
  }
  Attacker attacker(canaries.at_worst ? *setup.worst_objective() : *setup.objective, canaries.suspects, places,
                    setup.plan.layout, setup.canary_slots());
  setup.run(setup.dataset(0, rows, false), key, attacker, canaries.at_worst);
  std::vector<double> evidence(count);
  for (std::size_t i = 0; setup.groups.own.is_root() && i < count; ++i)
    evidence[i] = attacker.evidence()[i] - (setup.replaces() ? attacker.evidence()[i + count] : 0);
  return evidence;
}

}  // namespace

GameResult one_run(const AuditSetup& setup, const RecordPair& pair, double error) {
  GameResult result{.game = "one_run", .test = "likelihood ratio of the releases"};
  const Canaries canaries = canaries_of(setup, pair);
  if (canaries.count < fewest_canaries) {
    result.remark = fmt::format("fewer than {} records that the objective takes fit the data", fewest_canaries);
    return result;
  }
  constexpr std::uint64_t coins_wanted = 2000;
  auto runs = static_cast<std::uint64_t>(setup.config.audit.repeats);
  if (runs == 0) runs = (coins_wanted + canaries.count - 1) / canaries.count;
  result.runs = runs;
  const auto seed = setup.seed();
  std::vector<char> second(runs * canaries.count);
  for (std::size_t i = 0; i < second.size(); ++i) second[i] = PublicStream(seed, "coins").word(i) % 2 == 1;
  Progress progress("playing one_run", runs, "runs", 0, !setup.plan.hides_times());
  const auto all = deal_numbers(setup.groups, runs, [&](std::uint64_t i) {
    const auto coins = std::span(second).subspan(i * canaries.count, canaries.count);
    auto evidence = evidence_of(setup, canaries, PublicStream(seed, "one run").word(i), coins);
    if (progress.reached(std::min(runs, i + setup.groups.count))) progress.show();
    return evidence;
  });
  result.canaries = canaries.count;
  if (!setup.world.is_root()) return result;
  std::vector<double> evidence;
  for (const auto& run : all) evidence.insert(evidence.end(), run.begin(), run.end());
  result.bound = prove_by_guessing(evidence, second, setup.plan.delta(), error / 2);
  compare_with_promise(setup, result);
  if (const auto refuted = refuted_noise(setup.plan, {canaries.count, evidence, second}, seed, error / 2)) {
    result.curve_bound = refuted->epsilon, result.noise = refuted->noise;
    result.holds = result.holds && refuted->noise > 1;
  }
  return result;
}

}  // namespace dpmpi
