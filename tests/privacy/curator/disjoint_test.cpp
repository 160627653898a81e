// Queries over disjoint parts of the data: one Gaussian event for the whole run, by parallel composition.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi::disjoint_test {
namespace {

using test::distance;
using test::nothing;
using test::PartWorld;
using test::unit_features;

// Clips a factor of 10^7 apart, 1 to 9 uses, 398 of 400 records.
const std::vector<Disjoint::Part> parts{{200, 1, 1.0}, {100, 4, 1e-5}, {50, 9, 100.0}, {48, 2, 0.3}};

QuerySpec spec(double multiplier = 2, std::size_t dim = 6, Noise noise = Noise::gaussian) {
  return {.name = "g",
          .dim = dim,
          .sampling = Disjoint{.parts = parts, .seed = 5},
          .noise_multiplier = multiplier,
          .steps = 16,
          .kind = ExactSum{},
          .noise = noise};
}

// The first of the three tests: under both adjacencies a record moves the releases of one part by at most that
// part's sensitivity, and all others by nothing at all.
TEST(DisjointQuery, ARecordMovesTheReleasesOfItsPartOnly) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    std::set<std::size_t> touched;
    for (const std::uint64_t index : {0u, 77u, 130u, 199u, 222u, 310u, 399u}) {
      PartWorld a(spec(), adjacency), b(spec(), adjacency);
      float* x = b.record(index);
      for (std::size_t j = 0; j < test::part_shape.features; ++j)
        x[j] = adjacency == Adjacency::replace_one ? -x[j] : 0.0f;
      std::set<std::size_t> moved;
      for (std::uint64_t t = 0; t < 16; ++t) {
        const Query& part = a.query.at(t);
        const double quantum = part.lattice.quantum();
        const double change = distance(a.release(t, unit_features()), b.release(t, unit_features()));
        EXPECT_LE(change, part.sensitivity);
        if (change == 0) continue;
        EXPECT_GT(change, (adjacency == Adjacency::replace_one ? 2 : 1) * part.bound.clip - 8 * quantum);
        moved.insert(std::get<Disjoint>(a.query.sampling).part_of(t));
      }
      EXPECT_LE(moved.size(), 1u) << index;
      touched.insert(moved.begin(), moved.end());
    }
    EXPECT_GE(touched.size(), 3u) << "the test must see most parts";
  }
}

// The second: part p gets N(0, (z sqrt(uses) sensitivity of p)^2), at every use anew.
TEST(DisjointQuery, EveryPartHasTheNoiseOfItsClipAndItsUses) {
  constexpr std::size_t dim = 20000;
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    PartWorld world(spec(1.7, dim), adjacency, 3);
    std::vector<double> before(dim, 0.0);
    for (std::uint64_t t = 0; t < 16; ++t) {
      const Disjoint::Part& part = parts[std::get<Disjoint>(world.query.sampling).part_of(t)];
      const double std = 1.7 * std::sqrt(static_cast<double>(part.uses)) * part.clip *
                         (adjacency == Adjacency::replace_one ? 2 : 1);
      EXPECT_NEAR(world.query.noise_std * world.query.noise_scale(t), std, 1e-6 * std);
      EXPECT_GE(world.query.at(t).noise_std, std);
      EXPECT_EQ(world.query.clip_at(t), part.clip);
      const auto noise = world.release(t, nothing);
      double square = 0, fourth = 0, correlation = 0;
      for (std::size_t j = 0; j < dim; ++j) {
        const double z = noise[j] / std;
        square += z * z / dim, fourth += z * z * z * z / dim, correlation += z * before[j];
        before[j] = z;
      }
      EXPECT_LT(std::abs(square - 1), 5 * std::sqrt(2.0 / dim)) << t;
      EXPECT_LT(std::abs(fourth - 3), 5 * std::sqrt(96.0 / dim)) << t;
      EXPECT_LT(std::abs(correlation), 5 * std::sqrt(1.0 * dim)) << t;
      // Fine enough that the noise fills it, and every part as well as the others.
      EXPECT_LE(world.query.at(t).lattice.quantum(), 1.01 * 0x1p-35 * world.query.at(t).noise_std);
      EXPECT_LT(world.query.at(t).eta, 1e-6);
    }
  }
}

// The third, and A7: the run is one Gaussian event whatever the parts and their uses, paid before the first
// release.
TEST(DisjointQuery, LedgerEqualsPlanAndIsOneGaussian) {
  for (const Noise noise : {Noise::gaussian, Noise::discrete_gaussian}) {
    PartWorld world(spec(2, 6, noise));
    world.release(0, nothing);
    const Mechanism whole = noise == Noise::gaussian ? Mechanism(Gaussian{2}) : Mechanism(DiscreteGaussian{2});
    EXPECT_EQ(world.ledger->events(), (std::vector<Event>{{whole, 1}}));
    for (std::uint64_t t = 1; t < 16; ++t) world.release(t, nothing);
    EXPECT_EQ(world.ledger->events(), world.query.events(0, 16));
    EXPECT_EQ(world.query.events(3, 16), std::vector<Event>{});
  }
  for (const char* accountant : {"gdp", "rdp", "pld"})
    EXPECT_EQ(
        epsilon_guarantee(PartWorld(spec()).query.events(0, 16), Adjacency::replace_one, 1e-6, accountant).epsilon,
        epsilon_guarantee({{Gaussian{2}, 1}}, Adjacency::replace_one, 1e-6, accountant).epsilon);
}

TEST(DisjointQuery, GoesOnInTheMiddle) {
  PartWorld whole(spec());
  std::vector<std::vector<double>> once;
  for (std::uint64_t t = 0; t < 16; ++t) once.push_back(whole.release(t, unit_features()));
  for (const std::uint64_t stop : {1u, 3u, 5u, 15u}) {  // between parts, and inside of them
    PartWorld world(spec());
    for (std::uint64_t t = 0; t < stop; ++t) world.release(t, unit_features());
    world.start();
    world.curator->resume_at(stop);
    EXPECT_THROW(world.release(stop - 1, unit_features()), PrivacyError);
    for (std::uint64_t t = stop; t < 16; ++t) EXPECT_EQ(world.release(t, unit_features()), once[t]);
    EXPECT_EQ(world.ledger->events(), whole.ledger->events());
  }
}

// T6: who is in a part is a matter of positions. Contents are exchanged, invalid ones too; the rows stay.
TEST(DisjointQuery, MembershipDoesNotDependOnContent) {
  const auto seen = [](bool shuffled) {
    PartWorld world(spec());
    if (shuffled)
      for (auto& block : world.shard.blocks) {
        std::ranges::reverse(block.records.f32);
        std::ranges::reverse(block.records.label);
        for (std::size_t i = 0; i < 5; ++i) test::remove_record(block.records, i);
      }
    std::vector<std::vector<std::uint64_t>> rows(16);
    for (std::uint64_t t = 0; t < 16; ++t)
      world.release(t, [&](const Rows& r, const L2Bound&, LatticeAccumulator&) {
        for (const auto& block : world.shard.blocks)
          if (&block.records == &r.records)
            for (const auto row : r.index) rows[t].push_back(block.first_index + row);
      });
    return rows;
  };
  const auto before = seen(false);
  EXPECT_EQ(before, seen(true));
  for (std::uint64_t t = 0; t < 16; ++t)
    EXPECT_EQ(before[t].size(), parts[t < 1 ? 0 : t < 5 ? 1 : t < 14 ? 2 : 3].size);
}

TEST(DisjointQuery, RefusesPartsThatDoNotFit) {
  const auto declare = [](std::vector<Disjoint::Part> of, std::uint64_t steps) {
    QuerySpec s = spec();
    s.sampling = Disjoint{.parts = std::move(of)};
    s.steps = steps;
    return Query::declare(s, 0, Adjacency::add_remove, 400);
  };
  EXPECT_NO_THROW(declare({{399, 1, 1}, {1, 1, 1}}, 2));
  EXPECT_THROW(declare({{399, 1, 1}, {2, 1, 1}}, 2), PrivacyError);
  EXPECT_THROW(declare({{~0ULL, 1, 1}, {2, 1, 1}}, 2), PrivacyError) << "no overflow";
  EXPECT_THROW(declare({{0, 1, 1}}, 1), PrivacyError);
  EXPECT_THROW(declare({{10, 3, 1}}, 2), BugError) << "as many releases as uses";
}

}  // namespace
}  // namespace dpmpi::disjoint_test
