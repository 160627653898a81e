#include "privacy/curator/curator.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/discrete_gaussian.hpp"
#include "support/curator_world.hpp"
#include "support/discrete_law.hpp"

namespace dpmpi::curator_test {
namespace {

using test::nothing;

// Secrets can be held, moved and dropped; nothing else compiles.
using SecretSum = Secret<LatticeSum>;
static_assert(!std::is_copy_constructible_v<SecretSum> && !std::is_default_constructible_v<SecretSum>);
static_assert(!std::is_constructible_v<SecretSum, LatticeSum> && !std::is_convertible_v<SecretSum, LatticeSum>);
static_assert(!std::is_copy_constructible_v<Batch> && !std::is_default_constructible_v<Batch>);

constexpr test::RecordsShape shape{Storage::dense_f32, 400, 20, 1, LabelKind::sign};

struct World : test::World {
  World(SamplingRule rule, double multiplier, std::uint64_t steps, std::size_t dim = 21, std::uint64_t key = 1,
        Adjacency adjacency = Adjacency::add_remove, Noise noise = Noise::gaussian)
      : test::World({.shape = shape, .adjacency = adjacency, .key = key}, {{.name = "g",
                                                                            .dim = dim,
                                                                            .sampling = rule,
                                                                            .noise_multiplier = multiplier,
                                                                            .steps = steps,
                                                                            .noise = noise}}) {}
};

// The second of the three tests: what is released is the exact sum plus N(0, (multiplier * sensitivity)^2), on the
// lattice.
TEST(Curator, NoiseHasTheDistributionThatTheLedgerSays) {
  constexpr std::size_t dim = 20000, steps = 50;
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    World world(FullBatch{}, 1.7, steps, dim, 11, adjacency);
    const double std = 1.7 * world.queries[0].sensitivity;
    EXPECT_GT(world.queries[0].sensitivity, adjacency == Adjacency::add_remove ? 1.0 : 2.0);
    std::vector<double> z;
    std::vector<double> before(dim, 0.0);
    double correlation = 0;
    for (std::uint64_t t = 0; t < steps; ++t) {
      const auto noise = world.release(t, nothing);
      for (std::size_t j = 0; j < dim; ++j) {
        const double steps_on_lattice = noise[j] / world.queries[0].lattice.quantum();
        if (std::abs(steps_on_lattice) < 0x1p23) {
          ASSERT_EQ(steps_on_lattice, std::round(steps_on_lattice));
        }
        z.push_back(noise[j] / std);
        correlation += z.back() * before[j];
      }
      std::transform(noise.begin(), noise.end(), before.begin(), [&](double v) { return v / std; });
    }
    const auto n = static_cast<double>(z.size());
    double mean = 0, square = 0, fourth = 0;
    for (const double v : z) mean += v / n, square += v * v / n, fourth += v * v * v * v / n;
    EXPECT_LT(std::abs(mean), 5 / std::sqrt(n));
    EXPECT_LT(std::abs(square - 1),
              5 * std::sqrt(2 / n));  // 0.7 %: C instead of C (1 + eta) is smaller, 2 C is not
    EXPECT_LT(std::abs(fourth - 3), 5 * std::sqrt(96 / n));
    EXPECT_LT(std::abs(correlation), 5 * std::sqrt(n)) << "noise of consecutive steps must be independent";
    std::sort(z.begin(), z.end());
    double distance = 0;
    for (std::size_t i = 0; i < z.size(); ++i)
      distance = std::max(distance,
                          std::abs(0.5 * std::erfc(-z[i] / std::sqrt(2.0)) - (static_cast<double>(i) + 0.5) / n));
    EXPECT_LT(distance * std::sqrt(n), 2.7);
  }
}

// The same with exact noise. Few quanta to a deviation, so that the mass of every integer counts.
TEST(Curator, DiscreteNoiseHasTheExactLawOnTheLattice) {
  constexpr std::size_t dim = 10000, steps = 60;
  World world(FullBatch{}, 0x1p-15, steps, dim, 13, Adjacency::add_remove, Noise::discrete_gaussian);
  const Query& query = world.queries[0];
  EXPECT_GE(query.noise_std, query.noise_multiplier * query.sensitivity);
  EXPECT_LT(query.noise_std, query.noise_multiplier * query.sensitivity + query.lattice.quantum());
  ASSERT_EQ(query.noise_std, static_cast<double>(query.noise_quanta) * query.lattice.quantum());
  ASSERT_LT(query.noise_quanta, 50u);
  SecretStream stream(SecretKey::from_seed(13).derive("noise"));
  const DiscreteGaussianSampler sampler(query.noise_quanta);
  std::vector<std::int64_t> all;
  for (std::uint64_t t = 0; t < steps; ++t) {
    SecretReader bits(stream, t, 0);
    for (const double value : world.release(t, nothing)) {
      const double quanta = value / query.lattice.quantum();
      ASSERT_EQ(quanta, static_cast<double>(sampler(bits))) << "noise is added once, and nothing else";
      all.push_back(static_cast<std::int64_t>(quanta));
    }
  }
  const auto quanta = static_cast<double>(query.noise_quanta);
  EXPECT_GT(test::fit_discrete_gaussian(all, quanta), 1e-6);
  EXPECT_LT(test::fit_discrete_gaussian(all, 1.02 * quanta), 1e-12);
  EXPECT_LT(test::fit_discrete_gaussian(all, 0.98 * quanta), 1e-12);
}

// Whatever clip, dimension and multiplier: at least the deviation that the ledger states, and never a finer lattice
// than the proof of the sampler's bits covers.
TEST(Query, DiscreteNoiseIsNeverBelowItsMultiplier) {
  for (const double clip : {1e-6, 0.3, 1.0, 1e4})
    for (const double multiplier : {1e-6, 0.7, 3.0, 1e3, 1e6})
      for (const std::size_t dim : {1u, 1000u, 1000000u}) {
        const auto declare = [&](Noise noise) {
          return Query::declare({.name = "g",
                                 .dim = dim,
                                 .sampling = FullBatch{},
                                 .bound = {clip},
                                 .noise_multiplier = multiplier,
                                 .steps = 1,
                                 .noise = noise},
                                0, Adjacency::replace_one, 100);
        };
        std::optional<Query> q;
        try {
          q = declare(Noise::discrete_gaussian);
        } catch (const PrivacyError&) {  // too much noise for this dimension's lattice, of either law
          EXPECT_THROW(declare(Noise::gaussian), PrivacyError);
          EXPECT_GT(multiplier, 1000);
          continue;
        }
        EXPECT_EQ(q->lattice.k, declare(Noise::gaussian).lattice.k);
        EXPECT_GE(q->noise_quanta, 1u);
        EXPECT_LE(q->noise_quanta, std::uint64_t{1} << 36);
        EXPECT_EQ(static_cast<double>(q->noise_quanta) * q->lattice.quantum(), q->noise_std);
        EXPECT_GE(q->noise_std, multiplier * q->sensitivity);
        EXPECT_LE(q->noise_std, multiplier * q->sensitivity * (1 + 0x1p-49) + q->lattice.quantum());
      }
}

// The third: what the ledger holds after the run is what the plan promised.
TEST(Curator, LedgerEqualsPlanForEverySamplingRule) {
  const std::vector<SamplingRule> rules{Poisson{0.2}, FullBatch{}, Cyclic{7}, WithoutReplacement{40}};
  for (const Noise noise : {Noise::gaussian, Noise::discrete_gaussian})
    for (const auto& rule : rules) {
      const bool wor = std::holds_alternative<WithoutReplacement>(rule);
      World world(rule, 1.0, 230, 3, 1, wor ? Adjacency::replace_one : Adjacency::add_remove, noise);
      for (std::uint64_t t = 0; t < 230; ++t) world.release(t, nothing);
      std::map<Mechanism, std::uint64_t> ledger, plan;
      for (const auto& event : world.ledger->events()) ledger[event.mechanism] += event.count;
      for (const auto& event : world.queries[0].events(0, 230)) plan[event.mechanism] += event.count;
      EXPECT_EQ(ledger, plan) << describe(rule);
      for (const auto& [mechanism, count] : plan)
        EXPECT_EQ(name(mechanism).find("discrete") != std::string_view::npos, noise == Noise::discrete_gaussian);
      EXPECT_EQ(verify_ledger(world.path).bad_line, 0u);
    }
}

// Under trust = root a rank knows how many of its own records take part. The event is that of the block with the
// largest share, and a curator whose blocks have larger shares than its query states refuses.
TEST(Curator, BatchesWithoutReplacementStateTheLargestShareOfABlock) {
  World world(WithoutReplacement{42}, 1.0, 230, 3, 1, Adjacency::replace_one);
  // 400 records in 4 blocks: 10 or 11 of 100
  EXPECT_EQ(world.queries[0].events(0, 5), (std::vector<Event>{{WorGaussian{100, 11, 1.0}, 5}}));
  QuerySpec spec = world.queries[0];
  spec.sampling = WithoutReplacement{42};
  const std::vector<Query> whole{Query::declare(spec, 0, Adjacency::replace_one, 400)};
  EXPECT_THROW(Curator(world.setup.comm, world.shard, whole, 128, SecretKey::from_seed(1), true), BugError);
}

TEST(Curator, LedgerLineIsOnDiskBeforeTheNoiseIsUsed) {
  World world(Poisson{0.1}, 1.0, 300);
  const auto lines = [&] {
    std::ifstream file(world.path);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  EXPECT_EQ(lines(), 1);  // the header
  const Batch batch = world.curator->draw(world.queries[0], 0);
  EXPECT_EQ(lines(), 2) << "reserved for steps 0..99 at the draw, before any sum or noise";
  world.curator->release(world.curator->sum(world.queries[0], batch, nothing));
  for (std::uint64_t t = 1; t < 100; ++t) world.release(t, nothing);
  EXPECT_EQ(lines(), 2);
  world.release(100, nothing);
  EXPECT_EQ(lines(), 3);
}

TEST(Curator, NoiseIsAddedOncePerStep) {
  World world(FullBatch{}, 1.0, 10);
  const Batch batch = world.curator->draw(world.queries[0], 0);
  auto first = world.curator->sum(world.queries[0], batch, nothing);
  EXPECT_THROW(world.curator->sum(world.queries[0], batch, nothing), PrivacyError);
  world.curator->release(std::move(first));
  EXPECT_THROW(world.curator->sum(world.queries[0], batch, nothing), PrivacyError);
  EXPECT_THROW(world.release(0, nothing), PrivacyError)
      << "a step that was released cannot be drawn and released again";
  EXPECT_THROW(world.curator->draw(world.queries[0], 10), PrivacyError) << "not in the plan";
}

TEST(Curator, AReplayedStepDrawsTheSameBatchAndTheSameNoise) {
  const auto objective = test::make_objective("logistic", {shape.features, shape.storage, 1});
  std::vector<float> w(objective->dim(), 0.1f);
  World once(Poisson{0.3}, 1.0, 20, 21, 5), again(Poisson{0.3}, 1.0, 20, 21, 5),
      other(Poisson{0.3}, 1.0, 20, 21, 6);
  std::vector<double> at7;
  for (std::uint64_t t = 0; t <= 7; ++t) at7 = once.release(t, clipped_gradients(*objective, w));
  again.release(0, nothing);  // its ledger, like the killed run's, has paid for all 20
  again.curator->resume_at(7);
  EXPECT_EQ(again.release(7, clipped_gradients(*objective, w)), at7);
  other.release(0, nothing);
  other.curator->resume_at(7);
  EXPECT_NE(other.release(7, clipped_gradients(*objective, w)), at7) << "another key, other noise";
  EXPECT_THROW(again.release(6, nothing), PrivacyError);
}

// Two queries write two lines a window. A crash between them is completed as if it had not been; a ledger of
// another plan is refused.
TEST(Curator, ALedgerWindowThatWasWrittenInPartIsCompleted) {
  const Communicator comm = Communicator::alone();
  const Shard shard = test::random_shard(shape, 4);
  const auto queries_with = [](double multiplier) {
    std::vector<Query> queries;
    for (const char* name : {"a", "b"})
      queries.push_back(Query::declare({.name = name,
                                        .dim = 3,
                                        .sampling = Poisson{0.3},
                                        .noise_multiplier = name[0] == 'a' ? 1.0 : multiplier,
                                        .steps = 150},
                                       static_cast<std::uint32_t>(queries.size()), Adjacency::add_remove,
                                       shape.count));
    return queries;
  };
  const auto queries = queries_with(2.0);
  const std::string path = ::testing::TempDir() + "curator_window.jsonl";
  const auto resume = [&](const std::vector<Query>& plan, std::uint64_t t) {
    Ledger ledger = Ledger::open(path);
    Curator curator(comm, shard, plan, 128, SecretKey::from_seed(1));
    curator.record_in(ledger);
    curator.resume_at(t);
    for (const std::uint64_t step : {0, 100}) (void)curator.draw(plan[0], step);
    return ledger.lines();
  };
  std::filesystem::remove(path);
  { Ledger::create(path, {Adjacency::add_remove, shape.count}); }
  const auto whole = resume(queries, 0);
  ASSERT_EQ(whole.size(), 5u);
  for (std::size_t kept = 1; kept <= whole.size(); ++kept) {
    std::ofstream out(path, std::ios::trunc);
    for (std::size_t i = 0; i < kept; ++i) out << whole[i] << "\n";
    out.close();
    EXPECT_EQ(resume(queries, kept > 1 ? 99 : 0), whole) << kept << " lines";
  }
  EXPECT_THROW(resume(queries_with(3.0), 0), PrivacyError) << "another plan";
  std::ofstream(path, std::ios::trunc) << whole[0] << "\n" << whole[1] << "\n" << whole[2] << "\n";
  EXPECT_THROW(resume(queries, 120), PrivacyError) << "steps 100 to 119 were done, but not paid for";
}

// Without noise the released value is the sum itself: compared with one kernel call over the whole data.
TEST(Curator, SumsWhatTheKernelAdds) {
  const auto objective = test::make_objective("logistic", {shape.features, shape.storage, 1});
  std::vector<float> w(objective->dim(), 0.1f);
  World world(FullBatch{}, 0.0, 1);
  const auto released = world.release(0, clipped_gradients(*objective, w));
  LatticeAccumulator sum(objective->dim(), world.queries[0].lattice, 1.01);
  sum.clear();
  const AtPoint at = objective->at(w);
  for (const auto& block : world.shard.blocks) {
    std::vector<std::uint32_t> all(block.records.count);
    std::iota(all.begin(), all.end(), 0u);
    for (std::size_t i = 0; i < all.size(); i += 50)
      at.add_clipped_gradients(
          Rows{block.records, std::span(all).subspan(i, std::min<std::size_t>(50, all.size() - i))}, {1.0}, sum);
  }
  const auto total = sum.totals();
  for (std::size_t j = 0; j < objective->dim(); ++j)
    EXPECT_EQ(released[j], static_cast<float>(static_cast<double>(total[j]) * world.queries[0].lattice.quantum()));
}

}  // namespace
}  // namespace dpmpi::curator_test
