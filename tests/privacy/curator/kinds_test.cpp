// What the kinds of query take, refuse and say of themselves.

#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curator/query.hpp"
#include "privacy/curves/repetition_law.hpp"
#include "support/data_files.hpp"

namespace dpmpi::kinds_test {
namespace {

constexpr std::uint64_t records = 400;

Query declared(const QueryKind& kind, const SamplingRule& rule, std::size_t dim = 1,
               Adjacency adjacency = Adjacency::replace_one, Noise noise = Noise::gaussian) {
  return Query::declare(
      {.name = "q", .dim = dim, .sampling = rule, .noise_multiplier = 2, .steps = 2, .kind = kind, .noise = noise},
      0, adjacency, records);
}

const SamplingRule everybody = FullBatch{}, some = Poisson{0.1}, parts = Disjoint{{{200, 1, 1}, {100, 1, 1}}},
                   order = Shuffled{.first = 10, .batch = 10, .leaves = 2};

LastIterateRun hidden() {
  return {{.steps = 7,  // of whoever planned it: the query's count
           .hybrid = 1,
           .before_multiplier = 1,
           .directional_multiplier = 3,
           .isotropic_multiplier = 4,
           .diameter = 1,
           .drift = 400,
           .directions = 1,
           .dimension = 2,
           .population = 400,
           .batch = 400},
          0.25};
}

TEST(QueryKinds, TakeTheRulesOfTheirAnalysis) {
  for (const SamplingRule& rule : {everybody, some, parts, order})
    for (const QueryKind& kind : {QueryKind{Sum{}}, QueryKind{ExactSum{}}}) EXPECT_NO_THROW(declared(kind, rule));
  EXPECT_NO_THROW(declared(RunningSum{}, order));
  EXPECT_NO_THROW(declared(Phases{}, parts));
  EXPECT_NO_THROW(declared(BestOfRuns{}, everybody));
  EXPECT_NO_THROW(declared(hidden(), everybody));
  for (const SamplingRule& rule : {everybody, some, parts}) EXPECT_THROW(declared(RunningSum{}, rule), BugError);
  for (const SamplingRule& rule : {everybody, some, order}) EXPECT_THROW(declared(Phases{}, rule), BugError);
  for (const SamplingRule& rule : {some, parts, order}) EXPECT_THROW(declared(BestOfRuns{}, rule), BugError);
  EXPECT_THROW(declared(hidden(), parts), BugError);
}

TEST(QueryKinds, RefuseNoiseOfWhichTheirBoundsSayNothing) {
  const auto discrete = [](const QueryKind& kind, const SamplingRule& rule) {
    return declared(kind, rule, 1, Adjacency::replace_one, Noise::discrete_gaussian);
  };
  EXPECT_NO_THROW(discrete(Sum{}, everybody));
  EXPECT_NO_THROW(discrete(Phases{}, parts));
  EXPECT_THROW(discrete(RunningSum{}, order), PrivacyError);
  EXPECT_THROW(discrete(BestOfRuns{}, everybody), PrivacyError);
  EXPECT_THROW(discrete(hidden(), everybody), PrivacyError);
}

TEST(QueryKinds, RefuseValuesOutsideTheirBounds) {
  EXPECT_THROW(declared(Sum{0}, everybody), BugError);
  EXPECT_THROW(declared(Sum{1.5}, everybody), BugError);
  EXPECT_THROW(declared(RunningSum{.first_clip = 2, .adaptive = true}, order), BugError);
  EXPECT_THROW(declared(Phases{.range = 0}, parts), BugError);
  EXPECT_THROW(declared(BestOfRuns{}, everybody, 2), BugError) << "a run is scored by one number";
  EXPECT_THROW(declared(hidden(), everybody, 1, Adjacency::add_remove), PrivacyError);
}

TEST(QueryKinds, ARunOfHiddenIteratesIsOneEventOfAllStepsOfTheQuery) {
  const Query query = declared(hidden(), everybody);
  const HiddenState event = query.as<LastIterateRun>()->event(query);
  EXPECT_EQ(event.steps, 2u);
  EXPECT_EQ(event.noise_multiplier, 2);
  EXPECT_EQ(event.error, 0.5) << "the rounding of the noise that there is";
  EXPECT_EQ(event.drift, 400.5);
  EXPECT_EQ(query.events(0, 2), (std::vector<Event>{{event, 1}}));
  EXPECT_EQ(query.events(1, 2), std::vector<Event>{}) << "charged when it begins";
  EXPECT_EQ(query.noise_scale(0), 1);
  EXPECT_EQ(query.noise_scale(1), 5) << "3 along the directions, 4 everywhere";
}

// What plans, estimates and audits go by.
TEST(QueryKinds, SayWhatAReleaseTakes) {
  EXPECT_EQ(declared(Phases{.sums = 3, .sequential_passes = 2}, parts).cost.sums, 3);
  EXPECT_EQ(declared(Phases{.sums = 3, .sequential_passes = 2}, parts).cost.sequential_passes, 2);
  const RepetitionLaw law{.gamma = 0.1};
  EXPECT_EQ(declared(BestOfRuns{law}, everybody).cost.runs, expected_repetitions(law));
  EXPECT_EQ(declared(hidden(), everybody).cost.worker_noise, 0.5) << "one of two steps";
  EXPECT_EQ(declared(RunningSum{.strategy = Strategy::fenwick}, order).shift.values, 2) << "a leaf and its tree";
  for (const auto& [kind, rule, secret] : {std::tuple{QueryKind{Sum{}}, everybody, false},
                                           {QueryKind{RunningSum{}}, order, false},
                                           {QueryKind{hidden()}, everybody, false},
                                           {QueryKind{Phases{}}, parts, true},
                                           {QueryKind{BestOfRuns{}}, everybody, true}})
    EXPECT_EQ(declared(kind, rule).needs_trusted_ranks(), secret);
}

TEST(QueryKinds, DescribeThemselves) {
  EXPECT_EQ(declared(Sum{0.5}, everybody).describe().size(), 3u);
  EXPECT_EQ(declared(ExactSum{}, everybody).describe().size(), 2u);
  EXPECT_MENTIONS(declared(RunningSum{}, order).describe().back(), "sums of 2 leaves, fenwick");
  EXPECT_MENTIONS(declared(Phases{}, parts).describe().front(), "results of phases");
}

}  // namespace
}  // namespace dpmpi::kinds_test
