// Runs that train before they are scored: noise of their own, paid for by one line, and nothing but what was
// planned.
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curator/part_world.hpp"

namespace dpmpi::trained_runs_test {
namespace {

using test::nothing, test::PartWorld;

QuerySpec gradients(double clip = 1) {
  return {
      .name = "gradient", .dim = 3, .sampling = Poisson{0.25}, .bound = {clip}, .noise_multiplier = 2, .steps = 4};
}

QuerySpec best_of(const std::vector<RunCandidate>& candidates, double gamma = 0.1) {
  return {.name = "score",
          .dim = 1,
          .sampling = FullBatch{},
          .bound = {1},
          .noise_multiplier = 5,
          .steps = 1,
          .kind = BestOfRuns{{.gamma = gamma}, 1, std::make_shared<const std::vector<RunCandidate>>(candidates)}};
}

const std::vector<RunCandidate> two{{"one", {gradients()}}, {"other", {gradients(0.1)}}};

/// All that the trainings of the runs released, one after the other.
std::vector<std::vector<float>> trained(PartWorld& world, std::uint64_t steps = 4) {
  std::vector<std::vector<float>> all;
  world.curator->best_of_runs(world.query, 0, [&](std::span<const double> uniforms) {
    const std::size_t candidate = uniforms[0] < 0.5 ? 0 : 1;
    world.curator->train_in_run(world.query, candidate, [&](Curator& own) {
      const Query& query = world.query.trainings->at(candidate)[0];
      for (std::uint64_t t = 0; t < steps; ++t) {
        const Batch batch = own.draw(query, t);
        const auto sum = own.release(own.sum(query, batch, nothing));
        all.emplace_back(sum.begin(), sum.end());
      }
    });
    return Repetition{nothing};
  });
  return all;
}

TEST(TrainedRuns, AreOneEventOfTheTrainingAndItsScore) {
  PartWorld world(best_of(two));
  const std::vector<Event> expected{
      {RepeatAndSelect{{.gamma = 0.1}, {{Gaussian{5}, 1}, {PoissonGaussian{0.25, 2}, 4}}}, 1}};
  EXPECT_EQ(world.query.events(0, 1), expected);
  trained(world);
  EXPECT_EQ(world.ledger->events(), expected);
}

// No noise is used twice, whether in one training or in two; and a run that is begun again is the same.
TEST(TrainedRuns, HaveNoiseOfTheirOwn) {
  PartWorld world(best_of(two, 0.02));
  const auto first = trained(world);
  ASSERT_GE(first.size(), 16u);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
  world.start();
  world.curator->resume_at(0);
  EXPECT_EQ(trained(world), first);
}

TEST(TrainedRuns, ReleaseWhatWasPlanned) {
  PartWorld less(best_of(two)), more(best_of(two));
  EXPECT_THROW(trained(less, 0), PrivacyError);
  EXPECT_THROW(trained(more, 5), PrivacyError);
}

TEST(TrainedRuns, AreMadeInsideOfARunOnly) {
  PartWorld world(best_of(two));
  EXPECT_THROW(world.curator->train_in_run(world.query, 0, [](Curator&) {}), BugError);
  trained(world);
  EXPECT_THROW(world.curator->train_in_run(world.query, 0, [](Curator&) {}), BugError);
}

// A commitment to the data reads all of them, and there may be thousands of trainings: a run has one, which is no
// part of them.
TEST(TrainedRuns, ReadNoRecordBeforeTheyDraw) {
  PartWorld world(best_of(two));
  auto& features = world.shard.blocks[0].records.f32;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  features.resize(3 * page);  // floats: there is a whole page among them
  void* const inside = reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(features.data()) + page - 1) /
                                               page * page);  // NOLINT
  ASSERT_EQ(mprotect(inside, page, PROT_NONE), 0);
  EXPECT_FALSE(trained(world).empty());  // who reads the page is killed
  ASSERT_EQ(mprotect(inside, page, PROT_READ | PROT_WRITE), 0);
}

TEST(TrainedRuns, AllCostTheSame) {
  QuerySpec longer = gradients();
  longer.steps = 5;
  EXPECT_THROW(PartWorld(best_of({{"one", {gradients()}}, {"longer", {longer}}})), ConfigError);
  EXPECT_THROW(PartWorld(best_of({{"nested", {best_of(two)}}})), ConfigError);
}

}  // namespace
}  // namespace dpmpi::trained_runs_test
