// Sums of balls in bins: every record in one step of an epoch, wherever a run begins, and one event an epoch.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/curator_world.hpp"

namespace dpmpi::balls_in_bins_test {
namespace {

constexpr std::size_t records = 40;
constexpr std::uint64_t steps = 6, epochs = 3;
constexpr test::RecordsShape shape{Storage::dense_f32, records, 2, 1, LabelKind::sign};

QuerySpec spec(double noise_multiplier) {
  return {.name = "sum",
          .dim = records,
          .sampling = BallsInBins{steps},
          .noise_multiplier = noise_multiplier,
          .steps = steps * epochs,
          .kind = ExactSum{}};
}

// One for every record of the batch, at its place.
const Kernel ones = [](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for (const std::uint32_t i : rows.index) {
    std::vector<double> one(records, 0);
    one[i] = bound.clip;
    sum.begin(1);
    sum.add(0, std::span<const double>(one));
  }
};

struct World : test::World {
  explicit World(double noise_multiplier = 0)
      : test::World({.shape = shape, .blocks = 1}, {spec(noise_multiplier)}) {}
};

TEST(BallsInBinsSums, AnEpochHasEveryRecordOnceInAnOrderOfItsOwn) {
  World world;
  std::vector<std::vector<double>> first_steps;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    std::vector<double> total(records, 0);
    for (std::uint64_t t = 0; t < steps; ++t) {
      const std::vector<double> sum = world.release(e * steps + t, ones);
      if (t == 0) first_steps.push_back(sum);
      for (std::size_t i = 0; i < records; ++i) total[i] += sum[i];
    }
    EXPECT_EQ(total, std::vector<double>(records, 1)) << "epoch " << e;
  }
  EXPECT_NE(first_steps[0], first_steps[1]);
  EXPECT_NE(first_steps[1], first_steps[2]);
}

TEST(BallsInBinsSums, ARunThatGoesOnInAnEpochHasItsOrder) {
  World whole;
  for (std::uint64_t t = 0; t < steps * epochs; ++t) {
    const std::vector<double> sum = whole.release(t, ones);
    World resumed;
    EXPECT_EQ(resumed.release(t, ones), sum) << t;
  }
}

TEST(BallsInBinsSums, AreOneEventAnEpoch) {
  const World world(1.5);
  const Query& query = world.queries[0];
  EXPECT_EQ(query.events(0, query.steps), (std::vector<Event>{{RandomAllocationGaussian{steps, 1, 1.5}, epochs}}));
  EXPECT_TRUE(query.events(1, steps).empty());
}

TEST(BallsInBinsSums, RefuseWhatTheirEventDoesNotCover) {
  const auto declare = [](const QuerySpec& refused) {
    return Query::declare(refused, 0, Adjacency::add_remove, records);
  };
  EXPECT_NO_THROW(declare(spec(2)));
  QuerySpec discrete = spec(2), several = spec(2);
  discrete.noise = Noise::discrete_gaussian;
  EXPECT_THROW(declare(discrete), PrivacyError);
  several.slots_of_unit = 3;
  EXPECT_THROW(declare(several), PrivacyError);
  EXPECT_FALSE(LastIterateRun::takes(BallsInBins{steps}));
  EXPECT_FALSE(RunningSum::takes(BallsInBins{steps}));
}

}  // namespace
}  // namespace dpmpi::balls_in_bins_test
