// Queries that are released as running sums with correlated noise, and the shuffled order that feeds them.

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "support/curator_world.hpp"

namespace dpmpi::running_sum_test {
namespace {

using test::nothing;

constexpr test::RecordsShape shape{Storage::dense_f32, 400, 4, 0, LabelKind::sign};
constexpr Shuffled order{.seed = 5, .first = 30, .batch = 10, .leaves = 8, .runs = 3};  // 3 * 100 of 400 records

QuerySpec spec(double multiplier, std::size_t dim, std::uint64_t steps, RunningSum running) {
  return {.name = "sum",
          .dim = dim,
          .sampling = order,
          .noise_multiplier = multiplier,
          .steps = steps,
          .kind = running};
}
constexpr RunningSum fenwick{.strategy = Strategy::fenwick};

struct World : test::World {
  const Query& query = queries[0];
  explicit World(const QuerySpec& s, std::uint64_t key = 3)
      : test::World({.shape = shape, .adjacency = Adjacency::replace_one, .key = key}, {s}) {}
};

// Adds a quarter of the bound to coordinate 0 for every record, and a bit for its slot to coordinate 1.
const Kernel count_slots = [](const Rows& rows, const L2Bound&, LatticeAccumulator& sum) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double one[] = {0.25, std::ldexp(1.0, -static_cast<int>(rows.slot[i] % 10) - 2)};
    sum.begin(1);
    sum.add(0, std::span<const double>(one));
  }
};

TEST(RunningSum, WithoutNoiseItIsTheSumOfTheLeavesSoFar) {
  World world(spec(0, 2, 48, fenwick));
  for (std::uint64_t t = 0; t < 48; ++t) {
    const auto out = world.release(t, count_slots);
    const auto leaves = static_cast<double>(t % 8);
    EXPECT_EQ(out[0], 0.25 * (30 + 10 * leaves)) << t;
    const double slots = (1 - std::ldexp(1.0, -10)) / 2;  // 0..9 once each
    EXPECT_EQ(out[1], slots * (3 + leaves)) << t;
  }
}

// Traps: a record used twice in a pass, or placed by its content.
TEST(Shuffled, UsesARecordOnceInAPassAndByPositionOnly) {
  const Shard shard = test::random_shard(shape, 4);
  const auto slots = shuffle_slots(order, shard.layout);
  std::vector<ShuffledBlock> blocks;
  for (const auto& block : shard.blocks) blocks.emplace_back(slots, block.first_index, block.records.count);
  std::map<std::uint64_t, int> used;
  std::vector<std::uint32_t> rows, places;
  for (std::uint64_t t = 0; t < order.steps_per_pass(); ++t) {
    std::vector<bool> filled(order.end(t) - order.begin(t), false);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      blocks[b].select(order.begin(t), order.end(t), rows, places);
      ASSERT_TRUE(std::is_sorted(rows.begin(), rows.end()));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ++used[shard.blocks[b].first_index + rows[i]];
        EXPECT_FALSE(filled[places[i]]);
        filled[places[i]] = true;
        EXPECT_EQ(slots[shard.blocks[b].first_index + rows[i]], order.begin(t) + places[i]);
      }
    }
    EXPECT_EQ(std::count(filled.begin(), filled.end(), true), t % 8 == 0 ? 30 : 10) << "full batches only";
  }
  EXPECT_EQ(used.size(), 300u);
  for (const auto& [index, times] : used) EXPECT_EQ(times, 1) << index;
  EXPECT_EQ(order.begin(24), 0u) << "the second pass repeats the first";
}

double mean_product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / static_cast<double>(a.size());
}

// The noise of the prefix t has popcount(t) nodes, neighbours share theirs, and runs share nothing. Traps: noise
// drawn again for a query, added up over the leaves, or kept from one run to the next.
TEST(RunningSum, NoiseIsThatOfTheTree) {
  constexpr std::size_t dim = 40000;
  World world(spec(2, dim, 16, fenwick));
  std::vector<std::vector<double>> z;
  for (std::uint64_t t = 0; t < 16; ++t) {
    z.push_back(world.release(t, nothing));
    for (double& x : z.back()) x /= world.query.noise_std;
  }
  EXPECT_GE(world.query.noise_std, 2 * 2 * world.query.bound.clip);  // multiplier, two clips under replace_one
  const double five = 5 / std::sqrt(static_cast<double>(dim));
  for (std::size_t t = 1; t <= 8; ++t) {
    const auto nodes = static_cast<double>(std::popcount(t));
    EXPECT_NEAR(mean_product(z[t - 1], z[t - 1]), nodes, five * std::sqrt(2.0) * nodes) << t;
    for (std::size_t s = 1; s <= 8; ++s)
      EXPECT_NEAR(mean_product(z[t - 1], z[7 + s]), 0, five * std::sqrt(3.0 * 3.0)) << "run 1, run 2";
  }
  EXPECT_NEAR(mean_product(z[5], z[6]), 2, five * std::sqrt(4.0 + 6));
  EXPECT_NEAR(mean_product(z[6], z[7]), 0, five * std::sqrt(3.0));
}

// Traps: noise from the public seed, and low bits of the noise that are not on the sum's grid.
TEST(RunningSum, NoiseIsAFunctionOfTheKeyAloneAndOnTheLattice) {
  for (const auto strategy : {Strategy::fenwick, Strategy::full_honaker, Strategy::sqrt_toeplitz, Strategy::blt}) {
    RunningSum rule = fenwick;
    rule.buffers = {.count = 1, .decay = {0.5}, .weight = {0.5}};
    rule.strategy = strategy;
    QuerySpec one = spec(1, 50, 16, rule), other = one;
    Shuffled shuffle = order;
    shuffle.seed += 1;
    other.sampling = shuffle;
    const auto noise = [](const QuerySpec& s, std::uint64_t key) {
      World world(s, key);
      const double quantum = world.query.lattice.quantum();
      std::vector<std::vector<double>> z;
      for (std::uint64_t t = 0; t < 16; ++t) {
        z.push_back(world.release(t, nothing));
        for (const double x : z.back()) EXPECT_EQ(x / quantum, std::round(x / quantum)) << "the grid";
      }
      return z;
    };
    const auto z = noise(one, 3), other_shuffle = noise(other, 3), other_key = noise(one, 4);
    EXPECT_EQ(z, other_shuffle);
    for (std::size_t t = 0; t < 16; ++t) EXPECT_NE(z[t], other_key[t]);
  }
}

// What one record changes, on the lattice: the same vector in every later prefix of its run and in no other run, so
// that the nodes of its path, and no others, are shifted by at most one sensitivity.
TEST(RunningSum, ARecordShiftsItsPathByOneSensitivityAtMost) {
  const auto saturate = [](std::uint64_t leaf, float sign) {
    return [=](std::uint64_t t) -> Kernel {
      return [=](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          if (t % 8 != leaf || rows.slot[i] != 0) continue;
          const double clip[] = {sign * bound.clip, 0};
          sum.begin(1);
          sum.add(0, std::span<const double>(clip));
        }
      };
    };
  };
  for (std::uint64_t leaf = 0; leaf < 8; ++leaf) {
    World plus(spec(1, 2, 8, {.strategy = Strategy::fenwick, .first_clip = 0.5}));
    std::vector<double> with, without;
    for (std::uint64_t t = 0; t < 8; ++t) with.push_back(plus.release(t, saturate(leaf, 1)(t))[0]);
    World minus(spec(1, 2, 8, {.strategy = Strategy::fenwick, .first_clip = 0.5}));
    for (std::uint64_t t = 0; t < 8; ++t) without.push_back(minus.release(t, saturate(leaf, -1)(t))[0]);
    const double shift = 2 * (leaf == 0 ? 0.5 : 1.0);
    double squared = 0;
    for (std::uint64_t b = 1; b <= 8; ++b) {
      EXPECT_NEAR(with[b - 1] - without[b - 1], b > leaf ? shift : 0, 1e-6);
      const std::uint64_t left = b & (b - 1);  // node b is prefix b less prefix b - lowbit(b)
      const auto node = [&](const std::vector<double>& r) { return r[b - 1] - (left ? r[left - 1] : 0); };
      squared += std::pow((node(with) - node(without)) / plus.query.noise_std, 2);
    }
    EXPECT_LE(std::sqrt(squared), tree_mu(plus.query.as<RunningSum>()->tree(plus.query))) << leaf;
    if (leaf == 1) {
      EXPECT_GT(std::sqrt(squared), 0.98 * tree_mu(plus.query.as<RunningSum>()->tree(plus.query)))
          << "and the bound is attained";
    }
  }
}

constexpr Buffers two_buffers{.count = 2, .decay = {0.9, 0.5}, .weight = {0.2, 0.3}};
constexpr Shuffled one_run{.seed = 5, .first = 10, .batch = 10, .leaves = 8, .runs = 1};

QuerySpec continued(Strategy strategy, std::uint64_t passes, std::size_t dim = 2) {
  auto s = spec(1, dim, 8 * passes, {.strategy = strategy, .band = 3, .buffers = two_buffers, .passes = passes});
  s.sampling = one_run;
  return s;
}

// A record that takes part in every pass of a run shifts the queries y = C (increments) by at most the sensitivity
// of the plan, whichever leaf it is in and however its contributions turn; in the first leaf, always along the same
// vector, it attains that.
TEST(RunningSum, ARecordOfSeveralPassesShiftsTheQueriesByOneSensitivityAtMost) {
  constexpr std::uint64_t passes = 3, steps = 8 * passes;
  for (const auto strategy : {Strategy::sqrt_toeplitz, Strategy::banded, Strategy::blt})
    for (std::uint64_t leaf = 0; leaf < 8; ++leaf)
      for (int turns = 0; turns < 4; ++turns) {
        const auto contribution = [&](std::uint64_t t, float sign) -> Kernel {
          const bool turned = t / 8 > 0 && (turns >> (t / 8 - 1) & 1);
          const bool takes_part = t % 8 == leaf;
          return [=](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
            for (std::size_t i = 0; i < rows.size(); ++i) {
              if (!takes_part || rows.slot[i] != 0) continue;
              const double clip[] = {(turned ? -sign : sign) * bound.clip, 0};
              sum.begin(1);
              sum.add(0, std::span<const double>(clip));
            }
          };
        };
        World plus(continued(strategy, passes)), minus(continued(strategy, passes));
        std::vector<double> shift;  // of the prefixes, then of the leaves
        for (std::uint64_t t = 0; t < steps; ++t)
          shift.push_back(plus.release(t, contribution(t, 1))[0] - minus.release(t, contribution(t, -1))[0]);
        for (std::uint64_t t = steps; t-- > 1;) shift[t] -= shift[t - 1];
        for (std::uint64_t t = 0; t < steps; ++t)
          EXPECT_NEAR(std::abs(shift[t]), t % 8 == leaf ? 2.0 * plus.query.bound.clip : 0, 1e-6);
        const auto c = [&](std::uint64_t j) {
          if (strategy == Strategy::blt && j > 0)
            return 0.2 * std::pow(0.9, static_cast<double>(j - 1)) +
                   0.3 * std::pow(0.5, static_cast<double>(j - 1));
          double product = strategy == Strategy::banded && j >= 3 ? 0 : 1;
          for (std::uint64_t i = 1; i <= j; ++i) product *= (static_cast<double>(i) - 0.5) / static_cast<double>(i);
          return product;
        };
        double squared = 0;
        for (std::uint64_t t = 0; t < steps; ++t) {
          double row = 0;
          for (std::uint64_t s = 0; s <= t; ++s) row += c(t - s) * shift[s];
          squared += std::pow(row / plus.query.noise_std, 2);
        }
        const double mu = tree_mu(plus.query.as<RunningSum>()->tree(plus.query));
        EXPECT_LE(std::sqrt(squared), mu) << name(strategy) << " " << leaf << " " << turns;
        if (leaf == 0 && turns == 0) {
          EXPECT_GT(std::sqrt(squared), 0.98 * mu) << name(strategy);
        }
      }
}

// Plan and ledger: a run of several passes is one event.
TEST(RunningSum, SeveralPassesAreOneTree) {
  World world(continued(Strategy::blt, 3));
  Tree tree{Strategy::blt, 24, 1};
  tree.participations = 3, tree.separation = 8, tree.buffers = two_buffers;
  for (std::uint64_t t = 0; t < 24; ++t) world.release(t, nothing);
  EXPECT_EQ(world.ledger->events(), (std::vector<Event>{{tree, 1}}));
  EXPECT_EQ(world.query.events(1, 24), std::vector<Event>{});
  auto two_runs = continued(Strategy::blt, 3);
  two_runs.sampling = order;
  EXPECT_THROW(Query::declare(two_runs, 0, Adjacency::replace_one, 400), BugError);
  EXPECT_THROW(Query::declare(continued(Strategy::fenwick, 3), 0, Adjacency::replace_one, 400), PrivacyError);
}

TEST(RunningSum, SeveralPassesGoOnInTheMiddle) {
  for (const auto strategy : {Strategy::sqrt_toeplitz, Strategy::banded, Strategy::blt}) {
    const auto s = continued(strategy, 3);
    std::vector<std::vector<double>> whole;
    World left_alone(s);
    for (std::uint64_t t = 0; t < 24; ++t) whole.push_back(left_alone.release(t, count_slots));
    for (const std::uint64_t stop : {5u, 8u, 17u}) {
      World world(s);
      for (std::uint64_t t = 0; t < stop; ++t) world.release(t, count_slots);
      Archive saved;
      world.curator->archive(saved);
      world.reopen();
      Archive archive(saved.bytes());
      world.curator->archive(archive);
      archive.finish();
      world.curator->resume_at(stop);
      for (std::uint64_t t = stop; t < 24; ++t)
        ASSERT_EQ(world.release(t, count_slots), whole[t]) << name(strategy) << " from " << stop;
    }
  }
}

// Trap: other noise after a restart, with a possibly different sum.
TEST(RunningSum, GoesOnInTheMiddleOfARun) {
  for (const auto strategy :
       {Strategy::fenwick, Strategy::full_honaker, Strategy::sqrt_toeplitz, Strategy::banded, Strategy::blt}) {
    const auto s = spec(1.5, 2, 48, {.strategy = strategy, .band = 3, .buffers = two_buffers, .adaptive = true});
    const auto scale = [](std::uint64_t t) { return t % 8 == 0 ? 1 : 0.1 + 0.2 * static_cast<double>(t % 4); };
    std::vector<std::vector<double>> whole;
    {
      World world(s);
      for (std::uint64_t t = 0; t < 48; ++t) whole.push_back(world.release(t, count_slots, scale(t)));
    }
    for (const std::uint64_t stop : {5u, 8u, 21u, 40u}) {
      World world(s);
      for (std::uint64_t t = 0; t < stop; ++t) world.release(t, count_slots, scale(t));
      Archive saved;
      world.curator->archive(saved);
      world.reopen();
      Archive archive(saved.bytes());
      world.curator->archive(archive);
      archive.finish();
      world.curator->resume_at(stop);
      for (std::uint64_t t = stop; t < 48; ++t)
        ASSERT_EQ(world.release(t, count_slots, scale(t)), whole[t]) << name(strategy) << " from " << stop;
    }
  }
}

// Adaptive nodes: noise over sensitivity is the multiplier for the largest leaf of each node.
TEST(RunningSum, AdaptiveNoiseFollowsTheScale) {
  constexpr std::size_t dim = 40000;
  World world(spec(1, dim, 8, {.strategy = Strategy::fenwick, .adaptive = true}));
  const double scale[] = {1, 0.5, 0.25, 0.125};
  std::vector<std::vector<double>> z;
  for (std::uint64_t t = 0; t < 4; ++t) {
    z.push_back(world.release(t, nothing, scale[t]));
    for (double& x : z.back()) x /= world.query.noise_std;
  }
  const double five = 5 / std::sqrt(static_cast<double>(dim));
  EXPECT_NEAR(mean_product(z[0], z[0]), 1, five * 2);
  EXPECT_NEAR(mean_product(z[1], z[1]), 1, five * 2) << "node 2 holds leaf 1";
  std::vector<double> leaf3(dim);
  for (std::size_t j = 0; j < dim; ++j) leaf3[j] = z[2][j] - z[1][j];
  const double third = world.query.sensitivity_scale(0.25);
  EXPECT_NEAR(mean_product(leaf3, leaf3) / (third * third), 1, five * 2);
  EXPECT_GT(third, 0.25) << "rounding does not shrink with the clip";
  EXPECT_THROW(world.release(4, nothing, 1.5), PrivacyError);
  EXPECT_THROW(world.release(4, nothing, 0), PrivacyError);
}

// Plan and ledger: a pass over the data is one tree, however many runs it has, and further passes compose.
TEST(RunningSum, APassIsOneTree) {
  const Query q = Query::declare(spec(3, 2, 60, {.strategy = Strategy::fenwick, .first_clip = 0.5}), 0,
                                 Adjacency::replace_one, shape.count);
  const Tree tree{Strategy::fenwick, 8, 3, 0, 0.5};
  EXPECT_EQ(q.events(0, 60), (std::vector<Event>{{tree, 3}}));
  EXPECT_EQ(q.events(0, 1), (std::vector<Event>{{tree, 1}}));
  EXPECT_EQ(q.events(1, 24), std::vector<Event>{});
  EXPECT_EQ(q.events(24, 25), (std::vector<Event>{{tree, 1}}));
  World world(spec(3, 2, 60, fenwick));
  for (std::uint64_t t = 0; t < 60; ++t) world.release(t, nothing);
  EXPECT_EQ(world.ledger->events(), (std::vector<Event>{{fenwick.tree(world.query), 3}}));
}

// A pass that would use records twice, also one whose size overflows 64 bits, and steps out of order.
TEST(RunningSum, TheDoorCountsRecordsAndSteps) {
  auto two_many = spec(1, 2, 8, fenwick);
  for (const Shuffled& rule :
       {Shuffled{1, 30, 10, 8, 5}, Shuffled{1, 1, (1ULL << 62) + 1, 8, 1}, Shuffled{1, 0, 1, 8, 1}}) {
    two_many.sampling = rule;
    EXPECT_THROW(Query::declare(two_many, 0, Adjacency::replace_one, 400), PrivacyError) << describe(rule);
  }
  World world(spec(1, 2, 16, fenwick));
  EXPECT_THROW(world.release(3, nothing), BugError) << "leaf 4 before leaves 1 to 3";
  World again(spec(1, 2, 16, fenwick));
  for (const std::uint64_t t : {0u, 1u}) {
    const Batch batch = again.curator->draw(again.query, t);
    again.curator->sum(again.query, batch, nothing);  // dropped
  }
  EXPECT_THROW(again.release(0, nothing), PrivacyError);
  EXPECT_THROW(again.release(1, nothing), PrivacyError);
}

TEST(RunningSum, RefusesWhatHasNoAnalysis) {
  auto discrete = spec(1, 2, 8, fenwick);
  discrete.noise = Noise::discrete_gaussian;
  EXPECT_THROW(Query::declare(discrete, 0, Adjacency::replace_one, 400), PrivacyError);
  auto poisson = spec(1, 2, 8, fenwick);
  poisson.sampling = Poisson{0.1};
  EXPECT_THROW(Query::declare(poisson, 0, Adjacency::replace_one, 400), BugError);
}

// In the plan, before the data: what the root could not keep.
TEST(RunningSum, RefusesNoiseThatDoesNotFitTheRoot) {
  RunningSum rule = fenwick;
  rule.strategy = Strategy::sqrt_toeplitz;
  EXPECT_THROW(Query::declare(spec(1, 100'000'000, 8, rule), 0, Adjacency::replace_one, 400), ConfigError);
  EXPECT_NO_THROW(Query::declare(spec(0, 100'000'000, 8, rule), 0, Adjacency::replace_one, 400));
}

}  // namespace
}  // namespace dpmpi::running_sum_test
