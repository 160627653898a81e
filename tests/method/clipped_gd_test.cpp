// clipped-gd against its formula, its bound on the excess risk, and its noise.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/gdp.hpp"
#include "method/trial.hpp"
#include "objective/vector_objective.hpp"

namespace dpmpi {
namespace {

using testing::Trial;
using Options = std::map<std::string, std::string>;

/// f = <s, x>: the gradient is the record.
std::unique_ptr<Objective> linear(std::size_t dim) {
  return std::make_unique<test::VectorObjective>(
      dim, [](std::span<const float> s, std::span<const float>, std::span<double> g) {
        std::copy(s.begin(), s.end(), g.begin());
      });
}

// T8: every record is clipped by itself, before anything is added. Two records of 10 C in opposite directions
// cancel; of the mean they would have left the others alone, too, but a third one, large, is seen with norm C only.
TEST(ClippedGd, ClipsEveryRecordByItself) {
  const float far = 10;
  Trial trial("clipped-gd", {{"steps", "1"}, {"clip", "1"}, {"rate", "1"}, {"average", "none"}}, 0.0, linear(2),
              test::dense_shard({{far, 0}, {-far, 0}, {0, 4 * far}, {0.5f, 0}}, {0, 0, 0, 0}));
  trial.run();
  EXPECT_NEAR(trial.iterate()[0], -0.5 / 4, 1e-3);
  EXPECT_NEAR(trial.iterate()[1], -1.0 / 4, 1e-3);
}

// T4: an expected batch of q n divides the sum, whatever the batch is: here it has 0, 1 or 2 records of norm 1.
TEST(ClippedGd, DividesByTheExpectedBatch) {
  const Options options{{"steps", "40"}, {"clip", "1"},           {"rate", "1"},
                        {"batch", "1"},  {"sampling", "poisson"}, {"average", "none"}};
  Trial trial("clipped-gd", options, 0.0, linear(1), test::dense_shard({{1}, {1}}, {0, 0}));
  std::array<std::size_t, 3> seen{};
  double before = 0;
  for (std::uint64_t t = 0; t < 40; ++t) {
    trial.run(1);
    const double step = before - trial.iterate()[0];
    before = trial.iterate()[0];
    const auto count = static_cast<std::size_t>(std::lround(step));
    ASSERT_LE(count, 2u);
    EXPECT_NEAR(step, static_cast<double>(count), 1e-3) << "m = q n = 1";
    ++seen[count];
  }
  for (const std::size_t times : seen) EXPECT_GT(times, 0u);
}

// A6: mu = 2 C sqrt(T) / (m sigma) under replace_one, and the noise of the paper's settings.
TEST(ClippedGd, NoiseOfTheMeanIsThatOfTheTheorem) {
  struct Case {
    double m, C, T, rho, sigma;
  };
  for (const Case& c :
       {Case{10000, 10.905077, 1000000, 0.5, 2.1810155}, {2000, 4.2044821, 2000, 0.1, 0.42044821}}) {
    const double mu = std::sqrt(2 * c.rho);
    const auto method = testing::make_method(
        "clipped-gd", {{"steps", std::to_string(std::lround(c.T))}, {"clip", std::to_string(c.C)}});
    const auto objective = linear(50);
    PublicFacts facts{{static_cast<std::uint64_t>(c.m), 50}, objective.get(), Adjacency::replace_one};
    const QuerySpec spec = method->queries(facts, std::sqrt(c.T) / mu).at(0);
    const Query query = Query::declare(spec, 0, facts.adjacency, facts.data.records);
    EXPECT_NEAR(query.noise_std / (1 + query.eta) / c.m / c.sigma, 1, 2e-7);
    GdpAccountant account(facts.adjacency);
    for (const Event& event : query.events(0, query.steps)) account.compose(event);
    EXPECT_NEAR(account.epsilon(1e-6) / gdp_epsilon(mu, 1e-6), 1, 1e-9) << "T12: neither split nor summed";
  }
}

TEST(ClippedGd, RefusesBatchesLargerThanTheData) {
  EXPECT_THROW(Trial("clipped-gd", {{"sampling", "poisson"}, {"batch", "5"}}, 1.0, linear(1),
                     test::dense_shard({{1}, {1}}, {0, 0})),
               ConfigError);
}

/// f = |x - s|: gradients of norm 1, so that C = 1 clips nothing.
std::unique_ptr<Objective> median(std::size_t dim) {
  return std::make_unique<test::VectorObjective>(
      dim, [](std::span<const float> s, std::span<const float> x, std::span<double> g) {
        double square = 0;
        for (std::size_t j = 0; j < s.size(); ++j) g[j] = double{x[j]} - s[j], square += g[j] * g[j];
        for (double& v : g) v = square > 0 ? v / std::sqrt(square) : 0;
      });
}

double regularised_risk(const std::vector<std::vector<float>>& rows, std::span<const float> x, double lambda) {
  double sum = 0, square = 0;
  for (const auto& s : rows) {
    double distance = 0;
    for (std::size_t j = 0; j < s.size(); ++j) distance += std::pow(double{x[j]} - s[j], 2);
    sum += std::sqrt(distance);
  }
  for (const float v : x) square += double{v} * v;
  return sum / static_cast<double>(rows.size()) + lambda / 2 * square;
}

/// Its minimum, by Weiszfeld's iteration.
std::vector<float> regularised_median(const std::vector<std::vector<float>>& rows, double lambda) {
  std::vector<float> x(rows.front().size(), 0.5f);
  for (int i = 0; i < 200; ++i) {
    double weight = lambda * static_cast<double>(rows.size());
    std::vector<double> sum(x.size());
    for (const auto& s : rows) {
      double square = 1e-12;
      for (std::size_t j = 0; j < x.size(); ++j) square += std::pow(double{x[j]} - s[j], 2);
      weight += 1 / std::sqrt(square);
      for (std::size_t j = 0; j < x.size(); ++j) sum[j] += s[j] / std::sqrt(square);
    }
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>(sum[j] / weight);
  }
  return x;
}

// A27: the gap of the weighted mean is within the bound for any T,
// 4 (T + 3 H_T) (C^2 + d sigma^2) / (lambda Z) + lambda r^2 (T + 3) / (2 Z), Z = T (T + 7) / 2, on average.
TEST(ClippedGd, GapIsWithinTheBoundOfTheTheorem) {
  struct Case {
    std::size_t n, d, T;
    int runs;
  };
  for (const Case& c : {Case{200, 3, 50, 200}, Case{500, 5, 200, 20}}) {
    const double lambda = 0.5, mu = 2;
    std::vector<std::vector<float>> rows(c.n, std::vector<float>(c.d));
    for (std::size_t i = 0; i < c.n; ++i) {
      std::vector<double> normal(round_up(c.d, 2));
      PublicStream(5, "median test", i).normals(0, normal);
      for (std::size_t j = 0; j < c.d; ++j) rows[i][j] = static_cast<float>(normal[j] + 1);
    }
    const Options options{{"steps", std::to_string(c.T)}, {"clip", "1"},  {"rate", "0"}, {"lambda", "0.5"},
                          {"average", "weighted"},        {"radius", "4"}};
    const std::vector<float> none(c.n, 0.0f);
    const auto best = regularised_median(rows, lambda);
    const double least = regularised_risk(rows, best, lambda);
    double r = 0, gap = 0, sigma = 0;
    for (const float v : best) r += double{v} * v;
    for (int run = 0; run < c.runs; ++run) {
      Trial trial("clipped-gd", options, std::sqrt(static_cast<double>(c.T)) / mu, median(c.d),
                  test::dense_shard(rows, none), Adjacency::replace_one, static_cast<std::uint64_t>(run + 1));
      trial.run();
      gap += (regularised_risk(rows, trial.iterate(), lambda) - least) / c.runs;
      sigma = trial.derived("sigma");
    }
    const auto T = static_cast<double>(c.T);
    double harmonic = 0;
    for (std::size_t t = 1; t <= c.T; ++t) harmonic += 1 / static_cast<double>(t);
    const double Z = T * (T + 7) / 2;
    const double bound = 4 * (T + 3 * harmonic) / (lambda * Z) * (1 + static_cast<double>(c.d) * sigma * sigma) +
                         lambda * r * (T + 3) / (2 * Z);
    EXPECT_LE(gap, bound);
    EXPECT_GE(gap, 1e-5) << "noise and few steps leave a gap";
  }
}

}  // namespace
}  // namespace dpmpi
