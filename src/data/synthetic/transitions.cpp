#include "data/synthetic/transitions.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "data/synthetic/environments.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t longest_episode = 500;

/// Four numbers, uniform on (-size, size).
std::array<double, 4> start_state(const PublicStream& stream, std::uint64_t episode, double size) {
  std::array<double, 4> s{};
  for (std::uint64_t j = 0; j < s.size(); ++j) s[j] = size * (2 * stream.uniform(4 * episode + j) - 1);
  return s;
}

// What a walk asks of an environment: its start, its reward, and the features of a state.
struct CartPoleWalk : CartPole {
  static constexpr float reward = 1;
  static State start(const PublicStream& stream, std::uint64_t episode) {
    return start_state(stream, episode, 0.05);
  }
};

struct AcrobotWalk : Acrobot {
  static constexpr float reward = -1;
  static State start(const PublicStream& stream, std::uint64_t episode) {
    return start_state(stream, episode, 0.1);
  }
};

struct GridWorldWalk : GridWorld {
  using State = int;
  static constexpr float reward = -1;
  static State start(const PublicStream& stream, std::uint64_t episode) {
    return static_cast<int>(stream.below(episode, cells - 1));
  }
  static std::array<double, cells> features(State cell) {
    std::array<double, cells> indicator{};
    indicator[static_cast<std::size_t>(cell)] = 1;
    return indicator;
  }
};

/// visit(state, next, terminal, over) for every step of a walk of episodes, until it returns false.
template <class Walk, class Visit>
void follow(std::uint64_t seed, Visit visit) {
  const PublicStream starts(seed, "generate episodes"), actions(seed, "generate actions");
  std::uint64_t episode = 0, age = 0;
  auto state = Walk::start(starts, 0);
  for (std::uint64_t i = 0;; ++i) {
    const auto next = Walk::step(state, static_cast<int>(actions.below(i, Walk::actions)));
    const bool terminal = Walk::terminal(next), over = terminal || ++age == longest_episode;
    if (!visit(state, next, terminal, over)) return;
    state = next;
    if (over) state = Walk::start(starts, ++episode), age = 0;
  }
}

/// Writes (s, s', terminal); returns the place behind it.
template <class Walk>
float* write_step(const typename Walk::State& state, const typename Walk::State& next, bool terminal, float* to) {
  for (const auto& s : {state, next})
    for (const double x : Walk::features(s)) *to++ = static_cast<float>(x);
  *to++ = terminal ? 1.0F : 0.0F;
  return to;
}

template <class Walk>
void transitions(std::uint64_t seed, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  std::uint64_t i = 0;
  follow<Walk>(seed, [&](const auto& state, const auto& next, bool terminal, bool) {
    if (i >= first) {
      write_step<Walk>(state, next, terminal, out.dense_row());
      out.finish_row(Walk::reward);
    }
    return ++i < first + count;
  });
}

template <class Walk>
void episodes(std::uint64_t seed, std::uint64_t first, std::uint64_t count, std::size_t most, RecordsBuilder& out) {
  std::vector<float> row;
  std::uint64_t episode = 0;
  std::size_t steps = 0;
  const std::size_t width = out.features() / most;
  row.assign(out.features(), 0.0F);
  follow<Walk>(seed, [&](const auto& state, const auto& next, bool terminal, bool over) {
    if (steps < most) *write_step<Walk>(state, next, terminal, row.data() + steps++ * width) = Walk::reward;
    if (!over) return true;
    if (episode >= first) {
      std::copy(row.begin(), row.end(), out.dense_row());
      out.finish_row(static_cast<float>(steps));
    }
    row.assign(row.size(), 0.0F);
    steps = 0;
    return ++episode < first + count;
  });
}

}  // namespace

bool is_environment(const std::string& kind) {
  return kind == "cartpole" || kind == "acrobot" || kind == "gridworld";
}

std::size_t transition_features(const std::string& kind) {
  verify(is_environment(kind), "transitions are of an environment");
  return 2 * (kind == "cartpole" ? 4U : kind == "acrobot" ? 6U : 16U) + 1;
}

void add_transitions(const std::string& kind, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                     RecordsBuilder& out) {
  verify(out.features() == transition_features(kind), "rows have the features of a transition");
  if (kind == "cartpole") return transitions<CartPoleWalk>(seed, first, count, out);
  if (kind == "acrobot") return transitions<AcrobotWalk>(seed, first, count, out);
  transitions<GridWorldWalk>(seed, first, count, out);
}

void add_episodes(const std::string& kind, std::uint64_t seed, std::uint64_t first, std::uint64_t count,
                  std::size_t steps, RecordsBuilder& out) {
  verify(out.features() == steps * (transition_features(kind) + 1), "rows have room for `steps` transitions");
  if (kind == "cartpole") return episodes<CartPoleWalk>(seed, first, count, steps, out);
  if (kind == "acrobot") return episodes<AcrobotWalk>(seed, first, count, steps, out);
  episodes<GridWorldWalk>(seed, first, count, steps, out);
}

}  // namespace dpmpi
