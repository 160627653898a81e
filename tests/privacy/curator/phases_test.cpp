// Phases, with a toy: clipped steps towards the records of a part, of which the mean point is handed over. A step
// x <- x - h clip(x - s) is a contraction, and another record moves one of T steps by at most 2 h C, so the mean
// moves by at most 2 h C under replace_one and h C under add_remove (an empty slot takes no step).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"

namespace dpmpi::phases_test {
namespace {

using test::distance;
using test::PartWorld;
using test::unit_features;

constexpr std::size_t dim = 6;
constexpr double h = 0.05, clip = 0.5;  // of a step's length: h * clip

QuerySpec spec(double multiplier = 2, Disjoint::Places places = Disjoint::Places::by_slot) {
  const std::vector<Disjoint::Part> parts{{200, 1, h * clip}, {100, 1, h * clip / 8}, {60, 1, h * clip / 64}};
  return {.name = "phase",
          .dim = dim,
          .sampling = Disjoint{.parts = parts, .seed = 5, .places = places},
          .noise_multiplier = multiplier,
          .steps = 3,
          .kind = Phases{.range = 4}};
}

/// Adds h clip(x - s), rounded by the sum's lattice.
Kernel steps_towards(const std::vector<double>& x) {
  return [&x](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    std::vector<double> v(dim);
    for (const std::uint32_t row : rows.index) {
      const float* s = rows.records.row_f32(row);
      if (std::isnan(rows.records.label[row])) continue;
      double square = 0;
      for (std::size_t j = 0; j < dim; ++j) v[j] = x[j] - double{s[j]}, square += v[j] * v[j];
      const double scale = std::min(h, bound.clip / std::sqrt(square));
      for (double& c : v) c *= scale;
      sum.begin(1);
      sum.add(0, std::span<const double>(v));
    }
  };
}

/// Batches of `batch`; phase p takes steps 8^-p as long.
PhaseProgram means(std::uint64_t batch, std::uint64_t p = 0) {
  return [=](PhaseView& phase, std::span<double> result) {
    const double shorter = std::pow(0.125, static_cast<double>(p));
    std::vector<double> x(dim, 0.0);
    const std::uint64_t steps = phase.records() / batch;
    for (std::uint64_t t = 0; t < steps; ++t) {
      for (std::size_t j = 0; j < dim; ++j) result[j] += x[j] / static_cast<double>(steps);
      const auto sum = phase.sum(t * batch, (t + 1) * batch, {h * clip}, steps_towards(x));
      for (std::size_t j = 0; j < dim; ++j) x[j] -= shorter * sum[j];
    }
  };
}

// The three tests of the claim. First: exact sensitivity, by neighbours under the same noise.
TEST(PhaseRelease, ARecordMovesOnePhaseByAtMostItsSensitivity) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    double largest = 0;
    for (std::uint64_t index = 3; index < 400; index += 20) {
      PartWorld a(spec(), adjacency), b(spec(), adjacency);
      if (adjacency == Adjacency::replace_one) {
        for (std::size_t j = 0; j < dim; ++j) a.record(index)[j] = 50, b.record(index)[j] = -50;
      } else {
        auto& block = b.shard.blocks[index / 50];
        test::remove_record(block.records, index % 50);
      }
      int moved = 0;
      for (std::uint64_t t = 0; t < 3; ++t) {
        const double change = distance(a.run_phase(t, means(1, t)), b.run_phase(t, means(1, t)));
        EXPECT_LE(change, a.query.at(t).sensitivity) << index << " phase " << t;
        moved += change > 0 ? 1 : 0;
        largest = std::max(largest, change / a.query.at(t).sensitivity);
      }
      EXPECT_LE(moved, 1) << "one record is in one part";
    }
    EXPECT_GT(largest, 0.1) << "the test must come near the bound";
  }
}

// Second: what is released is the vector plus the noise that the ledger says, on the part's lattice.
TEST(PhaseRelease, NoiseHasTheDistributionOfItsPart) {
  constexpr std::size_t wide = 20000;
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    QuerySpec wide_spec = spec(1.7);
    wide_spec.dim = wide;
    PartWorld world(wide_spec, adjacency, 9);
    for (std::uint64_t t = 0; t < 3; ++t) {
      const Query& part = world.query.at(t);
      const double std =
          1.7 * (adjacency == Adjacency::replace_one ? 2 : 1) * h * clip * std::pow(0.125, static_cast<double>(t));
      EXPECT_NEAR(part.noise_std, std, 1e-6 * std);
      EXPECT_GE(part.noise_std, std);
      const auto released = world.run_phase(t, [](PhaseView&, std::span<double> result) {
        for (std::size_t j = 0; j < wide; ++j) result[j] = j % 2 == 0 ? 1.5 : -99;  // -99 is cut to -4
      });
      double mean = 0, square = 0, fourth = 0;
      for (std::size_t j = 0; j < wide; ++j) {
        const double quanta = released[j] / part.lattice.quantum();
        EXPECT_EQ(quanta, std::round(quanta));
        const double z = (released[j] - (j % 2 == 0 ? 1.5 : -4)) / std;
        mean += z / wide, square += z * z / wide, fourth += z * z * z * z / wide;
      }
      EXPECT_LT(std::abs(mean), 5 / std::sqrt(1.0 * wide));
      EXPECT_LT(std::abs(square - 1), 5 * std::sqrt(2.0 / wide));
      EXPECT_LT(std::abs(fourth - 3), 5 * std::sqrt(96.0 / wide));
    }
  }
}

// Third, and A7: all phases are one Gaussian event, in the ledger before the first noise, and noise comes once.
TEST(PhaseRelease, LedgerEqualsPlanAndNoiseIsAddedOnce) {
  PartWorld world(spec());
  EXPECT_THROW(world.curator->draw(world.query, 0), BugError) << "records of a phase have no other door";
  bool paid = false;
  world.run_phase(0, [&](PhaseView&, std::span<double>) {
    paid = world.ledger->events() == std::vector<Event>{{Gaussian{2}, 1}};
  });
  EXPECT_TRUE(paid);
  EXPECT_THROW(world.run_phase(0, means(10)), PrivacyError);
  auto second = world.curator->run_phase(world.query, 1, means(10, 1));
  EXPECT_THROW(world.run_phase(1, means(10, 1)), PrivacyError) << "summed before";
  world.curator->release_exact(std::move(second));
  world.run_phase(2, means(10, 2));
  EXPECT_THROW(world.run_phase(3, means(10)), PrivacyError) << "not in the plan";
  EXPECT_EQ(world.ledger->events(), world.query.events(0, 3));
}

// T13: a phase that a kill ended runs again from its beginning: the same noise on the same values, and nothing
// else.
TEST(PhaseRelease, APhaseThatWasInterruptedIsTheSameRelease) {
  PartWorld whole(spec());
  std::vector<std::vector<double>> once;
  for (std::uint64_t t = 0; t < 3; ++t) once.push_back(whole.run_phase(t, means(10, t)));
  PartWorld world(spec());
  EXPECT_EQ(world.run_phase(0, means(10)), once[0]);
  int sums = 0;
  EXPECT_THROW(world.run_phase(1,
                               [&](PhaseView& phase, std::span<double>) {
                                 for (;; ++sums) {
                                   if (sums == 3) throw std::runtime_error("killed");
                                   phase.sum(0, 10, {1}, unit_features());
                                 }
                               }),
               std::runtime_error);
  world.start();
  world.curator->resume_at(1);
  EXPECT_EQ(world.run_phase(1, means(10, 1)), once[1]);
  EXPECT_EQ(world.run_phase(2, means(10, 2)), once[2]);
  EXPECT_EQ(world.ledger->events(), whole.ledger->events());
  PartWorld other(spec(), Adjacency::add_remove, 2);
  EXPECT_NE(other.run_phase(0, means(10)), once[0]) << "another key, other noise";
}

// A28: the walk and the batch of one record agree to the last bit.
TEST(PhaseRelease, ASequentialPassEqualsSumsOfSinglePlaces) {
  PartWorld world(spec(2, Disjoint::Places::by_block));
  const PhaseProgram compare = [&](PhaseView& phase, std::span<double> result) {
    std::vector<double> single(dim, 0.0), walked(dim, 0.0);
    for (std::uint64_t place = 0; place < phase.records(); ++place) {
      const auto sum = phase.sum(place, place + 1, {h * clip}, steps_towards(single));
      for (std::size_t j = 0; j < dim; ++j) single[j] -= sum[j];
    }
    LatticeAccumulator one(dim, Lattice::roomiest(1.01 * h * clip, 1), h * clip, 0, Width::int64);
    EXPECT_EQ(one.lattice().quantum(), PhaseView::quantum({h * clip}, 1));
    std::uint32_t next = 0;
    const Kernel step = steps_towards(walked);
    phase.sequential_pass(walked, [&](const Rows& record, std::span<double> state) {
      EXPECT_EQ(record.slot[0], next++);
      one.clear();
      step(record, {h * clip}, one);
      for (std::size_t j = 0; j < dim; ++j)
        state[j] -= static_cast<double>(one.totals()[j]) * one.lattice().quantum();
    });
    EXPECT_EQ(next, phase.records());
    EXPECT_EQ(single, walked);
    std::ranges::copy(walked, result.begin());
  };
  for (std::uint64_t t = 0; t < 3; ++t) world.run_phase(t, compare);
  PartWorld by_slot(spec());
  EXPECT_THROW(by_slot.run_phase(0,
                                 [](PhaseView& phase, std::span<double> result) {
                                   phase.sequential_pass(result, [](const Rows&, std::span<double>) {});
                                 }),
               BugError);
}

// Sums are exact, of any dimension, on a lattice that public values choose.
TEST(PhaseRelease, SumsAreExact) {
  PartWorld world(spec());
  world.run_phase(0, [&](PhaseView& phase, std::span<double>) {
    const Kernel count = [](const Rows& rows, const L2Bound&, LatticeAccumulator& sum) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::vector<double> place{1, static_cast<double>(rows.slot[i]) / 64};
        sum.begin(1);
        sum.add(0, std::span<const double>(place));
      }
    };
    const auto sum = phase.sum(20, 84, {2}, count, 2);
    ASSERT_EQ(sum.size(), 2u);
    EXPECT_EQ(sum[0], 64);
    EXPECT_EQ(sum[1], 63 / 2.0);
    EXPECT_THROW(phase.sum(10, 10, {1}, count, 2), BugError);
    EXPECT_THROW(phase.sum(0, phase.records() + 1, {1}, count, 2), BugError);
  });
  for (const double bound : {1e-30, 1e-9, 1.0, 1e9, 1e25})
    for (const std::uint64_t places : {1ULL, 1000ULL, 1ULL << 32}) {
      const double quantum = PhaseView::quantum({bound}, places);
      EXPECT_LT(1.01 * bound * static_cast<double>(places) / quantum, 0x1p61);
      EXPECT_TRUE(1.01 * bound * static_cast<double>(places) / quantum > 0x1p59 || quantum == 0x1p-100);
    }
}

QuerySpec with_own_noise(double multiplier = 2) {
  QuerySpec own = spec(multiplier, Disjoint::Places::by_block);
  std::get<Phases>(own.kind).own_noise = {.output_share = 0.7, .total_variation = 3e-12};
  return own;
}

/// Every record's own draw, in the order of the walk; sums see the same ones.
std::vector<double> own_draws(PartWorld& world, std::uint64_t t, double* normal = nullptr) {
  std::vector<double> draws;
  world.run_phase(t, [&](PhaseView& phase, std::span<double> result) {
    phase.sequential_pass(result, [&](const Rows& record, std::span<double>) {
      EXPECT_EQ(phase.laplace(record.index[0]), phase.laplace(record.index[0]));
      draws.push_back(phase.laplace(record.index[0]));
    });
    std::vector<double> in_sums;
    const Kernel look = [&](const Rows& rows, const L2Bound&, LatticeAccumulator&) {
      for (const std::uint32_t row : rows.index) in_sums.push_back(phase.laplace(row));
    };
    phase.sum(0, phase.records(), {1}, look);
    auto sorted = draws;
    std::ranges::sort(sorted), std::ranges::sort(in_sums);
    EXPECT_EQ(sorted, in_sums);
    EXPECT_EQ(phase.normal(), phase.normal());
    if (normal != nullptr) *normal = phase.normal();
  });
  return draws;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

// T13: noise of records is that of a position: the same in a phase that runs again, another for other records (of
// the same row of other blocks, too), phases and keys; independent of what is released.
TEST(PhaseRelease, NoiseOfRecordsBelongsToTheirPositions) {
  PartWorld world(with_own_noise()), again(with_own_noise()), other(with_own_noise(), Adjacency::add_remove, 2);
  double normals[4];
  const auto first = own_draws(world, 0, &normals[0]);
  EXPECT_EQ(first.size(), 200u);
  EXPECT_EQ(own_draws(again, 0, &normals[1]), first);
  const auto later = own_draws(world, 1, &normals[2]), of_other_key = own_draws(other, 0, &normals[3]);
  EXPECT_EQ(normals[1], normals[0]);
  EXPECT_NE(normals[2], normals[0]);
  EXPECT_NE(normals[3], normals[0]);
  std::vector<double> all = first;
  all.insert(all.end(), later.begin(), later.end());
  all.insert(all.end(), of_other_key.begin(), of_other_key.end());
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end()) << "two draws are the same";
  EXPECT_LT(std::abs(correlation(first, of_other_key)), 4 / std::sqrt(200.0));
  EXPECT_LT(std::abs(correlation(first, later)), 4 / std::sqrt(100.0));
  const std::vector<double> half(first.begin() + 100, first.end());  // other blocks
  EXPECT_LT(std::abs(correlation(first, half)), 4 / std::sqrt(100.0));
}

// Plan and ledger: one zcdp event, of which the noise of the vectors is a share.
TEST(PhaseRelease, PhasesWithNoiseOfTheirOwnAreOneZcdpEvent) {
  PartWorld world(with_own_noise(3));
  for (std::uint64_t t = 0; t < 3; ++t) own_draws(world, t);
  EXPECT_EQ(world.ledger->events(), (std::vector<Event>{{Zcdp{1 / (2 * 3.0 * 3.0 * 0.7), 3e-12}, 1}}));
  EXPECT_EQ(world.query.events(0, 3), world.ledger->events());
  EXPECT_EQ(world.query.events(1, 3), std::vector<Event>{});
  PartWorld plain(spec());
  for (const bool shared : {true, false})
    EXPECT_THROW(plain.run_phase(
                     0, [&](PhaseView& phase, std::span<double>) { shared ? phase.normal() : phase.laplace(0); }),
                 BugError)
        << "noise that was not declared";
  for (const auto& [share, distance] : {std::pair{0.0, 0.0}, {1.0, 0.0}, {0.7, 1.0}}) {
    QuerySpec bad = with_own_noise();
    std::get<Phases>(bad.kind).own_noise = {share, distance};
    EXPECT_THROW(PartWorld{bad}, BugError);
  }
}

TEST(PhaseRelease, RefusesWhatItCannotPromise) {
  EXPECT_THROW(PartWorld(spec(1e9)), PrivacyError) << "the lattice is too coarse for the sensitivity";
  QuerySpec twice = spec();
  std::get<Disjoint>(twice.sampling).parts[0].uses = 2, twice.steps = 4;
  EXPECT_THROW(PartWorld{twice}, BugError);
  QuerySpec everybody = spec();
  everybody.sampling = FullBatch{};
  EXPECT_THROW(PartWorld{everybody}, BugError);
  PartWorld world(spec());
  EXPECT_THROW(world.run_phase(0, [](PhaseView&, std::span<double> result) { result[2] = std::nan(""); }),
               BugError);
}

}  // namespace
}  // namespace dpmpi::phases_test
