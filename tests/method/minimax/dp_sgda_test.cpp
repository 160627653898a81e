// dp-sgda, sgda and dptd against their formulas, step by step.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "problems/small_saddles.hpp"
#include "problems/trial.hpp"
#include "support/data_files.hpp"

namespace dpmpi::dp_sgda_test {
namespace {

using test::Trial;
using test::with;
using Given = std::map<std::string, std::string>;

// f = -x^2 / 2 + 2 x y - y^2 / 2 + z (x + y), for the z of test::dithered(): released means are those of real
// numbers.
std::unique_ptr<test::ToySaddle> quadratic() {
  auto f = std::make_unique<test::ToySaddle>(1, 1, [](double z, auto x, auto y, auto gx, auto gy) {
    gx[0] = -x[0] + 2.0 * y[0] + z;
    gy[0] = 2.0 * x[0] - y[0] + z;
  });
  f->start = {1, 0};
  return f;
}
const Given full{{"sampling", "full"}, {"steps", "10"}, {"clip", "4"}, {"dual_clip", "4"}, {"dual_share", "0.5"}};

// A14 of min-max methods.
TEST(DpSgda, BothSidesMoveFromTheSamePoint) {
  Trial trial("dp-sgda", with(full, {{"rate", "0.1"}, {"dual_rate", "0.5"}}), 0, quadratic(),
              test::dithered(Lattice::choose(2, 4 * std::sqrt(2.0) * 1.01, 0, 1 << 14).quantum()));
  trial.run();
  EXPECT_NEAR(trial.iterate()[0], -0.319528957900, 5e-7);
  EXPECT_NEAR(trial.iterate()[1], -0.507506864000, 5e-7);
}

TEST(Dptd, StepsGoAlongMomentumAverages) {
  Trial trial(
      "dptd",
      with(full, {{"rate", "0.1"}, {"dual_rate", "0.5"}, {"mixing", "0.3"}, {"clip", "8"}, {"dual_clip", "8"}}),
      1e-7, quadratic(), test::dithered(Lattice::choose(2, 8 * std::sqrt(2.0) * 1.01, 0, 1 << 14).quantum()));
  double x = 1, y = 0, mx = 0, my = 0;
  for (int t = 0; t < 10; ++t) {
    mx = 0.7 * mx + 0.3 * (-x + 2 * y), my = 0.7 * my + 0.3 * (2 * x - y);
    x -= 0.1 * mx, y += 0.5 * my;
    trial.run(1);
    EXPECT_NEAR(trial.iterate()[0], x, 1e-6) << t;
    EXPECT_NEAR(trial.iterate()[1], y, 1e-6) << t;
  }
}

// With empty slots a step is noise alone: z_x C_1 / N on x and z_y C_2 / N on y, and the joint event has z.
TEST(DpSgda, NoiseOfTheTwoSidesFollowsTheShares) {
  constexpr std::size_t d1 = 400, d2 = 200;
  auto f = std::make_unique<test::ToySaddle>(d1, d2, [](double, auto, auto, auto, auto) {});
  Trial trial("dp-sgda",
              {{"batch", "10"},
               {"steps", "60"},
               {"clip", "0.5"},
               {"dual_clip", "3"},
               {"dual_share", "0.2"},
               {"rate", "1"},
               {"dual_rate", "1"}},
              2.0, std::move(f), test::numbers(std::vector<float>(100, 0.0F)), Adjacency::add_remove);
  const double zx = trial.derived("z_x"), zy = trial.derived("z_y");
  EXPECT_NEAR(zx, 2 / std::sqrt(0.8), 1e-9);
  EXPECT_NEAR(zy, 2 / std::sqrt(0.2), 1e-9);
  EXPECT_NEAR(1 / (zx * zx) + 1 / (zy * zy), 1.0 / 4, 1e-9);
  double sx = 0, sy = 0;
  auto before = trial.iterate();
  for (int t = 0; t < 60; ++t) {
    trial.run(1);
    const auto now = trial.iterate();
    for (std::size_t j = 0; j < d1; ++j) sx += std::pow((now[j] - before[j]) / (zx * 0.5 / 10), 2);
    for (std::size_t j = d1; j < d1 + d2; ++j) sy += std::pow((now[j] - before[j]) / (zy * 3 / 10), 2);
    before = now;
  }
  EXPECT_NEAR(sx / (60 * d1), 1, 5 * std::sqrt(2.0 / (60 * d1)));
  EXPECT_NEAR(sy / (60 * d2), 1, 5 * std::sqrt(2.0 / (60 * d2)));
}

// The first step of adam_bc, from the gradient g that a plain step of the same noise shows: g over the root of g^2
// less the variance of the noise of the primal, or of a tenth of that. Steps of dptd share noise.
TEST(DpSgda, TheNoiseOfThePrimalIsTakenOutOfAdam) {
  static constexpr std::size_t dim = 50;
  const auto first_step = [](const char* method, const Given& rule) {
    auto f = std::make_unique<test::ToySaddle>(dim, 3, [](double, auto, auto, auto, auto) {});
    Trial trial(method,
                with({{"batch", "10"},
                      {"steps", "4"},
                      {"clip", "0.5"},
                      {"dual_clip", "3"},
                      {"dual_share", "0.2"},
                      {"rate", "1"},
                      {"dual_rate", "1"}},
                     rule),
                2.0, std::move(f), test::numbers(std::vector<float>(100, 0.0F)), Adjacency::add_remove);
    auto moved = trial.iterate();
    trial.run(1);
    for (std::size_t j = 0; j < moved.size(); ++j) moved[j] -= trial.iterate()[j];
    return moved;
  };
  const auto g = first_step("dp-sgda", {}), step = first_step("dp-sgda", {{"optimizer", "adam_bc"}});
  const double variance = std::pow(2 / std::sqrt(0.8) * 0.5 / 10, 2);
  int above = 0;
  for (std::size_t j = 0; j < dim; ++j) {
    const double square = std::pow(g[j], 2), left = std::max(square - variance, 0.1 * variance);
    EXPECT_NEAR(step[j], g[j] / std::sqrt(left), 1e-3 * std::abs(step[j])) << j;
    above += square > 1.2 * variance;
  }
  EXPECT_GT(above, 3);
  EXPECT_LT(above, 40);
  for (const char* shared : {"dptd", "private-diff"})
    EXPECT_THROW(first_step(shared, {{"optimizer", "adam_bc"}}), ConfigError) << shared;
}

// T4: two queries on one batch are one mechanism.
TEST(DpSgda, TrapTwoQueriesOnOneBatchAreOneEvent) {
  auto f = std::make_unique<test::ToySaddle>(3, 1, [](double, auto, auto, auto, auto) {});
  Trial trial("dp-sgda", {{"batch", "10"}, {"steps", "7"}, {"dual_clip", "1"}, {"rate", "1"}, {"dual_rate", "1"}},
              1.5, std::move(f), test::numbers(std::vector<float>(100, 0.0F)), Adjacency::add_remove);
  trial.run();
  EXPECT_EQ(trial.queries.size(), 1u);
  EXPECT_EQ(trial.ledger->events(), (std::vector<Event>{{PoissonGaussian{0.1, 1.5}, 7}}));
}

// Without a private primal (a generator that sees no record) only the dual is released, and x follows the public
// gradient.
TEST(DpSgda, APublicPrimalIsNeitherClippedNorNoised) {
  auto f = std::make_unique<test::ToySaddle>(1, 1, [](double z, auto, auto, auto, auto gy) { gy[0] = z; });
  f->private_primal = false;
  f->start = {1, 0};
  f->public_primal = [](auto w, auto g) { g[0] += 1000 * w[0] + w[1]; };
  Trial trial("dp-sgda",
              {{"sampling", "full"}, {"steps", "2"}, {"dual_clip", "1"}, {"rate", "0.5"}, {"dual_rate", "1"}}, 0,
              std::move(f), test::numbers({0.5F, 0.25F, 0.75F, 0.5F}));
  trial.run(1);
  EXPECT_EQ(trial.queries[0].dim, 1u);
  EXPECT_EQ(trial.iterate(), (std::vector<float>{1 - 500, 0.5F}));
  trial.run(1);
  EXPECT_EQ(trial.iterate(), (std::vector<float>{-499.0F - 0.5F * (-499000.0F + 0.5F), 1.0F}));
}

// A plan already needs all rates: a run that found out later would have paid for a release.
TEST(MinMaxPlan, NeedsADualRateBeforeAnyRelease) {
  const auto records = [] { return test::numbers(std::vector<float>(100, 0.0F)); };
  for (const char* method : {"dp-sgda", "dptd", "private-diff"}) {
    const Given given{{"batch", "10"}, {"steps", "2"}, {"dual_clip", "1"}};
    EXPECT_THROW(Trial(method, given, 1, quadratic(), records()), ConfigError) << method;
    EXPECT_NO_THROW(Trial(method, with(given, {{"dual_rate", "1"}}), 1, quadratic(), records())) << method;
  }
}

TEST(MinMaxPlan, MessagesSayWhatWasGivenAndWhatIsAllowed) {
  const auto message = [](const Given& given) {
    return test::message_of<ConfigError>([&] {
      Trial("dp-sgda", with({{"batch", "10"}, {"steps", "2"}}, given), 1, quadratic(),
            test::numbers(std::vector<float>(100, 0.0F)));
    });
  };
  EXPECT_MENTIONS(message({{"dual_clip", "1"}}), "method.dual_rate = 0 ");
  EXPECT_MENTIONS(message({{"dual_rate", "1"}}), "method.dual_clip = 0 ");
  EXPECT_MENTIONS(message({{"steps", "0"}, {"dual_clip", "1"}, {"dual_rate", "1"}, {"epochs", "1e300"}}),
                  "method.epochs = 1e+300 ");
}

TEST(DpSgda, NeedsAMinMaxProblem) {
  EXPECT_THROW(Trial("dp-sgda", {{"batch", "10"}}, 1, test::make_objective("logistic", {1, Storage::dense_f32, 1}),
                     test::numbers(std::vector<float>(100, 0.0F))),
               ConfigError);
}

// What is published, evaluated and kept is the average of x, with the dual as it stands; the steps do not know of
// it.
TEST(MinMaxAverage, IsOfThePrimalAndChangesNoStep) {
  for (const char* method : {"dp-sgda", "private-diff"}) {
    const auto iterates_with = [&](const char* average) {
      Trial trial(method,
                  {{"batch", "10"},
                   {"steps", "12"},
                   {"dual_clip", "1"},
                   {"rate", "0.1"},
                   {"dual_rate", "0.1"},
                   {"average", average}},
                  1, quadratic(), test::numbers(std::vector<float>(100, 0.5F)));
      std::vector<std::vector<float>> all;
      for (int t = 0; t < 12; ++t) trial.run(1), all.push_back(trial.iterate());
      return all;
    };
    const auto plain = iterates_with("0"), averaged = iterates_with("0.6");
    double mean = 0;
    for (std::size_t t = 0; t < plain.size(); ++t) {
      const auto step = static_cast<double>(t);
      const double keep = t == 0 ? 0 : std::min(0.6, (1 + step) / (10 + step));
      mean = keep * mean + (1 - keep) * static_cast<double>(plain[t][0]);
      EXPECT_NEAR(averaged[t][0], mean, 1e-6) << method << t;
      EXPECT_EQ(averaged[t][1], plain[t][1]) << method << t;
    }
    EXPECT_GT(std::abs(averaged.back()[0] - plain.back()[0]), 1e-3) << method;
  }
}

// The uniform output is one of the pairs that were visited, by the public seed, and all rounds are possible.
TEST(DpSgda, UniformOutputIsOneOfThePairs) {
  std::vector<int> hits(5);
  for (int seed = 0; seed < 60; ++seed) {
    Trial trial("dp-sgda",
                with(full, {{"rate", "0.1"},
                            {"dual_rate", "0.5"},
                            {"steps", "5"},
                            {"output", "uniform"},
                            {"seed", std::to_string(seed)}}),
                0, quadratic(), test::numbers({0, 0, 0, 0}));
    std::vector<std::vector<float>> visited;
    for (int t = 0; t < 4; ++t) trial.run(1), visited.push_back(trial.iterate());
    trial.run(1);
    const auto found = std::find(visited.begin(), visited.end(), trial.iterate());
    ++hits[static_cast<std::size_t>(found - visited.begin())];  // the fifth pair is not in the list
  }
  for (const int hit : hits) EXPECT_GT(hit, 2);
}

// The prior is released once, with its own noise whatever the plan's, and moved into its range.
TEST(DpSgda, APrivatePriorIsOneFullBatchEvent) {
  auto f = std::make_unique<test::ToySaddle>(1, 1, [](double, auto, auto, auto, auto) {});
  auto* toy = f.get();
  std::vector<float> z(1000, 0.0F);
  Shard shard = test::numbers(z, 2);
  for (std::size_t i = 0; i < 400; ++i) shard.blocks[1].records.label[i] = -1;
  Trial trial("dp-sgda",
              {{"batch", "100"},
               {"steps", "150"},
               {"dual_clip", "1"},
               {"rate", "1"},
               {"dual_rate", "1"},
               {"prior", "private"},
               {"prior_noise", "5"}},
              1.5, std::move(f), std::move(shard), Adjacency::add_remove);
  trial.run();
  EXPECT_NEAR(toy->prior, 0.6, 5 * 5.0 / 1000);
  EXPECT_NE(toy->prior, 0.6);
  EXPECT_EQ(
      trial.ledger->events(),
      (std::vector<Event>{{Gaussian{5}, 1}, {PoissonGaussian{0.1, 1.5}, 100}, {PoissonGaussian{0.1, 1.5}, 50}}));
}

// Whether a record is taken away or has another label, the count of positive records moves by 1.
TEST(DpSgda, APrivatePriorMovesByOneUnderEitherAdjacency) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    Trial trial("dp-sgda",
                {{"batch", "100"},
                 {"steps", "1"},
                 {"dual_clip", "1"},
                 {"dual_rate", "1"},
                 {"prior", "private"},
                 {"prior_noise", "5"}},
                1.5, quadratic(), test::numbers(std::vector<float>(1000, 0.0F)), adjacency);
    const Query& prior = trial.queries.at(0);
    EXPECT_EQ(prior.sensitivity, 1);
    EXPECT_EQ(prior.noise_std, 5);
    EXPECT_EQ(prior.events(0, 1), (std::vector<Event>{{Gaussian{5}, 1}}));
  }
}

}  // namespace
}  // namespace dpmpi::dp_sgda_test
