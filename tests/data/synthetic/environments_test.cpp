#include "data/synthetic/environments.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "data/synthetic/episodes.hpp"
#include "data/synthetic/generate.hpp"
#include "data/synthetic/transitions.hpp"

#include "support/data_files.hpp"

namespace dpmpi::test::environments_test {
namespace {

TEST(Environments, SinesAreAccurate) {
  for (int i = -4000; i <= 4000; ++i) {
    const double x = 0.0247 * i;
    EXPECT_NEAR(portable_sin(x), std::sin(x), 2e-15);
    EXPECT_NEAR(portable_cos(x), std::cos(x), 2e-15);
  }
}

// A11 of min-max methods.
TEST(Environments, KnownSteps) {
  const CartPole::State cart = CartPole::step({.01, .02, .03, .04}, 1),
                        expected_cart = {.0104, .2146791957, .0308, -.2430687180};
  const Acrobot::State link = Acrobot::step({.1, -.2, .3, -.4}, 2),
                       expected_link = {.12821163, -.21184032, -.02348473, .28679521};
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(cart[j], expected_cart[j], 1e-8);
    EXPECT_NEAR(link[j], expected_link[j], 1e-8);
  }
}

TEST(Environments, EpisodesEndAtTheLimits) {
  EXPECT_FALSE(CartPole::terminal({2.39, 0, 0.2, 0}));
  EXPECT_TRUE(CartPole::terminal({-2.41, 0, 0, 0}));
  EXPECT_TRUE(CartPole::terminal({0, 0, 0.21, 0}));
  EXPECT_FALSE(Acrobot::terminal({0, 0, 0, 0}));
  EXPECT_TRUE(Acrobot::terminal({3, 0, 0, 0}));
  EXPECT_FALSE(Acrobot::terminal({1.5, 0, 0, 0}));
  const Acrobot::State fast = Acrobot::step({3, 3, 12.5, 28}, 2);
  EXPECT_LE(std::abs(fast[0]), 3.15);
  EXPECT_LE(fast[2], 4 * 3.1415927);
  EXPECT_LE(fast[3], 9 * 3.1415927);
}

// v = r + discount P v holds for every cell, checked apart from how it was solved.
TEST(Environments, GridWorldValuesSolveTheirEquation) {
  for (const double discount : {0.0, 0.5, 0.95, 1.0}) {
    const std::vector<double> v = GridWorld::values(discount);
    EXPECT_EQ(v[15], 0);
    for (int cell = 0; cell < 15; ++cell) {
      double mean = 0;
      for (int action = 0; action < 4; ++action)
        mean += v[static_cast<std::size_t>(GridWorld::step(cell, action))] / 4;
      EXPECT_NEAR(v[static_cast<std::size_t>(cell)], -1 + discount * mean, 1e-12);
    }
    EXPECT_NEAR(v[1], v[4], 1e-12) << "the grid is symmetric";
  }
}

TEST(Transitions, FollowOneAnother) {
  for (const char* kind : {"cartpole", "acrobot", "gridworld"}) {
    GenerateOptions o;
    o.kind = kind;
    const Records r = generate_records(o, 0, 3000);
    const std::size_t n = (transition_features(kind) - 1) / 2;
    ASSERT_EQ(r.features, 2 * n + 1);
    std::size_t episodes = 0, starts = 0;
    for (std::size_t i = 0; i + 1 < r.count; ++i) {
      const float *own = r.row_f32(i), *after = r.row_f32(i + 1);
      const bool goes_on = std::equal(own + n, own + 2 * n, after);
      EXPECT_TRUE(own[2 * n] == 0 || own[2 * n] == 1);
      EXPECT_TRUE(goes_on || own[2 * n] == 1 || i >= 499) << "an episode ends where it is terminal, or is long";
      EXPECT_FALSE(own[2 * n] == 1 && goes_on && std::string(kind) != "gridworld");
      EXPECT_EQ(r.label[i], std::string(kind) == "cartpole" ? 1.0F : -1.0F);
      episodes += own[2 * n] == 1, starts += !goes_on;
    }
    EXPECT_GE(starts, 5U) << kind;
    EXPECT_TRUE(episodes >= 20 || std::string(kind) == "acrobot") << kind;
  }
}

// An episode's row holds the transitions of the walk one after another, up to its room, and zeros.
TEST(Transitions, EpisodesAreRunsOfThem) {
  for (const char* kind : {"cartpole", "gridworld"}) {
    GenerateOptions o;
    o.kind = kind;
    const Records walk = generate_records(o, 0, 3000);
    o.episode_steps = 20;
    const Records all = generate_records(o, 0, 60);
    const std::size_t width = transition_features(kind) + 1;
    ASSERT_EQ(all.features, 20 * width);
    std::size_t i = 0, cut = 0, ended = 0;
    for (std::size_t e = 0; e < all.count; ++e) {
      const auto steps = static_cast<std::size_t>(all.label[e]);
      ASSERT_TRUE(steps >= 1 && steps <= 20);
      for (std::size_t t = 0; t < 20; ++t) {
        const float* step = all.row_f32(e) + t * width;
        for (std::size_t j = 0; j + 1 < width; ++j) EXPECT_EQ(step[j], t < steps ? walk.row_f32(i + t)[j] : 0.0F);
        EXPECT_EQ(step[width - 1], t < steps ? walk.label[i + t] : 0.0F);
      }
      while (walk.row_f32(i)[width - 2] == 0) ++i;  // to the end of the episode
      ++i, ++(all.row_f32(e)[(steps - 1) * width + width - 2] == 1 ? ended : cut);
    }
    EXPECT_TRUE(cut > 0 && ended > 0);
    EXPECT_EQ(record_bytes(generate_records(o, 40, 20), 3), record_bytes(all, 43));
  }
  GenerateOptions o;
  o.episode_steps = 20;
  EXPECT_THROW(generate_records(o, 0, 5), ConfigError) << "blobs have no episodes";
}

// A log with a column of episodes becomes the rows that are generated as such; what would split an episode or cut
// it is refused.
TEST(Transitions, ALogWithEpisodesBecomesTheirRows) {
  GenerateOptions o;
  o.kind = "cartpole";
  const Records walk = generate_records(o, 0, 2000);
  o.episode_steps = 120;
  const Records whole = generate_records(o, 0, 40);
  constexpr std::size_t column = 3;
  RecordsBuilder log(Storage::dense_f32, 10, 2000, {.bias = 0});
  std::size_t rows = 0;
  for (std::size_t e = 0; e < whole.count; ++e)
    for (std::size_t t = 0; t < static_cast<std::size_t>(whole.label[e]); ++t, ++rows) {
      float* to = std::copy_n(walk.row_f32(rows), column - 1, log.dense_row());
      *to++ = static_cast<float>(100 - e);
      std::copy_n(walk.row_f32(rows) + column - 1, 10 - column, to);
      log.finish_row(walk.label[rows]);
    }
  Records named = log.take();
  named.count = rows;
  const Records grouped = group_episodes(named, column, 120, "log.csv");
  ASSERT_EQ(grouped.count, whole.count);
  for (std::size_t e = 0; e < whole.count; ++e) EXPECT_EQ(record_bytes(grouped, e), record_bytes(whole, e));

  const auto message = [&](std::size_t c, std::size_t steps) -> std::string {
    try {
      group_episodes(named, c, steps, "log.csv");
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_THROW(group_episodes(named, column, 8, "log.csv"), DataError) << "an episode is longer";
  EXPECT_THROW(group_episodes(named, 11, 120, "log.csv"), ConfigError);
  EXPECT_THROW(group_episodes(named, 0, 120, "log.csv"), ConfigError);
  EXPECT_TRUE(message(column, 8).starts_with("log.csv: row ")) << message(column, 8);
  for (const char* part : {"log.csv: ", "episode_column = 11", "from 1 to 10"})
    EXPECT_NE(message(11, 120).find(part), std::string::npos) << message(11, 120);
  named.f32[(rows - 1) * named.stride + column - 1] = 100;
  EXPECT_THROW(group_episodes(named, column, 120, "log.csv"), DataError) << "the first one goes on";
}

TEST(Transitions, AreTheSameInEveryPart) {
  for (const char* kind : {"cartpole", "acrobot", "gridworld"}) {
    GenerateOptions o;
    o.kind = kind;
    const Records all = generate_records(o, 0, 300), part = generate_records(o, 120, 100);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(record_bytes(all, 120 + i), record_bytes(part, i));
    o.seed = 2;
    EXPECT_NE(record_bytes(generate_records(o, 0, 1), 0), record_bytes(all, 0));
  }
}

}  // namespace
}  // namespace dpmpi::test::environments_test
