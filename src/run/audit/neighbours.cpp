// Which record two datasets should differ in: of a few dozen candidates those that a run tells apart best.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "run/audit/setup.hpp"

namespace dpmpi {
namespace {

/// Row i of `results`: distances of candidate i from all others and from nobody, and the effect of its run (of the
/// last row: of nobody's). The distances, or if there are none, those of the effects.
std::vector<double> distances_of(const std::vector<std::vector<double>>& results) {
  const std::size_t count = results.size() - 1;
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i)
    all.insert(all.end(), results[i].begin(), results[i].begin() + static_cast<std::ptrdiff_t>(count + 1));
  if (std::ranges::any_of(all, [](double d) { return d > 0; })) return all;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= count; ++j)
      for (std::size_t k = count + 1; k < std::min(results[i].size(), results[j].size()); ++k)
        all[i * (count + 1) + j] += (results[i][k] - results[j][k]) * (results[i][k] - results[j][k]);
  return all;
}

// Every candidate takes part in a run of its own, in which all others are looked at, too: what counts is how far
// two of them are apart along a run that one of them is in. Where sums are not seen, how far their runs are apart:
// all have the same noise.
std::vector<double> distances_between(const AuditSetup& setup, const Records& candidates) {
  const std::size_t count = candidates.count;
  Attacker attacker(*setup.objective, candidates, std::vector(count, setup.place), setup.plan.layout,
                    setup.canary_slots());
  attacker.measure_distances();
  Progress progress("looking for the worst record", count + 1, "runs", 0, !setup.plan.hides_times());
  const auto results = deal_numbers(setup.groups, count + 1, [&](std::uint64_t i) {
    const RowSource row = i < count ? RowSource{&candidates, static_cast<std::uint32_t>(i)} : RowSource{};
    setup.run_briefly(setup.dataset(setup.place, std::span(&row, 1), false), setup.common_key(), attacker);
    if (progress.reached(std::min<std::uint64_t>(count + 1, i + setup.groups.count))) progress.show();
    std::vector<double> result;
    if (!setup.groups.own.is_root()) return result;
    for (std::size_t j = 0; j <= count; ++j) result.push_back(i < count ? attacker.distance(i, j) : 0);
    result.insert(result.end(), attacker.effect().begin(), attacker.effect().end());
    return result;
  });
  std::vector<double> all(count * (count + 1));
  if (setup.world.is_root()) all = distances_of(results);
  setup.world.broadcast(std::span(all));
  return all;
}

RecordPair worst_pair(const Records& candidates, const std::vector<double>& distances, bool replace) {
  const std::size_t count = candidates.count;
  std::size_t here = 0, there = replace && count > 1 ? 1 : count;
  double most = -1;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = replace ? 0 : count; j < count + (replace ? 0 : 1); ++j)
      if (const double apart = distances[i * (count + 1) + j]; i != j && apart > most)
        most = apart, here = i, there = j;
  const auto source = [&](std::size_t i) {
    return i < count ? RowSource{&candidates, static_cast<std::uint32_t>(i)} : RowSource{};
  };
  return {source(there), source(here)};
}

}  // namespace

RecordPair choose_pair(const AuditSetup& setup, Records& candidates) {
  constexpr std::size_t most_public = 16;
  const Records made_up = made_up_records(setup.shape, *setup.objective);
  std::vector<RowSource> rows;
  if (const std::int64_t chosen = setup.config.audit.canary; chosen > 0) {
    if (static_cast<std::uint64_t>(chosen) > setup.public_rows.size())
      throw ConfigError(
          fmt::format("audit.canary = {}: data.eval has {} records", chosen, setup.public_rows.size()));
    rows.push_back(setup.public_rows[static_cast<std::size_t>(chosen) - 1]);
  }
  const bool only_partner = !rows.empty();
  if (!only_partner || setup.replaces()) {
    for (std::uint32_t i = 0; i < made_up.count; ++i) rows.push_back({&made_up, i});
    for (std::size_t i = 0; i < std::min(most_public, setup.public_rows.size()); ++i)
      rows.push_back(setup.public_rows[i]);
  }
  if (rows.size() < (setup.replaces() ? 2U : 1U))
    throw ConfigError(fmt::format(
        "dpmpi audit: no made-up record suits objective.name = {}; give public records of its kind (data.eval)",
        setup.config.objective_name));
  candidates = copy_rows(setup.shape, rows);
  auto distances = distances_between(setup, candidates);
  if (only_partner)  // the other pairs do not count
    std::fill(distances.begin() + static_cast<std::ptrdiff_t>(rows.size() + 1), distances.end(), -2.0);
  return worst_pair(candidates, distances, setup.replaces());
}

}  // namespace dpmpi
