// What one record can change in the queries of private-diff and of the printed algorithm: sensitivities, laws of
// released values, and the distinguishing game.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/math/distributions/beta.hpp>

#include "core/errors.hpp"
#include "method/minimax/private_diff.hpp"
#include "problems/cross_batch.hpp"
#include "problems/printed_private_diff.hpp"
#include "problems/small_saddles.hpp"
#include "problems/trial.hpp"
#include "support/kolmogorov.hpp"

namespace dpmpi::private_diff_privacy_test {
namespace {

using test::cross_batch_differences;
using test::PublicBatches;
using test::ToySaddle;
using test::Trial;
using Given = std::map<std::string, std::string>;

// f = x y + z y - (mu / 2) y^2: the primal gradient is y for every record, so whoever sees it sees the dual.
constexpr double mu = 0.01;
std::unique_ptr<ToySaddle> revealing() {
  auto f = std::make_unique<ToySaddle>(1, 1, [](double z, auto x, auto y, auto gx, auto gy) {
    gx[0] = y[0];
    gy[0] = x[0] + z;
  });
  f->public_dual = [](auto y, auto g) { g[0] -= mu * y[0]; };
  return f;
}
Shard dataset(float last) {
  std::vector<float> z(100, 0.0F);
  z.back() = last;
  return test::numbers(z, 2);
}

// The sum of a kernel over all records of a shard, exactly.
std::vector<double> total(const Shard& shard, const Kernel& kernel, double clip, std::size_t dim) {
  LatticeAccumulator sum(dim, Lattice{20}, clip * 1.01);
  for (const auto& block : shard.blocks) {
    std::vector<std::uint32_t> rows, slots;
    for (std::uint32_t i = 0; i < block.records.count; ++i)
      rows.push_back(i), slots.push_back(static_cast<std::uint32_t>(block.first_index) + i);
    kernel({block.records, rows, slots}, {clip}, sum);
  }
  std::vector<double> values;
  for (const auto t : sum.totals()) values.push_back(static_cast<double>(t) * sum.lattice().quantum());
  return values;
}
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}
Shard without(Shard shard, std::size_t record) {
  for (auto& block : shard.blocks)
    if (record >= block.first_index && record - block.first_index < block.records.count)
      test::remove_record(block.records, record - block.first_index);
  return shard;
}

// T1: with released points frozen a record moves both primal queries by its clip at most.
TEST(PrivateDiffPrivacy, TrapOneRecordMovesAQueryByItsClip) {
  const auto f = revealing();
  const std::vector<float> w{0, 100}, v{0, -100};
  for (const float last : {0.0F, 1.0F}) {
    const Shard whole = dataset(last);
    for (const std::size_t record : {0u, 57u, 99u}) {
      const Shard less = without(whole, record);
      const double gradient = distance(total(whole, clipped_primal_gradients(*f, w), 1, 1),
                                       total(less, clipped_primal_gradients(*f, w), 1, 1));
      const double difference = distance(total(whole, clipped_primal_differences(*f, w, v), 0.25, 1),
                                         total(less, clipped_primal_differences(*f, w, v), 0.25, 1));
      EXPECT_LE(gradient, 1 + 1e-9);
      EXPECT_LE(difference, 0.25 + 1e-9);
      EXPECT_GT(gradient, 0.99) << "the record counts";
      EXPECT_GT(difference, 0.24);
    }
  }
}

// The printed algorithm's first primal query, with the dual as the records have made it: here every summand moves.
TEST(PrivateDiffPrivacy, TrapThePrintedQueryMovesInEverySummand) {
  std::vector<std::vector<double>> queries;
  for (const float last : {0.0F, 1.0F}) {
    const auto f = revealing();
    std::vector<float> w{0, 0};
    const Shard shard = dataset(last);
    const auto sum = total(shard, clipped_dual_gradients(*f, w), 1, 1);  // one step of 1 / mu
    w[1] = static_cast<float>(sum[0] / 100 / mu);
    queries.push_back(total(shard, public_batch_gradients(*f, w, {}, 0), 1, 1));
  }
  EXPECT_NEAR(distance(queries[0], queries[1]), 100, 1e-6);
}

// T2: a difference of equal points is 0 on one batch; the printed one, over two batches, is not.
TEST(PrivateDiffPrivacy, TrapDifferencesPairARecordWithItself) {
  ToySaddle f(1, 1, [](double z, auto, auto, auto gx, auto) { gx[0] = z; });
  const std::vector<float> w{0.5F, 0.5F};
  std::vector<float> z(200);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = static_cast<float>(i % 7) / 8;
  const Shard shard = test::numbers(z, 4);
  EXPECT_EQ(total(shard, clipped_primal_differences(f, w, w), 1, 1)[0], 0);
  const PublicBatches half{.seed = 3, .rate = 0.5};
  EXPECT_NE(total(shard, cross_batch_differences(f, w, w, half, 1, 8), 1, 1)[0], 0);
}

// As printed, pair by pair: where both batches are all records it is the same as the difference kernel.
TEST(PrivateDiffPrivacy, ThePrintedDifferenceOfWholeBatches) {
  const auto f = revealing();
  const std::vector<float> w{0.25F, 0.5F}, v{-0.25F, -0.125F};
  for (const double clip : {1.0, 0.25})
    EXPECT_NEAR(total(dataset(1), cross_batch_differences(*f, w, v, {}, 1, 8), clip, 1)[0],
                total(dataset(1), clipped_primal_differences(*f, w, v), clip, 1)[0], 1e-4);
}

// The literal algorithm against a threshold, and the corrected one's primal query at the same released dual.
// A23 of min-max methods.
TEST(PrivateDiffPrivacy, ThePrintedAlgorithmTellsNeighboursApart) {
  constexpr int runs = 10000, chains = 1000;
  // 4 sqrt(log(1 / delta)) / (n epsilon) = 0.2, the deviation of the noise on the query's mean.
  const double stated = 4 * std::sqrt(1.1 * std::log(100.0)) / (100 * 0.2);
  const double unit = std::sqrt(chains);
  int errors[2] = {};
  for (const int last : {0, 1}) {
    for (int run = 0; run < runs / chains; ++run) {
      // Independent runs at once: one coordinate each, in units of 1 / sqrt(chains).
      auto f = std::make_unique<ToySaddle>(chains, 1, [=](double z, auto, auto y, auto gx, auto gy) {
        for (double& g : gx) g = std::min<double>(1, y[0]) / unit;
        gy[0] = z;
      });
      f->public_dual = [](auto y, auto g) { g[0] -= mu * y[0]; };
      Trial trial("printed-private-diff",
                  {{"sampling", "full"},
                   {"steps", "1"},
                   {"restart", "1"},
                   {"clip", "1"},
                   {"dual_clip", "1"},
                   {"rate", "1"},
                   {"dual_rate", "100"},
                   {"concavity", "0.01"},
                   {"seed", std::to_string(run)},
                   {"stated_epsilon", fmt::format("{:.17g}", unit * stated)}},
                  0, std::move(f), dataset(static_cast<float>(last)));
      trial.run();
      const auto x = trial.iterate();
      for (std::size_t j = 0; j < chains; ++j) errors[last] += (-unit * x[j] > 0.5) != (last == 1);
    }
  }
  for (const int e : errors) EXPECT_NEAR(static_cast<double>(e) / runs, 0.0062, 0.0025);
}

/// A restart in every one of `runs` rounds, on all records.
Given restarts_only(std::uint64_t runs) {
  return {{"sampling", "full"}, {"steps", fmt::format("{}", runs)},
          {"restart", "1"},     {"clip", "1"},
          {"dual_clip", "1"},   {"rate", "1"},
          {"dual_rate", "1"}};
}

/// The first coordinate of the trial's primal query at w, released in every round, with the noise of this key.
std::vector<double> released_at(Trial& trial, const std::vector<float>& w, std::uint64_t key) {
  const Query& query = trial.queries.at(0);
  trial.curator = std::make_unique<Curator>(trial.comm, trial.shard, trial.queries, 128, SecretKey::from_seed(key));
  trial.curator->record_in(*trial.ledger);
  std::vector<double> values;
  for (std::uint64_t r = 0; r < trial.steps; ++r) {
    const Batch batch = trial.curator->draw(query, r);
    values.push_back(
        trial.curator->release(trial.curator->sum(query, batch, clipped_primal_gradients(*trial.saddle(), w)))[0]);
  }
  return values;
}

// Corrected: at a released dual the primal query has the same law on both. Two-sample test.
// A23 of min-max methods.
TEST(PrivateDiffPrivacy, AtAReleasedDualNeighboursHaveOneLaw) {
  constexpr std::uint64_t runs = 10000;
  std::vector<double> released[2];
  for (const int last : {0, 1}) {
    Trial trial("private-diff", restarts_only(runs), 1 / std::sqrt(runs / (6.0 / 7)) * 20, revealing(),
                dataset(static_cast<float>(last)));
    EXPECT_NEAR(trial.queries.at(0).noise_std, 40, 1e-2) << "0.2 on the mean, under replace_one twice the clip";
    released[last] = released_at(trial, {0, 0.5F}, static_cast<std::uint64_t>(last) + 5);
  }
  EXPECT_GT(test::same_law_p_value(released[0], released[1]), 1e-3);
}

// Lower confidence bound on epsilon at delta from a threshold test (Clopper and Pearson, 95 % on each side).
double lower_bound_on_epsilon(const std::vector<double>& null, const std::vector<double>& alternative,
                              double delta) {
  const auto n = static_cast<double>(null.size());
  double best = 0;
  for (double threshold = -3; threshold <= 5; threshold += 0.05) {
    const auto above = [&](const std::vector<double>& values) {
      return static_cast<double>(
          std::count_if(values.begin(), values.end(), [&](double v) { return v > threshold; }));
    };
    const double hits = above(alternative), alarms = above(null);
    if (hits == 0 || alarms == n) continue;
    const double least_hits = boost::math::quantile(boost::math::beta_distribution<>(hits, n - hits + 1), 0.025);
    const double most_alarms =
        boost::math::quantile(boost::math::beta_distribution<>(alarms + 1, n - alarms), 0.975);
    if (least_hits > delta) best = std::max(best, std::log((least_hits - delta) / most_alarms));
  }
  return best;
}

// One primal query with z = 1 of all records, released many times on neighbours that differ by a record of norm C.
void audit_one_query(std::uint64_t runs, double power) {
  std::vector<double> released[2];
  for (const int extra : {0, 1}) {
    auto f = std::make_unique<ToySaddle>(1, 1, [](double z, auto, auto, auto gx, auto) { gx[0] = z; });
    std::vector<float> z(20, 0.0F);
    z[7] = 1;
    Shard shard = test::numbers(z);
    if (extra == 0) test::remove_record(shard.blocks[0].records, 7);
    Trial trial("private-diff", restarts_only(runs), 1 / std::sqrt(static_cast<double>(runs) / (6.0 / 7)),
                std::move(f), std::move(shard), Adjacency::add_remove);
    EXPECT_NEAR(trial.queries.at(0).noise_multiplier, 1, 1e-12);
    released[extra] = released_at(trial, {0, 0}, static_cast<std::uint64_t>(extra) + 11);
  }
  const double bound = lower_bound_on_epsilon(released[0], released[1], 1e-5);
  EXPECT_LE(bound, 4.3772);
  EXPECT_GE(bound, power);
}
// A24 of min-max methods.
TEST(PrivateDiffPrivacy, AnAuditOfOneQueryStaysBelowItsEpsilonAndHasPower) { audit_one_query(10000, 1.7); }
TEST(PrivateDiffPrivacy, SlowAuditOfOneQuery) { audit_one_query(100000, 2.0); }

// T14. Without a known key two runs differ.
TEST(PrivateDiffPrivacy, TrapNoiseHasAKeyOfItsOwn) {
  std::vector<std::vector<float>> ends;
  for (int run = 0; run < 2; ++run) {
    Trial trial("private-diff", {{"batch", "10"}, {"steps", "3"}, {"dual_clip", "1"}, {"dual_rate", "1"}}, 1,
                revealing(), dataset(0), Adjacency::add_remove);
    trial.curator =
        std::make_unique<Curator>(trial.comm, trial.shard, trial.queries, 128, SecretKey::from_system());
    trial.curator->record_in(*trial.ledger);
    trial.run();
    ends.push_back(trial.iterate());
  }
  EXPECT_NE(ends[0], ends[1]);
}

// A block of T rounds shares its restart's noise. On a quadratic whose steps contract by c, without noise in the
// differences, the variance at block ends over that of dp-sgda is (1 / T) (1 - c^T) (1 + c) / ((1 + c^T) (1 - c)).
// A20 of min-max methods.
TEST(PrivateDiffPrivacy, BlocksShareTheirRestartsNoise) {
  constexpr std::size_t chains = 4000;
  constexpr int T = 8, blocks = 60, settled = 20;
  const auto variance = [&](double c, const char* restart) {
    auto f = std::make_unique<ToySaddle>(chains, 1, [](double, auto x, auto, auto gx, auto) {
      for (std::size_t j = 0; j < gx.size(); ++j) gx[j] = x[j];
    });
    // The same budget a round for both: of all rounds with T = 1, and of a T-th of them. Differences have none.
    const double share = std::string(restart) == "1" ? 1 : 1e6;
    Trial trial("private-diff",
                {{"sampling", "full"},
                 {"steps", fmt::format("{}", T * blocks)},
                 {"restart", restart},
                 {"clip", "1"},
                 {"dual_clip", "1"},
                 {"rate", fmt::format("{:.17g}", 1 - c)},
                 {"dual_rate", "1"},
                 {"difference_slope", "1.0001"},
                 {"difference_dual_slope", "0"},
                 {"difference_least", "1e-4"},
                 {"restart_share", "1"},
                 {"difference_share", fmt::format("{:.17g}", share)},
                 {"dual_share", "1e-3"}},
                1, std::move(f), test::numbers({0}), Adjacency::add_remove);
    // z_restart for the comparison: proportional to sqrt(N_1), tiny against the clip, so that nothing is clipped.
    const double z = 2e-4 * std::sqrt(static_cast<double>(trial.queries[0].steps));
    std::vector<Query> queries;
    for (const Query& query : trial.queries) {
      QuerySpec spec = query;
      spec.noise_multiplier = query.name == "restart" ? z : 1e-9;
      queries.push_back(Query::declare(spec, query.query_index, query.adjacency, query.records));
    }
    trial.curator = std::make_unique<Curator>(trial.comm, trial.shard, queries, 128, SecretKey::from_seed(9));
    trial.curator->record_in(*trial.ledger);
    trial.algorithm = trial.plan->start(*trial.objective, queries);
    double square = 0;
    for (int block = 0; block < blocks; ++block) {
      trial.run(T);
      if (block < settled) continue;
      const auto w = trial.iterate();
      for (std::size_t j = 0; j < chains; ++j) square += static_cast<double>(w[j]) * w[j];
    }
    return square / static_cast<double>(chains * (blocks - settled));
  };
  const auto ratio = [&](double c) { return variance(c, "8") / variance(c, "1"); };
  EXPECT_NEAR(ratio(0.9) / 0.94559342, 1, 0.03);
  EXPECT_NEAR(ratio(0.2) / 0.18749904, 1, 0.03);
}

}  // namespace
}  // namespace dpmpi::private_diff_privacy_test
