#include "privacy/events/relations.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "privacy/events/members.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_releases = 4096;
// What several participations cost takes so many operations, times buffers.
constexpr std::uint64_t most_participations = 1ULL << 20, most_without_buffers = 256,
                        most_leaves_without_buffers = 1ULL << 20, most_normalized_leaves = 1ULL << 20;

bool toeplitz(Strategy strategy) {
  return strategy == Strategy::sqrt_toeplitz || strategy == Strategy::banded || strategy == Strategy::blt;
}

}  // namespace

void check_relations(const HiddenState& m, std::string_view where) {
  const auto at_most = [&](std::string_view member, std::uint64_t x, std::string_view other, std::uint64_t most) {
    if (x > most)
      refuse(where, member, fmt::format("{}", x), fmt::format("a whole number up to {}, {}", other, most));
  };
  at_most("hybrid", m.hybrid, "steps", m.steps);
  at_most("directions", m.directions, "dimension", m.dimension);
  at_most("batch", m.batch, "population", m.population);
  at_most("parts", m.parts, "population", m.population);
  for (const double part : {m.before_multiplier, m.directional_multiplier, m.isotropic_multiplier})
    if (!std::isfinite(m.noise_multiplier * part))
      refuse(where, "noise_multiplier", fmt::format("{}", m.noise_multiplier), "a multiple that stays finite");
  if (m.reshuffled && m.parts == 1) refuse(where, "reshuffled", "true", "false where there are no parts");
  if (m.releases.empty()) return;
  const bool ascending =
      std::adjacent_find(m.releases.begin(), m.releases.end(), std::greater_equal<>()) == m.releases.end();
  if (!ascending || m.releases.front() < 1 || m.releases.back() != m.steps || m.releases.size() > most_releases)
    refuse(where, "releases",
           fmt::format("a list of {} from {} to {}", m.releases.size(), m.releases.front(), m.releases.back()),
           fmt::format("up to {} numbers of steps that ascend to steps, {}", most_releases, m.steps));
}

void check_relations(const Tree& tree, std::string_view where) {
  const auto up_to_leaves = fmt::format("a whole number from 1 to the number of leaves, {}", tree.leaves);
  if (is_banded(tree.strategy) && tree.band > tree.leaves)
    refuse(where, "band", fmt::format("{}", tree.band), up_to_leaves);
  if (tree.strategy == Strategy::normalized_blt && tree.leaves > most_normalized_leaves)
    refuse(where, "leaves", fmt::format("{}", tree.leaves), "up to 2^20 with normalized_blt");
  if (tree.participations == 1) return;
  if (!toeplitz(tree.strategy))
    refuse(where, "participations", fmt::format("{} with strategy {}", tree.participations, name(tree.strategy)),
           "more than 1 with sqrt_toeplitz, banded or blt");
  if (tree.first_leaf != 1)
    refuse(where, "first_leaf", fmt::format("{}", tree.first_leaf), "1 with several participations");
  if (tree.separation > tree.leaves) refuse(where, "separation", fmt::format("{}", tree.separation), up_to_leaves);
  const bool buffered = tree.strategy == Strategy::blt;
  if (const auto most = buffered ? most_participations : most_without_buffers; tree.participations > most)
    refuse(where, "participations", fmt::format("{}", tree.participations), fmt::format("up to {}", most));
  if (!buffered && tree.leaves > most_leaves_without_buffers)
    refuse(where, "leaves", fmt::format("{}", tree.leaves), "up to 2^20 with several participations, or blt");
}

void check_relations(const CyclicPoissonGaussian& m, std::string_view where) {
  if (m.band > m.groups)
    refuse(
        where, "band", fmt::format("{}", m.band),
        fmt::format("a whole number from 1 to the number of groups, {}: a row that sees two steps of a group has "
                    "no bound",
                    m.groups));
}

void check_relations(const RandomAllocationGaussian& m, std::string_view where) {
  if (m.selected > m.steps)
    refuse(where, "selected", fmt::format("{}", m.selected),
           fmt::format("a whole number from 1 to the number of steps, {}", m.steps));
}

}  // namespace dpmpi
