// ht-localize against its formula, its noise and its folds.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/heavy_tailed/localization.hpp"
#include "problems/printed_heavy_tails.hpp"
#include "problems/trial.hpp"
#include "problems/vector_objective.hpp"

namespace dpmpi::localize_test {
namespace {

using test::Trial;
using Options = std::map<std::string, std::string>;

constexpr std::size_t dim = 2;

/// f = |x - s|^2 / 2.
std::unique_ptr<Objective> mean() {
  return std::make_unique<test::VectorObjective>(
      dim, [](std::span<const float> s, std::span<const float> x, std::span<double> g) {
        for (std::size_t j = 0; j < s.size(); ++j) g[j] = double{x[j]} - s[j];
      });
}

std::vector<std::vector<float>> around(float a, float b, std::size_t count) {
  std::vector<std::vector<float>> rows(count, {a, b});
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> normal(2);
    PublicStream(3, "localize test", i).normals(0, normal);
    for (std::size_t j = 0; j < dim; ++j) rows[i][j] += static_cast<float>(0.3 * normal[j]);
  }
  return rows;
}

Shard shard_of(const std::vector<std::vector<float>>& rows) {
  return test::dense_shard(rows, std::vector<float>(rows.size(), 0.0f));
}

const Disjoint& folds_of(const Trial& trial) { return std::get<Disjoint>(trial.queries[0].sampling); }

/// The fold of every record; folds.parts.size() for records of none.
std::vector<std::size_t> fold_of_records(const Trial& trial) {
  const Disjoint& folds = folds_of(trial);
  std::vector<std::size_t> found;
  for (const std::uint32_t slot : shuffle_slots(folds.seed, trial.shard.layout)) {
    std::size_t p = 0;
    while (p < folds.parts.size() && slot >= folds.begin(p + 1)) ++p;
    found.push_back(p);
  }
  return found;
}

// Algorithms 1 to 3 once more, in the plainest way, without noise.
TEST(HtLocalize, FollowsItsPseudoCode) {
  const auto rows = around(0.8f, -0.4f, 400);
  Trial trial("ht-localize",
              {{"folds", "3"},
               {"phases", "2"},
               {"steps", "7"},
               {"g1", "0.6"},
               {"g2", "0.6"},
               {"gk", "0.6"},
               {"radius", "0.9"}},
              0.0, mean(), shard_of(rows));
  const LocalizedPlan plan = plan_localized_erm(
      {.records = 400, .dim = dim, .diameter = 0.9, .mu = 1, .change = 2, .tail = {2, 0.6, 0.6, 0.6}}, 3, 2,
      {0.045, 0.045, 0.01}, 7, 2);
  ASSERT_EQ(plan.phases.size(), 2u);
  const auto fold = fold_of_records(trial);
  std::vector<double> centre(dim, 0.0);
  const auto into = [](std::vector<double>& x, const std::vector<double>& c, double radius) {
    const double far = std::hypot(x[0] - c[0], x[1] - c[1]);
    for (std::size_t j = 0; far > radius && j < dim; ++j) x[j] = c[j] + (x[j] - c[j]) * radius / far;
  };
  for (std::size_t i = 0; i < 2; ++i) {
    const LocalizedPhase& phase = plan.phases[i];
    const double C = phase.solver.settings.clip, lambda = phase.lambda;
    std::vector<std::vector<double>> points;
    for (std::size_t j = 0; j < 3; ++j) {
      std::vector<double> x = centre, sum(dim, 0.0);
      double weights = 0;
      for (std::size_t t = 0; t < 7; ++t) {
        const double weight = static_cast<double>(t) + 4, eta = 4 / (lambda * (static_cast<double>(t) + 1));
        std::vector<double> g(dim, 0.0);
        for (std::size_t s = 0; s < rows.size(); ++s) {
          if (fold[s] != 3 * i + j) continue;
          const double a = x[0] - double{rows[s][0]}, b = x[1] - double{rows[s][1]},
                       scale = std::min(1.0, C / std::hypot(a, b));
          g[0] += a * scale, g[1] += b * scale;
        }
        for (std::size_t c = 0; c < dim; ++c) {
          sum[c] += weight * x[c];
          x[c] = centre[c] +
                 (x[c] - centre[c] - eta * g[c] / static_cast<double>(phase.fold_records)) / (1 + eta * lambda);
        }
        weights += weight;
        into(x, centre, 0.6 / lambda);  // the ball of radius 0.9 about 0 is checked below
      }
      for (double& c : sum) c /= weights;
      EXPECT_LE(std::hypot(sum[0], sum[1]), 1.2) << "or the other ball would matter";
      points.push_back(sum);
    }
    // The majority of 3 is 2: the point whose nearest neighbour is nearest.
    std::size_t best = 0;
    double least = 1e9;
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b)
        if (const double far = std::hypot(points[a][0] - points[b][0], points[a][1] - points[b][1]);
            a != b && far < least)
          least = far, best = a;
    centre = points[best];
    trial.run(3 * 7);
    for (std::size_t j = 0; j < dim; ++j) EXPECT_NEAR(trial.iterate()[j], centre[j], 1e-4) << "phase " << i + 1;
  }
}

// A7, T12, T5: whatever the folds, phases, steps, rounds and the failure probability, the run is one Gaussian event
// of multiplier 1 / mu, its parts are disjoint and fit the data, and each has the noise 2 C sqrt(T) / mu.
TEST(HtLocalize, FoldsAndPhasesCostNothing) {
  const double mu = 0.4;
  const auto objective = mean();
  for (const std::uint64_t n : {1000ULL, 131077ULL})
    for (const Options& options : {Options{},
                                   {{"folds", "5"}},
                                   {{"folds", "0"}, {"fail_prob", "0.2"}},
                                   {{"phases", "1"}},
                                   {{"steps", "0"}},
                                   {{"strong_convexity", "0.5"}, {"radius", "10"}},
                                   {{"lambda_scale", "0.3"}, {"clip", "2"}}}) {
      const auto settings = test::make_settings("ht-localize", options);
      for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
        const PublicFacts facts{{n, dim}, objective.get(), adjacency, mu};
        const auto plan = settings->plan(facts);
        const Query query = Query::declare(plan->queries(1 / mu).at(0), 0, adjacency, n);
        EXPECT_EQ(query.events(0, query.steps), (std::vector<Event>{{Gaussian{1 / mu}, 1}}));
        EXPECT_EQ(plan->steps, query.steps);
        std::uint64_t used = 0;
        for (const auto& part : std::get<Disjoint>(query.sampling).parts) used += part.size;
        EXPECT_LE(used, n);
        for (const Query& part : query.parts) {
          const double change = adjacency == Adjacency::add_remove ? 1 : 2, C = part.bound.clip;
          EXPECT_GE(part.noise_std, change * C * std::sqrt(static_cast<double>(part.steps)) / mu);
          EXPECT_LE(part.noise_std, change * C * std::sqrt(static_cast<double>(part.steps)) / mu * 1.01);
        }
      }
    }
}

// The ledger has what the plan has, once, whatever steps are run.
TEST(HtLocalize, LedgerEqualsPlan) {
  Trial trial("ht-localize", {{"folds", "2"}, {"phases", "2"}, {"steps", "3"}}, 1.5, mean(),
              shard_of(around(0, 0, 100)));
  trial.run();
  EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, trial.steps));
  EXPECT_THROW(trial.algorithm->step(*trial.curator, 0), PrivacyError);
}

// Exact sensitivity: runs on neighbours under the same noise agree to the last bit until the fold of the record
// that differs, and differ there by 2 C in the first sum at most; and the test comes near that.
TEST(HtLocalize, ARecordMovesOneFoldByAtMostTwoClips) {
  const auto rows = around(0, 0, 200);
  const Options options{{"folds", "2"}, {"phases", "2"}, {"steps", "3"}, {"clip", "0.5"}, {"radius", "100"}};
  double largest = 0;
  for (const std::size_t record : {3ULL, 57ULL, 120ULL, 199ULL}) {
    auto left = rows, right = rows;
    left[record] = {40, 30}, right[record] = {-40, -30};
    std::vector<double> first;
    std::vector<float> until;
    double bound = 0;
    for (const auto& neighbour : {left, right}) {
      Trial trial("ht-localize", options, 1.0, mean(), shard_of(neighbour));
      const std::size_t fold = fold_of_records(trial)[record];
      ASSERT_LT(fold, folds_of(trial).parts.size());
      const std::uint64_t before = folds_of(trial).first_release(fold);
      trial.run(before);
      const std::vector<float> x = trial.iterate();
      if (!until.empty()) {
        EXPECT_EQ(x, until) << record;
      }
      until = x;
      const Query& query = trial.queries[0];
      bound = query.at(before).sensitivity;
      const auto sum = trial.curator->release(
          trial.curator->sum(query, trial.curator->draw(query, before), clipped_gradients(*trial.objective, x)));
      first.insert(first.end(), sum.begin(), sum.end());
    }
    const double change = std::hypot(first[0] - first[2], first[1] - first[3]);
    EXPECT_LE(change, bound + 1e-4);  // released as float32
    largest = std::max(largest, change / bound);
  }
  EXPECT_GT(largest, 0.95);
}

// T14: two of five folds of every phase hold records far away; the result is near the mean of the others.
TEST(HtLocalize, AMajorityOfFoldsDecides) {
  auto rows = around(0.5f, 0.25f, 1000);
  const Options options{{"folds", "5"}, {"phases", "2"}, {"steps", "40"},         {"radius", "1e6"}, {"g1", "100"},
                        {"g2", "1e3"},  {"gk", "1e3"},   {"lambda_scale", "1e2"}, {"clip", "100"},   {"rate", "1"}};
  const Trial plan("ht-localize", options, 0.0, mean(), shard_of(rows));
  const auto fold = fold_of_records(plan);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (fold[i] % 5 < 2) rows[i] = {50, 50};
  Trial trial("ht-localize", options, 0.0, mean(), shard_of(rows));
  trial.run();
  EXPECT_NEAR(trial.iterate()[0], 0.5, 0.2);
  EXPECT_NEAR(trial.iterate()[1], 0.25, 0.2);
}

// Stopped in the middle of a fold, at its end, and in a later round.
TEST(HtLocalize, ResumesWhereItStopped) {
  const Options options{{"folds", "2"},   {"phases", "2"}, {"steps", "3"}, {"strong_convexity", "0.9"},
                        {"radius", "20"}, {"clip", "1"}};
  const auto rows = around(1, 1, 600);
  Trial whole("ht-localize", options, 1.0, mean(), shard_of(rows));
  whole.run();
  EXPECT_EQ(whole.steps, 24u) << "two rounds";
  for (const std::uint64_t stop :
       {0ULL, 1ULL, 3ULL, 5ULL, 6ULL, static_cast<unsigned long long>(whole.steps) - 2}) {
    Trial first("ht-localize", options, 1.0, mean(), shard_of(rows));
    first.run(stop);
    Trial second("ht-localize", options, 1.0, mean(), shard_of(rows));
    second.resume(first);
    second.run();
    EXPECT_EQ(second.iterate(), whole.iterate()) << stop;
  }
}

// The error is within the bound, and falls with the records.
TEST(HtLocalize, ErrorFallsWithTheRecords) {
  double bound = 0;
  const auto excess = [&](std::size_t n, const Options& more) {
    double sum = 0;
    for (std::uint64_t key = 1; key <= 5; ++key) {
      Options options{{"g1", "1.5"}, {"g2", "1.7"}, {"gk", "1.7"}, {"radius", "1"}};
      options.insert(more.begin(), more.end());
      Trial trial("ht-localize", options, 3.0, mean(), shard_of(around(0.6f, 0.3f, n)), Adjacency::replace_one,
                  key);
      trial.run();
      sum += (std::pow(trial.iterate()[0] - 0.6, 2) + std::pow(trial.iterate()[1] - 0.3, 2)) / 2 / 5;
      if (more.empty()) bound = trial.derived("bound");
    }
    return sum;
  };
  EXPECT_LT(excess(1000, {}), bound);
  const Options practical{{"lambda_scale", "0.02"}, {"rate", "1"}, {"phases", "2"}};
  const double few = excess(250, practical), many = excess(4000, practical);
  EXPECT_LT(many, few / 4);
  EXPECT_LT(many, 0.005);
}

// T15: as printed a fold takes as many steps as it has records or more, and there are hundreds of folds.
TEST(HtLocalize, ThePrintedFoldsNeedManyRecords) {
  HeavyTailProblem problem{1e6, static_cast<double>(dim), 1, 0.2, 2, {4, 1, 1, 2}};
  const LocalizedPlan plan = printed::localization(problem, 0.05);
  EXPECT_GT(plan.folds, 1000u);
  for (const LocalizedPhase& phase : plan.phases)
    EXPECT_GE(phase.solver.settings.steps, phase.fold_records) << "T = max(m, ...)";
  problem.records = 1000;
  EXPECT_THROW(printed::localization(problem, 0.05), ConfigError) << "folds of less than two records";
}

}  // namespace
}  // namespace dpmpi::localize_test
