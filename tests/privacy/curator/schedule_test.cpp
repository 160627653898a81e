// Queries that are not released once in every step: what is due when, what the ledger says, and resuming.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/curator_world.hpp"

namespace dpmpi::schedule_test {
namespace {

constexpr std::uint64_t rounds = 230, period = 3, inner = 2;
constexpr test::RecordsShape shape{Storage::dense_f32, 60, 3, 1, LabelKind::sign};

TEST(Schedule, CountsReleasesByGoingThroughTheSteps) {
  for (const Schedule s : {Schedule{}, Schedule{3, 0, 1, 1}, Schedule{3, 1, 3, 1}, Schedule{5, 2, 4, 3},
                           Schedule{1, 0, 1, 4}, Schedule{rounds, 0, 1, 1}}) {
    std::uint64_t releases = 0;
    for (std::uint64_t t = 0; t < 40; ++t) {
      EXPECT_EQ(s.releases_before(t), releases) << t;
      const bool due = t % s.period >= s.begin && t % s.period < s.end;
      for (std::uint64_t i = 0; due && i < s.times; ++i) EXPECT_EQ(s.step_of(releases++), t);
    }
  }
}

QuerySpec query_of(const char* name, double z, std::uint64_t releases, Schedule schedule) {
  return {.name = name,
          .dim = 4,
          .sampling = Poisson{0.2},
          .noise_multiplier = z,
          .steps = releases,
          .schedule = schedule};
}

// Restarts every third step, differences in between, two dual releases in each.
struct World : test::World {
  static constexpr std::uint64_t restarts = (rounds + period - 1) / period;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<double>> released;

  World()
      : test::World({.shape = shape, .blocks = 2},
                    {query_of("restart", 2, restarts, {period, 0, 1, 1}),
                     query_of("difference", 3, rounds - restarts, {period, 1, period, 1}),
                     query_of("dual", 4, rounds * inner, {1, 0, 1, inner})}) {}
  void release(const Query& query, std::uint64_t t) {
    released[{query.name, t}] = test::World::release(t, test::nothing, 1, query.query_index);
  }
  void round(std::uint64_t r) {
    for (std::uint64_t i = 0; i < inner; ++i) release(queries[2], r * inner + i);
    r % period == 0 ? release(queries[0], r / period) : release(queries[1], r - r / period - 1);
  }
};

TEST(Schedule, TheLedgerCoversWhatIsReleasedAndNoMore) {
  World world;
  for (std::uint64_t r = 0; r < rounds; ++r) world.round(r);
  const auto total = uses(world.ledger->events());
  EXPECT_EQ(total,
            (std::map<Mechanism, std::uint64_t>{
                {PoissonGaussian{0.2, 2}, 77}, {PoissonGaussian{0.2, 3}, 153}, {PoissonGaussian{0.2, 4}, 460}}));
  for (const Query& query : world.queries) EXPECT_THROW(world.release(query, query.steps), PrivacyError);
  for (const Query& query : world.queries) EXPECT_THROW(world.release(query, query.steps - 1), PrivacyError);
  EXPECT_EQ(uses(world.ledger->events()), total);
}

// Lines pay for whole windows of 100 steps, before the first release of any of them.
TEST(Schedule, AWindowIsPaidForAtItsFirstRelease) {
  World world;
  world.release(world.queries[2], 0);
  EXPECT_EQ(uses(world.ledger->events()),
            (std::map<Mechanism, std::uint64_t>{
                {PoissonGaussian{0.2, 2}, 34}, {PoissonGaussian{0.2, 3}, 66}, {PoissonGaussian{0.2, 4}, 200}}));
  world.release(world.queries[0], 34);  // of step 102
  EXPECT_EQ(uses(world.ledger->events())[(PoissonGaussian{0.2, 2})], 67u);
}

TEST(Schedule, AResumedRunGoesOnWithEachQuerysNextRelease) {
  World whole;
  for (std::uint64_t r = 0; r < rounds; ++r) whole.round(r);
  for (const std::uint64_t stop : {1u, 37u, 99u, 100u, 102u, 229u}) {
    World world;
    for (std::uint64_t r = 0; r < std::min(rounds, stop + 2); ++r) world.round(r);  // two steps past the checkpoint
    world.reopen();
    world.curator->resume_at(stop);
    for (const Query& query : world.queries)
      if (const auto next = query.releases_before(stop); next > 0) {
        EXPECT_THROW(world.release(query, next - 1), PrivacyError) << query.name << " at " << stop;
      }
    for (std::uint64_t r = stop; r < rounds; ++r) world.round(r);
    EXPECT_EQ(world.released, whole.released) << stop;
    EXPECT_EQ(world.ledger->lines(), whole.ledger->lines()) << stop;
  }
}

}  // namespace
}  // namespace dpmpi::schedule_test
