// Votes on the clip: exact sensitivity of gradient and vote together, the law of their noise, and what a vote is.
#include "privacy/curator/votes.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curator/person_sum.hpp"
#include "support/curator_world.hpp"
#include "support/lattice_distance.hpp"

namespace dpmpi::votes_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr test::RecordsShape shape{Storage::dense_f32, 300, 9, 1, LabelKind::real};

TEST(Votes, AreOnLengthsUpToTheClipAndBeyondIt) {
  const Votes votes({2}, 0.75, Lattice{20});  // 1^2 + 3 = 2^2
  EXPECT_EQ(votes.bound().clip, 1);
  const auto size = static_cast<std::int64_t>(std::floor(std::sqrt(3) * 0x1p20));
  EXPECT_EQ(votes.of(0), size);
  EXPECT_EQ(votes.of(1), size) << "exactly at the clip";
  EXPECT_EQ(votes.of(std::nextafter(1, 2)), -size) << "just above";
  EXPECT_EQ(votes.of(1e300), -size);
  for (const double none : {infinity, -infinity, std::nan("")}) EXPECT_EQ(votes.of(none), 0);
}

// In integers, for every share and lattice: clip^2 + vote^2 is at most the squared bound.
TEST(Votes, AndClipKeepToTheJointBound) {
  for (const double share : {1e-6, 0.01, 0.3, 0.5, 0.999})
    for (const double joint : {1e-9, 0.1, 1.0, 77.7, 1e6})
      for (const int k : {-5, 3, 20, 50}) {
        if (joint * std::ldexp(1.0, k) > 0x1p40) continue;  // beyond what an accumulator takes
        const Votes votes({joint}, share, Lattice{k});
        const long double vote = static_cast<long double>(votes.of(0)) * std::ldexp(1.0L, -k),
                          clip = votes.bound().clip, most = joint;
        EXPECT_GE(vote, 0);
        EXPECT_LE(clip * clip + vote * vote, most * most * (1 + 0x1p-50L));
      }
}

QuerySpec voting(std::size_t dim, double clip, double multiplier = 5, double share = 0.25, double smallest = 1e-4) {
  return {.name = "gradient",
          .dim = dim + 1,
          .sampling = FullBatch{},
          .bound = {clip},
          .slack = {3 * 0x1p-24, 1},
          .noise_multiplier = multiplier,
          .steps = 100,
          .kind = Sum{smallest, share}};
}

/// The sum that the curator forms, in integers.
std::vector<std::int64_t> total(const Query& q, const Kernel& kernel, const Records& of, double scale) {
  LatticeAccumulator sum(q.dim, q.lattice, q.bound.clip * (1 + q.eta));
  sum.clear(q.lattice_at(scale));
  const Votes votes({q.bound.clip * scale}, q.votes(), sum.lattice());
  std::vector<double> lengths;
  kernel.run(votes.bound(), sum, [&](const auto& visit) {
    for (std::uint32_t first = 0; first < of.count; first += 16) {
      std::vector<std::uint32_t> rows(std::min<std::size_t>(16, of.count - first));
      std::iota(rows.begin(), rows.end(), first);
      visit(Rows{of, rows});
      add_votes(votes, kernel, {of, rows}, sum, lengths);
    }
  });
  return {sum.totals().begin(), sum.totals().end()};
}

// Exactly, in integers, at clips over four powers of ten, for records at the clip, just above it, huge, not finite,
// and of zeros: whatever one of them is replaced by, or taken away for.
TEST(Votes, NeighboursDifferByAtMostTheSensitivityOfGradientAndVote) {
  const auto objective = test::make_objective("mean", {shape.features, shape.storage, 0});
  test::RecordsShape plain = shape;
  plain.bias = 0;
  const std::vector<float> w(objective->dim(), 0.0f);  // so that a record is its own gradient, but for the sign
  const Kernel kernel = clipped_gradients(*objective, w);
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    const Query q = Query::declare(voting(objective->dim(), 2), 0, adjacency, shape.count);
    for (const double scale : {1.0, 0.5, 0.3, 0.01, 1e-4}) {
      const double bound = q.sensitivity * q.sensitivity_scale(scale);
      const double clip = split_bound({q.bound.clip * scale}, q.votes()).clip;
      const auto with = [&](Records records, double first) {
        for (std::size_t j = 0; j < records.features; ++j) records.f32[17 * records.stride + j] = 0;
        records.f32[17 * records.stride] = static_cast<float>(first);
        test::update_norm(records, 17);
        return records;
      };
      const Records records = test::random_records(plain, 3);
      const std::vector<double> lengths{0,
                                        clip,
                                        -clip,
                                        clip * 0.9999,
                                        clip * 1.001,
                                        -clip * 1.001,
                                        1e9,
                                        -1e9,
                                        1e30,
                                        static_cast<double>(std::numeric_limits<float>::quiet_NaN())};
      double largest = 0;
      for (const double present : lengths) {
        const auto whole = total(q, kernel, with(records, present), scale);
        const auto compare = [&](const Records& neighbour) {
          const double moved = test::distance(whole, total(q, kernel, neighbour, scale), q.lattice_at(scale));
          EXPECT_LE(moved, bound) << "scale " << scale << ", length " << present;
          largest = std::max(largest, moved / bound);
        };
        if (adjacency == Adjacency::add_remove) {
          Records neighbour = with(records, present);
          test::remove_record(neighbour, 17);
          compare(neighbour);
        } else {
          for (const double instead : lengths) compare(with(records, instead));
        }
      }
      // A record as long as the clip votes with all that is left; one within and one beyond are as far apart as can
      // be if they are opposite.
      EXPECT_GT(largest, 0.98) << "the bound must be met, scale " << scale;
    }
  }
}

// A vote is a record's own: what it says does not depend on who is there.
TEST(Votes, AddUp) {
  const auto objective = test::make_objective("logistic", {shape.features, shape.storage, shape.bias});
  test::RecordsShape signs = shape;
  signs.labels = LabelKind::sign;
  const std::vector<float> w(objective->dim(), 0.25f);
  const Kernel kernel = clipped_gradients(*objective, w);
  const Query q = Query::declare(voting(objective->dim(), 1.5), 0, Adjacency::add_remove, shape.count);
  const Records records = test::random_records(signs, 3);
  std::vector<double> lengths(records.count);
  std::vector<std::uint32_t> all(records.count);
  std::iota(all.begin(), all.end(), 0u);
  kernel.lengths({records, all}, lengths);
  const Votes votes(q.bound, q.votes(), q.lattice);
  std::int64_t sum = 0;
  int within = 0;
  for (const double length : lengths) sum += votes.of(length), within += length <= votes.bound().clip;
  EXPECT_GT(within, 30);
  EXPECT_LT(within, 270);
  EXPECT_EQ(total(q, kernel, records, 1).back(), sum);
  // The norms are those at w, and not those that a bounded slope would allow.
  double farthest = 0;
  for (std::size_t i = 0; i < records.count; ++i)
    farthest = std::max(farthest, lengths[i] / static_cast<double>(records.norm[i]));
  EXPECT_LT(farthest, 0.99);
}

struct VotingWorld : test::World {
  explicit VotingWorld(const QuerySpec& spec, Adjacency adjacency, bool silent)
      : test::World({.shape = shape, .blocks = 2, .adjacency = adjacency}, {spec}) {
    for (auto& block : shard.blocks)
      for (std::size_t i = 0; i < block.records.count && silent; ++i) test::remove_record(block.records, i);
    start();
  }
};

/// A kernel that adds nothing, and knows the lengths of all rows to be this.
Kernel of_length(double length) {
  Kernel kernel = test::nothing;
  kernel.lengths = [length](const Rows&, std::span<double> out) { std::ranges::fill(out, length); };
  return kernel;
}

// Noise of the bound of both, in every coordinate alike, at every clip, for either law: to 6 standard errors.
TEST(Votes, HaveTheNoiseOfAllCoordinates) {
  for (const Noise law : {Noise::gaussian, Noise::discrete_gaussian})
    for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
      QuerySpec spec = voting(3, 2, 20);
      spec.noise = law, spec.steps = 4000;
      VotingWorld world(spec, adjacency, true);
      std::uint64_t t = 0;
      for (const double scale : {1.0, 0.01}) {
        std::vector<double> square(4, 0);
        double product = 0;
        constexpr int runs = 1000;
        const double std = 20 * world.queries[0].change * 2 * scale;
        for (int i = 0; i < runs; ++i) {
          const auto values = world.release(t++, of_length(std::nan("")), scale);
          for (std::size_t j = 0; j < 4; ++j) square[j] += values[j] * values[j] / (std * std);
          product += values[0] * values[3] / (std * std);
        }
        for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(square[j] / runs, 1, 6 * std::sqrt(2.0 / runs)) << j;
        EXPECT_NEAR(product / runs, 0, 6 / std::sqrt(1.0 * runs));
      }
    }
}

// Without noise a release says how many are within: all, or none.
TEST(Votes, AreReleasedBesideTheGradient) {
  VotingWorld world(voting(3, 2, 0), Adjacency::add_remove, false);
  const double size = vote_size({2}, 0.25) * 300;
  EXPECT_NEAR(world.release(0, of_length(1.5)).back(), size, 1e-3 * size);
  EXPECT_NEAR(world.release(1, of_length(1.9)).back(), -size, 1e-3 * size);
  EXPECT_NEAR(world.release(2, of_length(1.5), 0.5).back(), -size / 2, 1e-3 * size);
  EXPECT_EQ(world.release(3, of_length(std::nan(""))).back(), 0);
  EXPECT_EQ(world.release(4, of_length(1))[0], 0);
}

TEST(Votes, NeedLengthsAndAClipForAllLayers) {
  VotingWorld world(voting(3, 2), Adjacency::add_remove, false);
  EXPECT_THROW(world.release(0, test::nothing), BugError);
  QuerySpec layers = voting(3, 2);
  layers.bound.clipping = Clipping::per_layer;
  EXPECT_THROW(Query::declare(layers, 0, Adjacency::add_remove, 300), BugError);
}

// A person votes by the mean of the records, and is no longer than the bound in integers, vote included.
TEST(Votes, OfPersonsAreOnTheirMeans) {
  test::RecordsShape rows{Storage::dense_f32, 12, 2, 0, LabelKind::real};
  Shard shard = test::one_block(test::random_records(rows, 3));
  Records& records = shard.blocks[0].records;
  records.person_begin = {0, 1, 4, 8, 12};
  shard.layout = BlockLayout{4, 1};
  const auto set = [&](std::uint32_t row, float x, float y) {
    records.f32[row * records.stride] = x, records.f32[row * records.stride + 1] = y;
    test::update_norm(records, row);
  };
  set(0, 1e20f, 0);                                                            // beyond
  for (std::uint32_t i = 1; i < 4; ++i) set(i, 0.5f, 0);                       // within
  for (std::uint32_t i = 4; i < 8; ++i) set(i, i % 2 == 0 ? 3.0f : -2.5f, 0);  // opposite: the mean is within
  for (std::uint32_t i = 8; i < 12; ++i) set(i, 0, i == 8 ? 7.0f : 1.0f);      // one makes the mean beyond
  const auto objective = test::make_objective("mean", {2, Storage::dense_f32, 0});
  const std::vector<float> w(2, 0.0f);
  QuerySpec spec = voting(2, 2, 1, 0.75);  // clip 1
  spec.unit = Unit::person, spec.sampling = Poisson{0.5};
  const Query q = Query::declare(spec, 0, Adjacency::add_remove, 4);
  const Votes votes(q.bound, q.votes(), q.lattice);
  const auto part_of = [&](std::uint32_t person) {
    LatticeAccumulator sum(q.dim, q.lattice, q.largest_term);
    PersonSum of_persons(sum, q.largest_term, 16);
    sum.clear();
    const std::vector<std::vector<std::uint32_t>> chosen{{person}}, slots{{}};
    of_persons.add_to(sum, clipped_gradients(*objective, w), q.bound, {shard, chosen, slots}, votes);
    return std::vector<std::int64_t>(sum.totals().begin(), sum.totals().end());
  };
  const std::vector<std::int64_t> expected{-votes.of(0), votes.of(0), votes.of(0), -votes.of(0)}, nothing(3, 0);
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ(part_of(p).back(), expected[p]) << p;
    EXPECT_LE(test::distance(part_of(p), nothing, q.lattice), q.bound.clip) << p;
  }
  for (std::uint32_t i = 4; i < 8; ++i) set(i, i % 2 == 0 ? 3.0f : -3.0f, 0);
  EXPECT_EQ(part_of(2), nothing) << "records that add up to nothing are like none";
}

}  // namespace
}  // namespace dpmpi::votes_test
