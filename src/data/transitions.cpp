#include "dpmpi/data/transitions.hpp"

#include <algorithm>
#include <array>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/random.hpp"
#include "dpmpi/data/environments.hpp"

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

template <class Walk>
void follow(std::uint64_t seed, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const PublicStream starts(seed, "generate episodes"), actions(seed, "generate actions");
  std::uint64_t episode = 0, age = 0;
  auto state = Walk::start(starts, 0);
  for (std::uint64_t i = 0; i < first + count; ++i) {
    const auto next = Walk::step(state, static_cast<int>(actions.below(i, Walk::actions)));
    const bool terminal = Walk::terminal(next);
    if (i >= first) {
      float* to = out.dense_row();
      for (const auto& s : {state, next})
        for (const double x : Walk::features(s)) *to++ = static_cast<float>(x);
      *to = terminal ? 1.0F : 0.0F;
      out.finish_row(Walk::reward);
    }
    const bool over = terminal || ++age == longest_episode;
    state = next;
    if (over) state = Walk::start(starts, ++episode), age = 0;
  }
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
  if (kind == "cartpole") return follow<CartPoleWalk>(seed, first, count, out);
  if (kind == "acrobot") return follow<AcrobotWalk>(seed, first, count, out);
  follow<GridWorldWalk>(seed, first, count, out);
}

}  // namespace dpmpi
