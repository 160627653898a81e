// private-diff against its formulas, the special cases that it contains, and the ways in which the printed
// algorithm and its implementations go wrong.
#include "method/minimax/private_diff.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/minimax/saddle_iterate.hpp"
#include "problems/small_saddles.hpp"
#include "problems/trial.hpp"
#include "support/kolmogorov.hpp"

namespace dpmpi::private_diff_test {
namespace {

using test::ToySaddle;
using test::Trial;
using test::with;
using Given = std::map<std::string, std::string>;

const Given full{{"sampling", "full"}, {"rate", "0.1"}, {"dual_rate", "1"}, {"steps", "10"}};

// f with the gradients -x + 2 y + z k(x) and 2 x - y + z k(x), where k is another integer at each point of the
// path: for the z of test::dithered() both gradients and differences are those of real numbers.
std::unique_ptr<ToySaddle> quadratic() {
  auto f = std::make_unique<ToySaddle>(1, 1, [](double z, auto x, auto y, auto gx, auto gy) {
    const double k = std::floor(64 * x[0] + 2);
    gx[0] = -x[0] + 2.0 * y[0] + z * k;
    gy[0] = 2.0 * x[0] - y[0] + z * k;
  });
  f->start = {1, 0};
  return f;
}

// Without noise and clip, with eta_y = 1 in one step, y_{r+1} = 2 x_r and x_{r+1} = x_r - 0.1 (-x_r + 4 x_r).
// A14 of min-max methods.
TEST(PrivateDiff, FollowsTheExactPathForEveryRestart) {
  for (const char* T : {"1", "2", "3", "5", "10", "99"}) {
    Trial trial("private-diff",
                with(full, {{"clip", "4"}, {"difference_least", "8"}, {"dual_clip", "4"}, {"restart", T}}), 0,
                quadratic(), test::dithered(0x1p-9));
    trial.run();
    EXPECT_NEAR(trial.iterate()[0], std::pow(0.7, 10), 2e-7) << T;
    EXPECT_NEAR(std::pow(0.7, 10), 0.028247524900, 1e-12);
  }
}

// Gradients that are multiples of 1/8, so that every sum and mean below is exact in float32.
double eighths(double t) { return std::floor(8 * t) / 8; }
std::unique_ptr<ToySaddle> steps_of_eighths() {
  auto f = std::make_unique<ToySaddle>(3, 2, [](double z, auto x, auto y, auto gx, auto gy) {
    gx[0] = z * eighths(1.3 * x[0] + y[0]), gx[1] = eighths(z - x[1] * y[1]),
    gx[2] = eighths(x[0] * x[2] + z * y[1]);
    gy[0] = eighths(x[0] + z) - eighths(y[0]), gy[1] = eighths(x[2] * z) - eighths(y[1]);
  });
  f->start = {1, -0.5F, 0.25F, 0, 0.5F};
  return f;
}
const std::vector<float> eight{1, -1, 2, 0, 3, -2, 1, 1};

std::vector<double> mean_primal(const std::vector<float>& w) {
  std::vector<double> mean(3, 0.0);
  for (const float z : eight) {
    const double x0 = w[0], x1 = w[1], x2 = w[2], y0 = w[3], y1 = w[4];
    mean[0] += z * eighths(1.3 * x0 + y0) / 8, mean[1] += eighths(z - x1 * y1) / 8;
    mean[2] += eighths(x0 * x2 + z * y1) / 8;
  }
  return mean;
}

// Full batch, no clip, no noise: the differences telescope, and the estimator is the exact gradient at
// (x_r, y_{r+1}), for every T. A restart that forgot v = 0 or came a round late would not be (T11).
// A15 of min-max methods.
TEST(PrivateDiff, TrapTheEstimatorIsTheExactGradientForEveryRestart) {
  for (const char* T : {"1", "2", "5", "12"}) {
    Trial trial("private-diff",
                with(full, {{"clip", "64"},
                            {"difference_least", "128"},
                            {"dual_clip", "64"},
                            {"rate", "0.5"},
                            {"dual_rate", "0.5"},
                            {"steps", "12"},
                            {"dual_steps", "2"},
                            {"restart", T}}),
                0, steps_of_eighths(), test::numbers(eight, 2));
    std::vector<float> before = steps_of_eighths()->start;
    for (int r = 0; r < 12; ++r) {
      trial.run(1);
      const auto now = trial.iterate();  // (x_{r+1}, y_{r+1})
      const auto exact = mean_primal({before[0], before[1], before[2], now[3], now[4]});
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_NEAR((before[j] - now[j]) / 0.5, exact[j], 1e-10) << "T " << T << " round " << r;
      before = now;
    }
  }
}

// T = 1 is alternating dp-sgda: the same draws of noise on the same sums, round by round.
TEST(PrivateDiff, RestartingAlwaysIsAlternatingSgda) {
  Trial trial("private-diff",
              {{"batch", "4"},
               {"steps", "9"},
               {"restart", "1"},
               {"clip", "64"},
               {"dual_clip", "64"},
               {"rate", "0.5"},
               {"dual_rate", "0.5"}},
              0.5, steps_of_eighths(), test::numbers(eight, 2), Adjacency::add_remove);
  ASSERT_EQ(trial.queries.size(), 2u);
  const auto reference = steps_of_eighths();
  std::vector<float> w = reference->start;
  const std::string path = ::testing::TempDir() + "alternating.jsonl";
  std::filesystem::remove(path);
  Ledger ledger = Ledger::create(path, {Adjacency::add_remove, 8});
  Curator curator(trial.comm, trial.shard, trial.queries, 128, SecretKey::from_seed(1));
  curator.record_in(ledger);
  for (std::uint64_t r = 0; r < 9; ++r) {
    const Batch dual = curator.draw(trial.queries[1], r);
    const auto gy = curator.release(curator.sum(trial.queries[1], dual, clipped_dual_gradients(*reference, w)));
    for (std::size_t j = 0; j < 2; ++j) w[3 + j] = static_cast<float>(w[3 + j] + 0.5 * (0.25 * gy[j]));
    const Batch primal = curator.draw(trial.queries[0], r);
    const auto gx = curator.release(curator.sum(trial.queries[0], primal, clipped_primal_gradients(*reference, w)));
    for (std::size_t j = 0; j < 3; ++j) w[j] -= 0.5F * static_cast<float>(0.25 * gx[j]);
    trial.run(1);
    EXPECT_EQ(trial.iterate(), w) << r;
  }
}

// f = 0, so that everything is noise. Its deviations at round 0 (restart) and 1 (difference); the second in the
// proportion of C_{2,1} = C_2 |x_1 - x_0| + C_3, and not of C_1 or of an older radius (T10).
// A19 of min-max methods.
TEST(PrivateDiff, TrapDifferenceNoiseFollowsItsOwnRadius) {
  constexpr std::size_t d = 10000;
  double v1 = 0, v2 = 0, radius = 0;
  constexpr int seeds = 20;
  for (int seed = 0; seed < seeds; ++seed) {
    auto f = std::make_unique<ToySaddle>(d, 1, [](double, auto, auto, auto, auto) {});
    // z_restart = sqrt(10 / w_1) zeta = 2 and z_difference = sqrt(10 / w_2) zeta = 2.83 for these shares.
    const double w1 = 1 / (2.0 * 2.0), w2 = 1 / (2.83 * 2.83), total = w1 + w2 + 1e-9;
    Trial trial("private-diff",
                {{"batch", "100"},
                 {"steps", "20"},
                 {"restart", "2"},
                 {"clip", "1"},
                 {"dual_clip", "1"},
                 {"rate", "0.1"},
                 {"dual_rate", "1"},
                 {"difference_slope", "1"},
                 {"difference_dual_slope", "0"},
                 {"difference_least", "0.05"},
                 {"restart_share", fmt::format("{:.17g}", w1)},
                 {"difference_share", fmt::format("{:.17g}", w2)},
                 {"dual_share", "1e-9"}},
                1 / std::sqrt(10 * total), std::move(f), test::numbers(std::vector<float>(1000, 0.0F)),
                Adjacency::add_remove);
    EXPECT_NEAR(trial.queries[0].noise_multiplier, 2, 1e-12);
    EXPECT_NEAR(trial.queries[1].noise_multiplier, 2.83, 1e-12);
    trial.curator = std::make_unique<Curator>(trial.comm, trial.shard, trial.queries, 128,
                                              SecretKey::from_seed(static_cast<std::uint64_t>(100 + seed)));
    trial.curator->record_in(*trial.ledger);
    std::vector<std::vector<float>> x{trial.iterate()};
    for (int r = 0; r < 2; ++r) trial.run(1), x.push_back(trial.iterate());
    double s1 = 0, s2 = 0;
    std::vector<double> second(d);
    for (std::size_t j = 0; j < d; ++j) {
      second[j] = (x[1][j] - x[2][j]) / 0.1;
      s1 += std::pow((x[0][j] - x[1][j]) / 0.1, 2), s2 += second[j] * second[j];
    }
    v1 += std::sqrt(s1 / d) / seeds, v2 += std::sqrt(s2 / d) / seeds;
    radius += (0.1 * std::sqrt(s1) + 0.05) / seeds;
    EXPECT_GT(test::normal_p_value(second, std::sqrt(s2 / d)), 1e-4) << seed;
  }
  EXPECT_NEAR(v1, 0.0200, 0.01 * 0.0200);
  EXPECT_NEAR(radius, 0.25, 0.01 * 0.25);
  EXPECT_NEAR(v2, 0.021215, 0.01 * 0.021215);
}

TEST(PrivateDiff, RadiusIsAFunctionOfReleasedPointsWithinItsBounds) {
  const DifferenceRadius radius{.slope = 2, .dual_slope = 3, .least = 0.1, .most = 10};
  const std::vector<float> w{1, 2, 0, 5}, v{4, 6, 0, 4};
  EXPECT_NEAR(radius.between(w, v, 3), 10, 0);  // 2 * 5 + 3 * 1 + 0.1 is more
  EXPECT_NEAR(radius.between(w, w, 3), 0.1, 0);
  EXPECT_NEAR(radius.between(w, std::vector<float>{1, 2, 1, 5.5F}, 3), 2 + 1.5 + 0.1, 1e-12);
  const DifferenceRadius zero{.slope = 2, .dual_slope = 3, .most = 10};
  EXPECT_NEAR(zero.between(w, w, 3), 1e-9 * 5, 1e-24);
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> astray{inf, 0, 0, 0}, lost{0, 0, 0, std::nanf("")};
  for (const auto* point : {&astray, &lost}) EXPECT_EQ(radius.between(*point, *point, 3), 10);
}

TEST(PrivateDiff, ARunThatDivergesEnds) {
  Trial trial("private-diff", with(full, {{"rate", "1e38"}, {"clip", "8"}, {"dual_clip", "8"}}), 1, quadratic(),
              test::dithered(1));
  EXPECT_NO_THROW(trial.run());
}
// T12: it is given two points of which every rank has a copy, and nothing that could hold a sum or a record.
static_assert(std::is_same_v<decltype(&DifferenceRadius::between),
                             double (DifferenceRadius::*)(std::span<const float>, std::span<const float>,
                                                          std::size_t) const>);
static_assert(std::is_same_v<decltype(std::declval<Curator&>().release(std::declval<Secret<LatticeSum>>())),
                             std::span<const float>>);

// T15 and T11: as many releases as the ledger has, ceil(R / T) of them restarts, for R and T that do not divide.
TEST(PrivateDiff, TrapReleasesAreCountedOnce) {
  Trial trial("private-diff",
              with({{"batch", "4"}, {"restart", "3"}, {"steps", "7"}, {"dual_steps", "2"}},
                   {{"clip", "64"}, {"dual_clip", "64"}, {"dual_rate", "0.5"}}),
              1, steps_of_eighths(), test::numbers(eight), Adjacency::add_remove);
  std::map<std::string, std::uint64_t> counts;
  for (const Query& query : trial.queries) counts[query.name] = query.steps;
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"restart", 3}, {"difference", 4}, {"dual", 14}}));
  trial.run();
  std::uint64_t paid = 0;
  for (const Event& event : trial.ledger->events()) paid += event.count;
  EXPECT_EQ(paid, 3u + 4 + 14);
  const Kernel nothing = [](const Rows&, const L2Bound&, LatticeAccumulator&) {};
  for (const Query& query : trial.queries) {
    EXPECT_THROW((void)trial.curator->draw(query, query.steps), PrivacyError) << "one more than was paid for";
    const Batch last = trial.curator->draw(query, query.steps - 1);
    EXPECT_THROW((void)trial.curator->sum(query, last, nothing), PrivacyError) << "the last one was made";
  }
  EXPECT_THROW(trial.run(1), PrivacyError);
}

// Multipliers in the proportion sqrt(N_f / w_f), of families that there are.
TEST(PrivateDiff, SharesOfTheBudget) {
  const auto multipliers = [](const Given& more) {
    Trial trial("private-diff",
                with({{"batch", "4"},
                      {"restart", "8"},
                      {"steps", "80"},
                      {"clip", "64"},
                      {"dual_clip", "64"},
                      {"dual_rate", "0.5"}},
                     more),
                3, steps_of_eighths(), test::numbers(eight), Adjacency::add_remove);
    std::map<std::string, double> z;
    for (const Query& query : trial.queries) z[query.name] = query.noise_multiplier;
    return z;
  };
  auto z = multipliers({});
  EXPECT_NEAR(z["restart"], 3 * std::sqrt(10 / 0.6), 1e-12);
  EXPECT_NEAR(z["difference"], 3 * std::sqrt(70 / 0.3), 1e-12);
  EXPECT_NEAR(z["dual"], 3 * std::sqrt(80 / 0.1), 1e-12);
  z = multipliers({{"restart", "1"}});
  EXPECT_EQ(z.size(), 2u);
  EXPECT_NEAR(z["restart"], 3 * std::sqrt(80 / (0.6 / 0.7)), 1e-12);
  EXPECT_NEAR(z["dual"], 3 * std::sqrt(80 / (0.1 / 0.7)), 1e-12);
  // Of the whole run, were it not sampled: sum of N / z^2 = 1 / zeta^2.
  z = multipliers({{"restart_share", "1"}, {"difference_share", "1"}, {"dual_share", "1"}, {"dual_steps", "3"}});
  EXPECT_NEAR(10 / std::pow(z["restart"], 2) + 70 / std::pow(z["difference"], 2) + 240 / std::pow(z["dual"], 2),
              1.0 / 9, 1e-12);
}

// T17: noise first, then the projection; y stays in Y.
TEST(PrivateDiff, TrapTheDualIsProjectedAfterItsNoise) {
  auto f = std::make_unique<ToySaddle>(1, 1, [](double, auto, auto, auto, auto) {});
  f->project = [](std::span<float> y) { y[0] = std::clamp(y[0], 0.0F, 2.0F); };
  f->start = {0, 5};
  Trial trial("private-diff", {{"batch", "10"}, {"steps", "200"}, {"dual_clip", "1"}, {"dual_rate", "1"}}, 2,
              std::move(f), test::numbers(std::vector<float>(100, 0.0F)), Adjacency::add_remove);
  EXPECT_EQ(trial.iterate()[1], 2.0F) << "the start point, too";
  int inside = 0;
  for (int r = 0; r < 200; ++r) {
    trial.run(1);
    const float y = trial.iterate()[1];
    ASSERT_TRUE(y >= 0 && y <= 2) << y;
    inside += y > 0 && y < 2;
  }
  EXPECT_GT(inside, 5) << "and is noisy in its inside";
}

// The dual's public part is added as it is, once a step.
TEST(PrivateDiff, PublicPartsAreNotClipped) {
  auto f = std::make_unique<ToySaddle>(1, 1, [](double, auto, auto, auto, auto) {});
  f->public_dual = [](auto y, auto g) { g[0] += 1000 * (1 - y[0]); };
  Trial trial("private-diff", with(full, {{"dual_clip", "0.001"}, {"dual_rate", "0.0005"}, {"dual_steps", "2"}}), 0,
              std::move(f), test::numbers({0, 0, 0, 0}));
  trial.run(1);
  EXPECT_EQ(trial.iterate()[1], 0.75F);
}

TEST(PrivateDiff, DualSchedules) {
  const auto rates = [](const Given& more) {
    SaddleSettings settings;
    Options declared("method");
    settings.declare(declared);
    Settings given;
    for (const auto& [key, value] : with(more, {{"rate", "1"}})) given["method." + key] = {value, "test"};
    std::vector<std::string> problems;
    declared.read(given, problems);
    settings.validate(problems);
    EXPECT_TRUE(problems.empty());
    ToySaddle f(1, 1, [](double, auto, auto, auto, auto) {});
    f.curvature = 0.25;
    const SaddleIterate iterate(f, settings, 10);
    return std::vector<double>{iterate.dual_rate_at(0, 0), iterate.dual_rate_at(0, 2), iterate.dual_rate_at(5, 0)};
  };
  EXPECT_EQ(rates({}), (std::vector<double>{0.3 / 0.25, 0.3 / 0.25, 0.3 / 0.25}));
  EXPECT_EQ(rates({{"dual_schedule", "closed_form"}}), (std::vector<double>{4, 4, 4}));
  EXPECT_EQ(rates({{"dual_schedule", "inverse"}, {"dual_rate", "3"}}), (std::vector<double>{3, 1, 3}));
  EXPECT_EQ(rates({{"dual_schedule", "primal"}, {"dual_rate", "3"}, {"schedule", "linear"}}),
            (std::vector<double>{3, 3, 1.5}));
}

// Stopping and going on, at restarts and between them, ends with the same bytes.
TEST(PrivateDiff, GoesOnFromItsState) {
  const Given given{{"batch", "4"},       {"steps", "20"},      {"restart", "3"},     {"dual_steps", "2"},
                    {"clip", "64"},       {"dual_clip", "64"},  {"rate", "0.25"},     {"momentum", "0.5"},
                    {"dual_rate", "0.5"}, {"prior", "private"}, {"output", "uniform"}};
  const std::pair<const char*, double> cases[] = {
      {"private-diff", 1}, {"private-diff", 0}, {"dp-sgda", 1}, {"dp-sgda", 0}, {"dptd", 1}};
  for (const auto& [name, multiplier] : cases) {
    Given own = given;
    const bool sgda = std::string(name) == "dp-sgda" || std::string(name) == "dptd";
    if (sgda) own.erase("restart"), own.erase("dual_steps");
    const auto trial = [&] {
      return std::make_unique<Trial>(name, own, multiplier, steps_of_eighths(), test::numbers(eight),
                                     Adjacency::add_remove);
    };
    auto whole = trial();
    whole->run();
    const auto end = whole->iterate();
    whole.reset();
    for (const std::uint64_t stop : {1u, 6u, 7u, 19u}) {
      auto first = trial();
      first->run(stop);
      Archive out;
      first->algorithm->archive(out);
      first.reset();
      auto second = trial();
      Archive in(out.bytes());
      second->algorithm->archive(in);
      in.finish();
      second->curator->resume_at(0);  // nothing was written under this ledger; the run goes on at `stop`
      second->next = stop;
      second->run();
      EXPECT_EQ(second->iterate(), end) << name << " stopped at " << stop;
    }
  }
}

}  // namespace
}  // namespace dpmpi::private_diff_test
