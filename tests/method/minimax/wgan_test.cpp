// The min-max methods on a generator and a critic: what the generator follows, and what is paid for.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/wgan.hpp"
#include "problems/trial.hpp"
#include "support/data_files.hpp"

namespace dpmpi::wgan_test {
namespace {

using test::Trial;

constexpr std::size_t pixels = 12;

std::unique_ptr<SaddleObjective> small_wgan() {
  return make_wgan({.generator = {.units = {3, 8, pixels}, .activation = Activation::leaky_relu},
                    .critic = {.units = {pixels, 9, 1}, .activation = Activation::leaky_relu},
                    .rows = 3,
                    .columns = 4,
                    .fakes = 20,
                    .penalty = 0.01,
                    .dual_radius = 3});
}

Shard images(unsigned seed = 1) {
  return test::random_shard({Storage::dense_f32, 300, pixels, 1, LabelKind::real}, 4, 0, 1, seed);
}

std::map<std::string, std::string> given(const std::string& method) {
  std::map<std::string, std::string> options{
      {"batch", "50"}, {"steps", "6"}, {"dual_clip", "0.5"}, {"rate", "0.3"}, {"dual_rate", "0.2"}};
  if (method.starts_with("private-diff")) options["dual_steps"] = "3";
  return options;
}

// T19: a generator's step is a function of released values alone. From the published pairs every step is found
// again, to the last bit, by an objective that has never met a record; from the un-noised critic it would not be.
TEST(WganTraps, T19TheGeneratorFollowsTheReleasedCriticOnly) {
  for (const std::string method : {"dp-sgda", "private-diff"}) {
    Trial trial(method, given(method), 1, small_wgan(), images(), Adjacency::add_remove);
    const auto apart = small_wgan();
    const std::size_t d1 = apart->primal_dim();
    const bool alternating = method == "private-diff";  // at (x_r, y_{r+1}); dp-sgda: both at (x_t, y_t)
    for (std::uint64_t t = 0; t < trial.steps; ++t) {
      std::vector<float> w = trial.iterate();
      trial.run(1);
      const std::vector<float> now = trial.iterate();
      if (alternating)
        std::copy(now.begin() + static_cast<std::ptrdiff_t>(d1), now.end(),
                  w.begin() + static_cast<std::ptrdiff_t>(d1));
      std::vector<double> gradient(d1, 0.0);
      apart->add_public_primal(w, t, gradient);
      for (std::size_t j = 0; j < d1; ++j)
        EXPECT_EQ(now[j], w[j] - 0.3F * static_cast<float>(gradient[j])) << method << " step " << t;
      EXPECT_NE(std::vector<float>(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(d1)),
                std::vector<float>(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(d1)));
    }
  }
}

// What is released is the critic's query and nothing else, whatever the method.
TEST(Wgan, OnlyTheCriticIsPaidFor) {
  const double q = 50.0 / 300;
  Trial sgda("dp-sgda", given("dp-sgda"), 1.5, small_wgan(), images(), Adjacency::add_remove);
  sgda.run();
  EXPECT_EQ(sgda.ledger->events(), (std::vector<Event>{{PoissonGaussian{q, 1.5}, 6}}));
  EXPECT_EQ(sgda.derived("z_y"), 1.5);
  Trial diff("private-diff", given("private-diff"), 0.5, small_wgan(), images(), Adjacency::add_remove);
  diff.run();
  EXPECT_EQ(diff.ledger->events(), (std::vector<Event>{{PoissonGaussian{q, 0.5 * std::sqrt(18.0)}, 18}}));
  for (const Trial* trial : {&sgda, &diff}) {
    ASSERT_EQ(trial->queries.size(), 1U);
    EXPECT_EQ(trial->queries[0].dim, trial->saddle()->dual_dim());
    EXPECT_EQ(trial->queries[0].bound.clip, 0.5);
  }
}

// A step of the critic without noise is its formula: y + eta (sum of clipped gradients / N + public part), in the
// ball.
TEST(Wgan, TheCriticAscends) {
  Trial trial("dp-sgda",
              {{"sampling", "full"}, {"steps", "1"}, {"dual_clip", "100"}, {"rate", "0.3"}, {"dual_rate", "0.2"}},
              0, small_wgan(), images());
  const auto apart = small_wgan();
  const std::size_t d1 = apart->primal_dim();
  const std::vector<float> w = trial.iterate();
  std::vector<double> gradient(apart->dual_dim(), 0.0);
  apart->add_public_dual(w, 0, gradient);
  LatticeAccumulator sum(apart->dual_dim(), {18}, 101);
  sum.clear();
  const Kernel kernel = clipped_dual_gradients(*apart, w);
  for (const auto& block : trial.shard.blocks)
    for (std::uint32_t i = 0; i < block.records.count; ++i)
      kernel({block.records, std::span(&i, 1)}, {.clip = 100}, sum);
  std::vector<float> y(w.begin() + static_cast<std::ptrdiff_t>(d1), w.end());
  for (std::size_t j = 0; j < y.size(); ++j)
    y[j] += static_cast<float>(0.2 * (gradient[j] + std::ldexp(static_cast<double>(sum.totals()[j]), -18) / 300));
  apart->project_dual(y);
  trial.run();
  double moved = 0;
  for (std::size_t j = 0; j < y.size(); ++j) {
    EXPECT_NEAR(trial.iterate()[d1 + j], y[j], 2e-5);
    moved = std::max(moved, std::abs(static_cast<double>(y[j]) - static_cast<double>(w[d1 + j])));
  }
  EXPECT_GT(moved, 0.05);
}

TEST(Wgan, WhatNeedsAPrivatePrimalIsRefused) {
  const auto message = [](const std::map<std::string, std::string>& more) {
    return test::message_of<ConfigError>([&] {
      Trial("dp-sgda", test::with({{"batch", "50"}, {"dual_rate", "1"}}, more), 1, small_wgan(), images());
    });
  };
  EXPECT_MENTIONS(message({{"rate", "1"}}), "method.dual_clip = 0 ");
  EXPECT_MENTIONS(message({{"dual_clip", "1"}}), "method.rate is needed");
}

}  // namespace
}  // namespace dpmpi::wgan_test
