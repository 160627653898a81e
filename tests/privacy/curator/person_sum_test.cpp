// A person's part of a sum: its length in integers, whatever the kernel and the records are, and what it is.
#include "privacy/curator/person_sum.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "objective/network/mlp.hpp"
#include "privacy/curator/clip_selection.hpp"
#include "support/curator_world.hpp"
#include "support/lattice_distance.hpp"

namespace dpmpi::person_sum_test {
namespace {

constexpr std::uint32_t persons = 40;

/// Persons of 0, 1, 2, ... records; the last has 700.
std::vector<std::uint32_t> begins() {
  std::vector<std::uint32_t> begin{0};
  for (std::uint32_t p = 0; p + 1 < persons; ++p) begin.push_back(begin.back() + p);
  begin.push_back(begin.back() + 700);
  return begin;
}

Shard records_of_persons(const test::RecordsShape& shape) {
  test::RecordsShape rows = shape;
  rows.count = begins().back();
  Shard shard = test::one_block(test::random_records(rows, 3));
  shard.blocks[0].records.person_begin = begins();
  shard.layout = BlockLayout{persons, 1};
  return shard;
}

Query declared(std::size_t dim, QueryKind kind = Sum{}, double clip = 0.5, double multiplier = 1) {
  return Query::declare({.name = "g",
                         .dim = dim,
                         .sampling = Poisson{0.5},
                         .bound = {clip},
                         .noise_multiplier = multiplier,
                         .steps = 10,
                         .kind = kind,
                         .unit = Unit::person},
                        0, Adjacency::add_remove, persons);
}

std::vector<std::int64_t> part_of(const Query& query, const Shard& shard, const Kernel& kernel,
                                  const std::vector<std::uint32_t>& chosen, std::size_t rows = 16) {
  LatticeAccumulator sum(query.dim, query.lattice, query.largest_term, 0,
                         query.exact ? Width::int64 : Width::int32);
  PersonSum of_persons(sum, query.largest_term, rows);
  sum.clear();
  const std::vector<std::vector<std::uint32_t>> selected{chosen}, slots{{}};
  of_persons.add_to(sum, kernel, query.bound, {shard, selected, slots});
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

/// Whether the vector is no longer than the clip, by whole numbers alone.
__extension__ using wide = unsigned __int128;
void expect_within(const std::vector<std::int64_t>& part, double clip, Lattice lattice, const char* what) {
  const double units = std::floor(clip * lattice.scale());
  ASSERT_LT(units, 0x1p62);
  const auto limit = static_cast<std::uint64_t>(units);
  wide square = 0;
  for (const std::int64_t v : part) {
    const auto size = static_cast<std::uint64_t>(v < 0 ? -v : v);
    ASSERT_LE(size, limit) << what;
    square += wide{size} * size;
  }
  EXPECT_TRUE(square <= wide{limit} * limit) << what;
}

/// A kernel that adds this to the sum for every record.
Kernel adds(std::function<double(std::uint32_t row, std::size_t j, const L2Bound&)> value) {
  return [value](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    std::vector<double> v(sum.dim());
    for (const std::uint32_t row : rows.index) {
      for (std::size_t j = 0; j < v.size(); ++j) v[j] = value(row, j, bound);
      sum.begin(1);
      sum.add(0, std::span<const double>(v));
    }
  };
}

std::vector<std::uint32_t> all_persons() {
  std::vector<std::uint32_t> all(persons);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// What hidden iterates are charged with: how far a part is from the exact mean of the records, none of which is
// clipped. The person of 700 records has a coarser lattice.
TEST(PersonSum, MeansAreRoundedWithinTheirBound) {
  for (const std::size_t K : {std::size_t{1}, std::size_t{4}, std::size_t{64}}) {
    const Query query = declared(K, ExactSum{});
    const double clip = query.bound.clip, q = query.lattice.quantum(), root = std::sqrt(static_cast<double>(K));
    const Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
    const auto value = [&](std::uint32_t row, std::size_t j) {
      return clip / root * std::cos(0.37 * row + static_cast<double>(j));
    };
    const Kernel kernel = adds([&](std::uint32_t row, std::size_t j, const L2Bound&) { return value(row, j); });
    double largest = 0;
    for (std::uint32_t p = 1; p < persons; ++p) {
      const auto part = part_of(query, shard, kernel, {p});
      const std::uint32_t first = begins()[p], last = begins()[p + 1];
      long double square = 0;
      for (std::size_t j = 0; j < K; ++j) {
        long double mean = 0;
        for (std::uint32_t row = first; row < last; ++row) mean += static_cast<long double>(value(row, j));
        const long double off = static_cast<long double>(part[j]) * q - mean / std::max(last - first, 1U);
        square += off * off;
      }
      const double k = static_cast<double>(K), records = last - first;
      const double most = 2 * q * root + (k + 40) * 0x1p-52 * clip + root * records * 0x1p-57 * clip;
      EXPECT_LE(static_cast<double>(std::sqrt(square)), most) << p;
      largest = std::max(largest, static_cast<double>(std::sqrt(square)) / (0.5 * q * root));
    }
    EXPECT_GT(largest, 1) << "half a quantum, as of a record, would not do";
  }
}

// The kernel fills what it may: each record of a person as long as a record's clip lets it be.
TEST(PersonSum, IsNoLongerThanTheClipInIntegers) {
  for (const std::size_t dim : {std::size_t{1}, std::size_t{3}, std::size_t{100}, std::size_t{1001}})
    for (const QueryKind& kind : {QueryKind(Sum{}), QueryKind(ExactSum{})}) {
      const Query query = declared(dim, kind);
      const Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
      const double root = std::sqrt(static_cast<double>(dim));
      const std::vector<Kernel> kernels{
          adds([=](auto, auto, const L2Bound& b) { return b.clip / root; }),
          adds([=](std::uint32_t row, std::size_t j, const L2Bound& b) {
            return (row + j) % 2 == 0 ? b.clip / root : -b.clip / root;
          }),
          adds([=](std::uint32_t row, std::size_t j, const L2Bound& b) { return row % dim == j ? -b.clip : 0; }),
          adds([=](std::uint32_t, std::size_t j, const L2Bound& b) { return j == 0 ? b.clip : 1e-9; })};
      for (const Kernel& kernel : kernels)
        for (std::uint32_t p = 0; p < persons; ++p) {
          const auto part = part_of(query, shard, kernel, {p});
          expect_within(part, query.bound.clip, query.lattice, "a person");
          ASSERT_LE(test::distance(part, std::vector<std::int64_t>(dim, 0), query.lattice), query.sensitivity);
        }
      // The bound is met: equal records, each beyond it.
      const auto equal = part_of(query, shard, kernels[0], {persons - 1});
      EXPECT_GT(test::distance(equal, std::vector<std::int64_t>(dim, 0), query.lattice), 0.99 * query.bound.clip);
    }
}

TEST(PersonSum, IsTheMeanOfRecordsThatAreSmall) {
  const Query query = declared(2, ExactSum{}, 10);
  const Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
  const auto begin = begins();
  for (std::uint32_t p = 0; p < persons; ++p) {
    const auto part = part_of(query, shard, adds([&](std::uint32_t row, std::size_t j, auto&) {
                                return j == 0 ? 1.0 : static_cast<double>(row - begin[p]);
                              }),
                              {p});
    const double count = begin[p + 1] - begin[p];
    const double quantum = query.lattice.quantum(), mean = (count - 1) / 2;
    if (count == 0) {
      EXPECT_EQ(part, (std::vector<std::int64_t>{0, 0}));
      continue;
    }
    const double length = std::hypot(1, mean), shrunk = std::min(1.0, 10 / length);
    EXPECT_NEAR(static_cast<double>(part[0]) * quantum, shrunk, 1e-9) << count;
    EXPECT_NEAR(static_cast<double>(part[1]) * quantum, mean * shrunk, 1e-8) << count;
  }
}

// Persons add up, in any number of rows at once: nobody's part depends on who else is in the batch.
TEST(PersonSum, IsAFunctionOfThePersonAlone) {
  const auto objective = test::make_objective("logistic", {33, Storage::dense_f32, 1});
  const Shard shard = records_of_persons({Storage::dense_f32, 1, 33, 1, LabelKind::sign});
  const Query query = declared(objective->dim(), Sum{}, 0.05);
  const std::vector<float> w(objective->dim(), 0.1F);
  const Kernel kernel = clipped_gradients(*objective, w);
  std::vector<std::int64_t> total(query.dim, 0);
  for (std::uint32_t p = 0; p < persons; ++p) {
    const auto part = part_of(query, shard, kernel, {p}, 128);
    expect_within(part, query.bound.clip, query.lattice, "logistic");
    for (std::size_t j = 0; j < total.size(); ++j) total[j] += part[j];
  }
  for (const std::size_t rows : {std::size_t{1}, std::size_t{7}, std::size_t{128}})
    EXPECT_EQ(part_of(query, shard, kernel, all_persons(), rows).size(), total.size());
  EXPECT_EQ(part_of(query, shard, kernel, all_persons(), 128), total);
}

// Persons of few records share float32 sums of a network. Some have equal or opposite records, or such that only
// the sum of what is written out can take.
TEST(PersonSum, OfANetworkNobodyMovesFurtherThanTheSensitivity) {
  const auto objective = make_mlp({.units = {100, 64, 1}, .activation = Activation::tanh, .head = Head::squared});
  Shard shard = records_of_persons({Storage::dense_f32, 1, 100, 1, LabelKind::real});
  Records& records = shard.blocks[0].records;
  for (const std::uint32_t p : {20, 21, 22, 23})
    for (std::uint32_t row = records.unit_begin(p); row < records.unit_begin(p + 1); ++row) {
      float* const x = records.f32.data() + row * records.stride;
      std::copy_n(records.row_f32(records.unit_begin(p)), records.features, x);
      records.label[row] = p == 20 || row % 2 == 0 ? 1e3F : -1e3F;
      if (p == 22) x[0] = row % 2 == 0 ? 1e25F : -1e25F;
      if (p == 23) x[1] = std::numeric_limits<float>::quiet_NaN();
    }
  const Query query = Query::declare({.name = "g",
                                      .dim = objective->dim(),
                                      .sampling = Poisson{0.5},
                                      .bound = {0.05},
                                      .slack = objective->gradients()->gradient_slack(),
                                      .noise_multiplier = 1,
                                      .steps = 10,
                                      .unit = Unit::person},
                                     0, Adjacency::add_remove, persons);
  const std::vector<float> w = [&] {
    std::vector<float> start(objective->dim());
    objective->initialise(PublicStream(1, "initialise"), start);
    return start;
  }();
  const Kernel kernel = clipped_gradients(*objective, w);
  Kernel written_out = kernel;
  ASSERT_TRUE(kernel.add_means);
  written_out.add_means = nullptr;
  const auto whole = part_of(query, shard, kernel, all_persons(), 128);
  double largest = 0;
  for (std::uint32_t p = 0; p < persons; ++p) {
    std::vector<std::uint32_t> others = all_persons();
    std::erase(others, p);
    const double moved = test::distance(whole, part_of(query, shard, kernel, others, 128), query.lattice);
    EXPECT_LE(moved, query.sensitivity) << "person " << p;
    largest = std::max(largest, moved / query.sensitivity);
    EXPECT_LE(test::distance(part_of(query, shard, kernel, {p}, 128), part_of(query, shard, written_out, {p}, 128),
                             query.lattice),
              2e-3 * query.bound.clip)
        << "person " << p;
  }
  EXPECT_GT(largest, 0.98);
}

// With the numbers of a block's records its halves must not move: only who has a slot says where it is cut.
TEST(PersonSum, MicroBatchesFollowFromSlotsAlone) {
  Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
  const auto seen = [&] {
    std::vector<std::vector<std::uint32_t>> groups;
    Kernel kernel = adds([](auto, auto, auto&) { return 0; });
    kernel.add_means = [&](const Persons& together, const MeanBound&, LatticeAccumulator&) {
      groups.emplace_back(together.number.begin(), together.number.end());
      return std::span<const std::uint32_t>();
    };
    part_of(declared(3), shard, kernel, all_persons());
    return groups;
  };
  const auto before = seen();
  shard.blocks[0].records.person_begin.back() += 100'000;  // of somebody who is added alone
  shard.blocks[0].records.count += 100'000;
  shard.blocks[0].records.norm.resize(shard.blocks[0].records.count);
  shard.blocks[0].records.label.resize(shard.blocks[0].records.count);
  EXPECT_EQ(seen(), before);
  EXPECT_GT(before.size(), 2U);
}

TEST(PersonSum, OppositeRecordsCancelAndEqualOnesCountAsOne) {
  const Query query = declared(5, Sum{}, 1);
  const Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
  const auto opposite =
      part_of(query, shard, adds([](std::uint32_t row, auto, auto&) { return row % 2 == 0 ? 0.25 : -0.25; }), {4});
  EXPECT_EQ(opposite, std::vector<std::int64_t>(5, 0));
  const Kernel same = adds([](auto, auto, auto&) { return 0.25; });
  const auto once = part_of(query, shard, same, {1}), often = part_of(query, shard, same, {persons - 1});
  for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(static_cast<double>(once[j]), static_cast<double>(often[j]), 1.5);
}

// Counts of bins become shares of a person: between two persons no more than sqrt(2) apart, and 1 from nobody.
TEST(PersonSum, SharesOfBinsStayInTheSimplex) {
  const Query query = declared(6, ExactSum{.one_hot = true}, 1, 3);
  const Shard shard = records_of_persons({Storage::dense_f32, 1, 4});
  const Kernel counts = one_hot_counts([](const Rows& rows, std::span<std::size_t> place) {
    for (std::size_t i = 0; i < rows.size(); ++i) place[i] = rows.index[i] % 7;  // 6 is none
  });
  for (std::uint32_t p = 0; p < persons; ++p) {
    const auto part = part_of(query, shard, counts, {p});
    std::int64_t sum = 0;
    for (const std::int64_t v : part) {
      ASSERT_GE(v, 0);
      sum += v;
    }
    EXPECT_LE(static_cast<double>(sum), query.lattice.scale()) << p;
    const double least = p > 20 ? 0.8 : 0;  // a few records have no bin
    EXPECT_GE(static_cast<double>(sum), least * query.lattice.scale()) << p;
  }
}

// Numbers that fill 62 bits: the lattice gets coarser for this person, and the bound stays.
TEST(PersonSum, OneWithMoreRecordsThanTheLatticeHasRoomForStaysWithinTheClip) {
  Shard shard = test::one_block(test::random_records({Storage::dense_f32, 300'000, 1}, 3));
  shard.blocks[0].records.person_begin = {0, 300'000};
  shard.layout = BlockLayout{1, 1};
  const Query query = Query::declare({.name = "g",
                                      .dim = 1,
                                      .sampling = FullBatch{},
                                      .bound = {1},
                                      .noise_multiplier = 1e-6,
                                      .steps = 1,
                                      .kind = ExactSum{},
                                      .unit = Unit::person},
                                     0, Adjacency::add_remove, 1);
  ASSERT_GT(query.lattice.k, 50);
  const auto part = part_of(query, shard, adds([](auto, auto, const L2Bound& b) { return b.clip; }), {0});
  expect_within(part, 1, query.lattice, "a person of 300,000 records");
  EXPECT_GT(static_cast<double>(part[0]) * query.lattice.quantum(), 0.999);
}

TEST(PersonSum, MethodsWithoutABoundForPersonsSaySo) {
  const QuerySpec spec{.name = "phase",
                       .dim = 3,
                       .sampling = Disjoint{{{10, 1, 1.0}}},
                       .noise_multiplier = 1,
                       .steps = 1,
                       .kind = Phases{},
                       .unit = Unit::person};
  EXPECT_THROW(Query::declare(spec, 0, Adjacency::replace_one, persons), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::person_sum_test
