// Black-box baselines: random-search, random-stopping and ucb-bo. What one record can move, in integers; how much
// noise there is; what stands in the ledger; that they find a minimum and go on where they stopped.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/black_box/box_search.hpp"
#include "method/black_box/loss_surrogate.hpp"
#include "privacy/accountants/gdp.hpp"
#include "problems/trial.hpp"
#include "support/kolmogorov.hpp"
#include "support/lattice_distance.hpp"
#include "support/special_numbers.hpp"
#include "support/text.hpp"

namespace dpmpi::box_search_test {
namespace {

using test::distance;
using test::numbered_shard;
using test::Trial;
using Options = std::map<std::string, std::string>;
using test::nan, test::infinity;

std::unique_ptr<Objective> losses(std::size_t dim, test::BlackBox::Loss loss) {
  return std::make_unique<test::BlackBox>(dim, std::move(loss));
}

/// |w - c|^2, c = (0.3, 0.3, ...), the same for every record.
double bowl(std::size_t, std::span<const double> w) {
  double square = 0;
  for (const double v : w) square += (v - 0.3) * (v - 0.3);
  return square;
}

std::vector<std::int64_t> lattice_sum(Objective& objective, const Query& query, double clip,
                                      const Records& records) {
  ClippedLosses at(objective, query.dim, clip);
  for (std::size_t j = 0; j < query.dim; ++j)
    for (std::size_t k = 0; k < objective.dim(); ++k) at.point(j)[k] = static_cast<float>(j + 1);
  LatticeAccumulator sum(query.dim, query.lattice, query.bound.clip * (1 + query.eta), 0, Width::int64);
  MicroBatching batching = MicroBatching::plan(objective.micro_batch_rows(), records.count, 1);
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < records.count; ++i) all.push_back(i);
  at.sum().run(query.bound, sum, [&](const auto& visit) { batching.for_each(records, all, visit); });
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

// Neighbours with any losses at all, T10 among them: within the sensitivity, and as far as it.
TEST(ClippedLosses, NeighboursDifferByAtMostTheSensitivity) {
  constexpr std::size_t points = 7, n = 300;
  constexpr double clip = 0.7;
  const std::vector<double> extremes{0, 1e300, -1e300, nan, infinity, -infinity, 0.35, 0.7, 1e-320, 0.123};
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    const Query query = Query::declare({.name = "losses",
                                        .dim = points,
                                        .sampling = FullBatch{},
                                        .bound = ClippedLosses::bound(points, clip),
                                        .slack = ClippedLosses::slack(),
                                        .noise_multiplier = 1,
                                        .steps = 1,
                                        .kind = ExactSum{}},
                                       0, adjacency, n);
    const double whole = (adjacency == Adjacency::add_remove ? 0.5 : 1) * clip * std::sqrt(double{points});
    EXPECT_NEAR(query.sensitivity, whole, 1e-8 * whole) << "half of the doubled bound: losses are centred";
    double largest = 0;
    for (std::uint64_t pair = 0; pair < 200; ++pair) {
      const PublicStream stream(pair, "losses test");
      const auto loss = [&](bool neighbour) {
        return losses(1, [&stream, &extremes, neighbour, pair](std::size_t i, std::span<const double> w) {
          const auto at = static_cast<std::uint64_t>(w[0]);
          if (i != 17) return stream.uniform(1000 * at + i) - 0.1;
          if (pair == 0) return neighbour ? 0.0 : 1e9;
          return extremes[stream.below(100000 + 2 * at + (neighbour ? 1 : 0), extremes.size())];
        });
      };
      Records records = test::numbered_records(n), other = records;
      if (adjacency == Adjacency::add_remove) test::remove_record(other, 17);
      const double moved = distance(lattice_sum(*loss(false), query, clip, records),
                                    lattice_sum(*loss(true), query, clip, other), query.lattice);
      ASSERT_LE(moved, query.sensitivity) << pair;
      largest = std::max(largest, moved);
    }
    EXPECT_GT(largest, 0.999999 * query.sensitivity);
  }
}

// Losses that overflow make a point look bad; empty slots and records that are not finite count as C/2 everywhere.
TEST(ClippedLosses, CountsWhatIsNotFinite) {
  const Query query = Query::declare({.name = "losses",
                                      .dim = 1,
                                      .sampling = FullBatch{},
                                      .bound = ClippedLosses::bound(1, 1),
                                      .slack = ClippedLosses::slack(),
                                      .noise_multiplier = 1,
                                      .steps = 1,
                                      .kind = ExactSum{}},
                                     0, Adjacency::add_remove, 4);
  const auto sum = [&](double value, bool infinite_norm) {
    Records records = test::numbered_records(1);
    if (infinite_norm) records.norm[0] = std::numeric_limits<float>::infinity();
    const auto f = losses(1, [value](std::size_t, std::span<const double>) { return value; });
    return static_cast<double>(lattice_sum(*f, query, 1, records)[0]) * query.lattice.quantum();
  };
  EXPECT_EQ(sum(0.25, false), -0.25);
  EXPECT_EQ(sum(-3, false), -0.5);
  for (const double bad : {nan, infinity, -infinity, 1e308}) EXPECT_EQ(sum(bad, false), 0.5) << bad;
  EXPECT_EQ(sum(0.25, true), 0);
}

// The noisy means have the deviation C sqrt(m) / (n mu) under replace_one, however the points are cut into blocks:
// 0.01 for C = 1, m = 100, n = 1000, mu = 1.
TEST(RandomSearch, NoiseIsThatOfOneVectorOfAllMeans) {
  for (const char* block : {"1", "10", "100"})
    for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
      const Trial trial("random-search", {{"candidates", "100"}, {"block", block}}, 1.0, losses(2, bowl),
                        numbered_shard(1000), adjacency);
      EXPECT_NEAR(trial.derived("s"), adjacency == Adjacency::replace_one ? 0.01 : 0.005, 1e-9);
      EXPECT_NEAR(trial.derived("mu"), 1, 1e-12);
    }
}

TEST(RandomSearch, NoisyMeansHaveTheLawOfThePlan) {
  Trial trial("random-search", {{"candidates", "4000"}, {"block", "4"}, {"clip", "2"}}, 0.5,
              losses(1, [](std::size_t i, std::span<const double>) { return i % 2 == 0 ? 0.5 : 1.5; }),
              numbered_shard(100));
  ClippedLosses at(*trial.objective, 4, 2);
  const Query& query = trial.queries[0];
  std::vector<double> noise;
  for (std::uint64_t t = 0; t < query.steps; ++t)
    for (const double v :
         trial.curator->release_exact(trial.curator->sum(query, trial.curator->draw(query, t), at.sum())))
      noise.push_back(v);
  EXPECT_GT(test::normal_p_value(noise, 100 * trial.derived("s")), 1e-3);
  EXPECT_LT(test::normal_p_value(noise, 90 * trial.derived("s")), 1e-3) << "the test can tell";
}

double spent_mu(const Trial& trial) {
  GdpAccountant account(trial.facts.adjacency);
  account.compose(trial.ledger->events());
  return account.mu();
}

TEST(RandomSearch, LedgerEqualsPlan) {
  Trial trial("random-search", {{"candidates", "30"}, {"block", "5"}}, 2.0, losses(2, bowl), numbered_shard(50));
  trial.run();
  EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, 6));
  EXPECT_NEAR(spent_mu(trial), 0.5, 1e-12);
  EXPECT_THROW(trial.algorithm->step(*trial.curator, 5), PrivacyError) << "a release is made once";
  EXPECT_THROW(trial.algorithm->step(*trial.curator, 6), PrivacyError) << "T12: and none beyond the plan";
}

// Without noise the best of the points; with little noise nearly; the public regulariser counts.
TEST(RandomSearch, FindsTheBestOfItsPoints) {
  const auto run = [](double z, double l2) {
    auto objective = losses(2, bowl);
    objective->l2 = l2;
    Trial trial("random-search", {{"candidates", "400"}, {"block", "20"}, {"clip", "4"}}, z, std::move(objective),
                numbered_shard(500));
    trial.run();
    return trial.iterate();
  };
  std::vector<float> best(2), regularised(2);
  double least = infinity, least_regularised = infinity;
  for (std::uint64_t j = 0; j < 400; ++j) {
    std::vector<double> shares(2), at(2);
    std::vector<float> point(2);
    BoxSearch::draw(1, j, shares);
    BoxSearch().place(shares, point);
    at.assign(point.begin(), point.end());
    const double value = bowl(0, at), penalty = 5 * (at[0] * at[0] + at[1] * at[1]);
    if (value < least) least = value, best = point;
    if (value + penalty < least_regularised) least_regularised = value + penalty, regularised = point;
  }
  EXPECT_EQ(run(0, 0), best);
  EXPECT_EQ(run(0, 10), regularised);
  const auto noisy = run(0.2, 0);  // s = 4 sqrt(400) 0.2 / 500 = 0.032
  EXPECT_LT(bowl(0, std::vector<double>(noisy.begin(), noisy.end())), least + 0.2);
}

// The middle one of five values of both parameters is nearest to 0.3, and no uniform point is as near to it.
TEST(RandomSearch, GoesThroughAGrid) {
  std::vector<std::vector<double>> points;
  Trial trial("random-search", {{"candidates", "25"}, {"block", "5"}, {"points", "grid"}, {"box_hi", "1.6"}}, 0,
              losses(2,
                     [&points](std::size_t i, std::span<const double> w) {
                       if (i == 0) points.emplace_back(w.begin(), w.end());
                       return bowl(i, w);
                     }),
              numbered_shard(50));
  trial.run();
  std::ranges::sort(points);
  points.erase(std::unique(points.begin(), points.end()), points.end());  // each block has a record 0
  ASSERT_EQ(points.size(), 25u);
  for (std::size_t j = 0; j < 25; ++j)
    for (const std::size_t k : {0u, 1u})
      EXPECT_NEAR(points[j][k], -1 + 2.6 * (static_cast<double>(k == 0 ? j / 5 : j % 5) + 0.5) / 5, 1e-6) << j;
  EXPECT_NEAR(trial.iterate()[0], 0.3, 1e-6);
  EXPECT_NEAR(trial.iterate()[1], 0.3, 1e-6);
}

TEST(RandomSearch, SaysWhichGridsThereAre) {
  try {
    const Trial trial("random-search", {{"candidates", "100"}, {"points", "grid"}}, 1, losses(6, bowl),
                      numbered_shard(10));
    ADD_FAILURE() << "100 is no sixth power";
  } catch (const ConfigError& e) {
    for (const char* part : {"method.candidates = 100", "6 parameters", "64 (a side of 2 values)", "729"})
      EXPECT_TRUE(test::contains(e.what(), part)) << part << ": " << e.what();
  }
}

TEST(RandomSearch, RefusesWhatItCannotDo) {
  EXPECT_THROW(Trial("random-search", {}, 1.0,
                     test::make_objective("auc", {3, Storage::dense_f32, 0}, {{"objective.prior", "0.3"}}),
                     numbered_shard(10)),
               ConfigError)
      << "a min-max value is no mean over records";
  for (const Options& bad : {Options{{"candidates", "10"}, {"block", "4"}}, {{"box_lo", "1"}, {"box_hi", "1"}}}) {
    std::vector<std::string> problems;
    for (const auto& entry : methods()) {
      if (entry.name != "random-search") continue;
      const auto method = entry.make();
      dpmpi::Options declared("method");
      method->declare(declared);
      Settings settings;
      for (const auto& [key, value] : bad) settings["method." + key] = {value, "test"};
      declared.read(settings, problems);
      method->validate(problems);
    }
    EXPECT_EQ(problems.size(), 1u);
  }
}

struct ShortRun {
  const char* name;
  double multiplier;
  Options options;
};
const ShortRun short_runs[] = {
    {"random-search", 1, {{"candidates", "24"}, {"block", "3"}}},
    {"random-search", 0, {{"candidates", "24"}, {"block", "3"}}},
    {"ucb-bo", 1, {{"steps", "8"}, {"candidates", "60"}}},
    {"ucb-bo", 0, {{"steps", "8"}, {"candidates", "60"}, {"kernel", "rbf"}, {"beta", "0"}}}};

// A run that was stopped goes on to the same point, from its archive alone.
TEST(BoxSearch, ResumesToTheSamePoint) {
  for (const auto& [name, multiplier, options] : short_runs) {
    const auto start = [&] {
      return Trial(name, options, multiplier, losses(2, bowl), numbered_shard(200), Adjacency::add_remove, 3);
    };
    Trial whole = start();
    whole.run();
    Trial first = start();
    first.run(5);
    Trial second = start();
    second.resume(first);
    EXPECT_EQ(second.iterate(), first.iterate()) << name;
    second.run();
    EXPECT_EQ(second.iterate(), whole.iterate()) << name;
  }
}

TEST(UcbBo, LedgerEqualsPlan) {
  Trial trial("ucb-bo", {{"steps", "25"}, {"candidates", "50"}}, 2.0, losses(1, bowl), numbered_shard(1000),
              Adjacency::replace_one);
  EXPECT_NEAR(trial.derived("s"), 1.0 * std::sqrt(25.0) * 2 / 1000, 1e-9) << "C sqrt(T) / (n mu)";
  trial.run();
  EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, 25));
  EXPECT_NEAR(spent_mu(trial), 0.5, 1e-12);
}

// On a bowl it comes nearer to the minimum than as many random points, under the same budget.
TEST(UcbBo, BeatsRandomSearchOnASmoothLoss) {
  double searched = 0, optimised = 0;
  for (std::uint64_t key = 1; key <= 10; ++key) {
    const auto value = [&](const std::string& name, Options options) {
      options["seed"] = std::to_string(key), options["clip"] = "4";
      Trial trial(name, options, 2.0, losses(2, bowl), numbered_shard(2000), Adjacency::replace_one, key);
      trial.run();
      const auto w = trial.iterate();
      return bowl(0, std::vector<double>(w.begin(), w.end()));
    };
    searched += value("random-search", {{"candidates", "30"}, {"block", "10"}}) / 10;
    optimised += value("ucb-bo", {{"steps", "30"}, {"candidates", "500"}, {"lengthscale", "0.5"}}) / 10;
  }
  EXPECT_LT(optimised, 0.5 * searched);
  EXPECT_LT(optimised, 0.03);
}

// T7: what is evaluated follows from released values. Records that are told apart by nothing that is summed leave
// the same path.
TEST(UcbBo, PathFollowsReleasedValuesOnly) {
  const auto path = [](bool swapped) {
    Trial trial("ucb-bo", {{"steps", "6"}, {"candidates", "40"}}, 1.0,
                losses(2,
                       [swapped](std::size_t i, std::span<const double> w) {
                         return (i % 2 == (swapped ? 1u : 0u) ? 0.25 : 0.75) * (bowl(i, w) < 1 ? 1 : 0.5);
                       }),
                numbered_shard(400));
    std::vector<std::vector<float>> points;
    for (std::uint64_t t = 0; t < trial.steps; ++t) trial.run(1), points.push_back(trial.iterate());
    return points;
  };
  EXPECT_EQ(path(false), path(true));
}

TEST(LossSurrogate, IsThePosterior) {
  const std::vector<double> points{0, 0.5, 1, 3};
  for (const auto kernel : {SurrogateKernel::rbf, SurrogateKernel::matern52}) {
    const double l = 0.8, variance = 4, noise = 0.3;
    LossSurrogate surrogate({kernel, l, 2, noise}, 1, points);
    EXPECT_EQ(surrogate.lowest(1), 0u) << "all the same: the first";
    surrogate.observe(0, 1);
    surrogate.observe(2, -2);
    const auto k = [&](double x, double y) {
      const double q = std::abs(x - y) / l, a = std::sqrt(5.0) * q;
      return variance *
             (kernel == SurrogateKernel::rbf ? std::exp(-q * q / 2) : (1 + a + a * a / 3) * std::exp(-a));
    };
    const double a = variance + noise * noise, b = k(0, 1), det = a * a - b * b;
    for (std::size_t j = 0; j < 4; ++j) {
      const double x = points[j], u = k(x, 0), v = k(x, 1);
      EXPECT_NEAR(surrogate.mean(j), (u * (a * 1 - b * -2) + v * (-b * 1 + a * -2)) / det, 1e-12);
      EXPECT_NEAR(surrogate.deviation(j), std::sqrt(variance - (u * (a * u - b * v) + v * (-b * u + a * v)) / det),
                  1e-12);
    }
    EXPECT_EQ(surrogate.lowest(0), 2u);
    EXPECT_EQ(surrogate.lowest(100), 3u) << "the farthest is the least known";
  }
  // Values without noise, some of them at one place.
  LossSurrogate exact({SurrogateKernel::rbf, 1, 1, 0}, 1, points);
  exact.observe(1, 0.5), exact.observe(1, 0.5), exact.observe(3, -1);
  EXPECT_NEAR(exact.mean(1), 0.5, 1e-6);
  EXPECT_NEAR(exact.mean(3), -1, 1e-6);
  EXPECT_NEAR(exact.deviation(3), 0, 1e-3);
}

const Options geometric{{"gamma", "0.02"}, {"clip", "4"}};

// The best of some fifty points, which are not those of any public seed.
TEST(RandomStopping, ReleasesAGoodPoint) {
  double value = 0;
  for (std::uint64_t key = 1; key <= 20; ++key) {
    Trial trial("random-stopping", geometric, 5, losses(2, bowl), numbered_shard(500), Adjacency::replace_one, key);
    EXPECT_NEAR(trial.derived("E K"), 50, 1e-9);
    EXPECT_NEAR(trial.derived("s"), 4.0 * 5 / 500, 1e-9);
    trial.run();
    const auto w = trial.iterate();
    value += bowl(0, std::vector<double>(w.begin(), w.end())) / 20;
  }
  EXPECT_LT(value, 0.15);  // one point: 0.85 on average
}

// One event, whatever was drawn; a step that was done is not done again.
TEST(RandomStopping, LedgerHasOneEvent) {
  Trial trial("random-stopping", {{"shape", "0.5"}, {"gamma", "0.1"}}, 4, losses(2, bowl), numbered_shard(100));
  trial.run();
  EXPECT_EQ(trial.ledger->events(),
            (std::vector<Event>{{RepeatAndSelect{{.shape = 0.5, .gamma = 0.1}, {{Gaussian{4}, 1}}}, 1}}));
  EXPECT_THROW(trial.algorithm->step(*trial.curator, 0), PrivacyError);
}

// Options of the law that is not used are no part of the event.
TEST(RandomStopping, PoissonMayReleaseTheMiddleOfTheBox) {
  int middle = 0;
  for (std::uint64_t key = 1; key <= 40; ++key) {
    Trial trial("random-stopping", {{"distribution", "poisson"}, {"mean", "0.7"}, {"shape", "3"}, {"box_hi", "3"}},
                4, losses(2, bowl), numbered_shard(20), Adjacency::add_remove, key);
    EXPECT_EQ(trial.queries[0].events(0, 1),
              (std::vector<Event>{
                  {RepeatAndSelect{{.distribution = Repetitions::poisson, .mean = 0.7}, {{Gaussian{4}, 1}}}, 1}}));
    trial.run();
    middle += trial.iterate() == std::vector<float>{1, 1} ? 1 : 0;
  }
  EXPECT_NEAR(middle, 40 * std::exp(-0.7), 13);
}

// A run that was stopped before its only step, or after it.
TEST(RandomStopping, Resumes) {
  const auto start = [] { return Trial("random-stopping", geometric, 1, losses(2, bowl), numbered_shard(50)); };
  Trial whole = start();
  whole.run();
  Trial stopped = start();
  Trial again = start();
  again.resume(stopped);
  again.run();
  EXPECT_EQ(again.iterate(), whole.iterate());
  Trial done = start();
  done.run();
  Trial after = start();
  after.resume(done);
  EXPECT_EQ(after.iterate(), whole.iterate());
}

}  // namespace
}  // namespace dpmpi::box_search_test
