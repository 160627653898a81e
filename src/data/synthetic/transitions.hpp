#pragma once
// Logged transitions of a uniformly random policy, as records (s, s', terminal) labelled by the reward.

#include <cstdint>
#include <string>

#include "data/records/builder.hpp"

namespace dpmpi {

/// cartpole, acrobot or gridworld.
bool is_environment(const std::string& kind);
/// 2 features(s) + 1.
std::size_t transition_features(const std::string& kind);

/// Adds transitions first .. first + count - 1 of one long walk of episodes. An episode ends where the environment
/// says so, or after 500 steps, which is not terminal. A function of the seed alone; the walk is followed from its
/// beginning.
void add_transitions(const std::string& kind, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                     RecordsBuilder& out);

/// Adds episodes first .. first + count - 1 of that walk, a row each: `steps` times (s, s', terminal, reward), of
/// which the label says how many there are; zeros behind them. What follows the first `steps` of a longer episode
/// is left out.
void add_episodes(const std::string& kind, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                  std::size_t steps, RecordsBuilder& out);

}  // namespace dpmpi
