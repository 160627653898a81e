// clipped-gd against its formula, its bound on the excess risk, and its noise.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "problems/trial.hpp"
#include "problems/vector_objective.hpp"

namespace dpmpi::clipped_gd_test {
namespace {

using test::Trial;
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
  Trial trial("clipped-gd",
              {{"steps", "1"}, {"clip_rule", "fixed"}, {"clip", "1"}, {"rate", "1"}, {"average", "none"}}, 0.0,
              linear(2), test::dense_shard({{far, 0}, {-far, 0}, {0, 4 * far}, {0.5f, 0}}, {0, 0, 0, 0}));
  trial.run();
  EXPECT_NEAR(trial.iterate()[0], -0.5 / 4, 1e-3);
  EXPECT_NEAR(trial.iterate()[1], -1.0 / 4, 1e-3);
}

// T21 of gibo: robust regression has gradients up to sqrt(2), whatever its source says of 1. Noise for a clip of 1
// belongs to a method that clips: replacing the one record by its opposite moves the sum by 2, not by 2 sqrt(2),
// and a clip of 2 shows that it would have been that.
TEST(ClippedGd, ClipsRobustRegressionToo) {
  const auto step = [](const char* clip, float label) {
    const float root2 = std::sqrt(2.0F);
    Trial trial("clipped-gd",
                {{"steps", "1"}, {"clip_rule", "fixed"}, {"clip", clip}, {"rate", "1"}, {"average", "none"}}, 0.0,
                test::make_objective("mallows", {4, Storage::dense_f32, 0}),
                test::dense_shard({{root2, 0, 0, 0}, {0, 0.5F, 0, 0}}, {label, 0}));
    trial.run();
    return static_cast<double>(trial.iterate()[0]);
  };
  constexpr double n = 2, slack = 1e-3;
  EXPECT_NEAR(n * (step("2", 5) - step("2", -5)), 2 * std::sqrt(2.0), slack);
  EXPECT_NEAR(n * (step("1", 5) - step("1", -5)), 2, slack);
}

// T4: an expected batch of q n divides the sum, whatever the batch is: here it has 0, 1 or 2 records of norm 1.
TEST(ClippedGd, DividesByTheExpectedBatch) {
  const Options options{{"steps", "40"}, {"clip_rule", "fixed"},  {"clip", "1"},      {"rate", "1"},
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
    const auto settings = test::make_settings(
        "clipped-gd",
        {{"steps", std::to_string(std::lround(c.T))}, {"clip_rule", "fixed"}, {"clip", std::to_string(c.C)}});
    const auto objective = linear(50);
    PublicFacts facts{{static_cast<std::uint64_t>(c.m), 50}, objective.get(), Adjacency::replace_one};
    const QuerySpec spec = settings->plan(facts)->queries(std::sqrt(c.T) / mu).at(0);
    const Query query = Query::declare(spec, 0, facts.adjacency, facts.data.records);
    EXPECT_NEAR(query.noise_std / (1 + query.eta) / c.m / c.sigma, 1, 2e-7);
    GdpAccountant account(facts.adjacency);
    for (const Event& event : query.events(0, query.steps)) account.compose(event);
    EXPECT_NEAR(account.epsilon(1e-6) / gdp_epsilon(mu, 1e-6), 1, 1e-9) << "T12: neither split nor summed";
  }
}

/// Records of one feature with these values, in this order.
Shard values(const std::vector<float>& x) {
  std::vector<std::vector<float>> rows;
  for (const float v : x) rows.push_back({v});
  return test::dense_shard(rows, std::vector<float>(x.size(), 0.0f));
}

/// 1, 2, ..., n.
std::vector<float> ladder(std::size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

// Nearly without noise the private clip is the smallest of the grid above which the target's records lie, and the
// gradients are clipped there: the first step is its mean.
TEST(ClippedGd, ClipsAtTheQuantileThatItsRuleNames) {
  const std::vector<float> x = ladder(4000);
  for (const char* rule : {"count", "median"}) {
    const Options options{{"steps", "1"},      {"rate", "1"},          {"average", "none"},
                          {"clip_rule", rule}, {"clip_lowest", "0.3"}, {"clip_records", "20"}};
    Trial trial("clipped-gd", options, 0.01, linear(1), values(x));
    trial.run();
    const double target = trial.derived("target");
    const double count = 20 * std::sqrt(2.0) / trial.derived("mu");
    EXPECT_NEAR(target / (rule == std::string("median") ? 2000 : count), 1, 1e-12);
    double clip = 0.3;
    while (static_cast<double>(std::count_if(x.begin(), x.end(), [&](float v) { return v >= clip; })) > target)
      clip *= 1.25;
    double mean = 0;
    for (const float v : x) mean += std::min<double>(v, clip) / 4000;
    EXPECT_NEAR(-trial.iterate()[0] / mean, 1, 2e-3) << rule;
  }
}

// Advice names an option only where it has an effect: clip_records has none on half of the records.
TEST(ClippedGd, AdvisesMoreClippedRecordsOnlyWhereTheRuleTakesThem) {
  const auto advice = [](const Options& options, std::uint64_t n) {
    const auto objective = linear(5);
    const PublicFacts facts{{n, 5}, objective.get(), Adjacency::replace_one};
    const auto plan = test::make_settings("clipped-gd", options)->plan(facts);
    return plan->notes(test::queries_of(*plan, facts, 20));
  };
  const std::string weak = "less than three deviations", raise = "raise method.clip_records";
  const std::string count = advice({}, 1'000'000);
  EXPECT_NE(count.find(weak), count.npos) << count;
  EXPECT_NE(count.find(raise), count.npos) << count;
  for (const std::string& none : {advice({{"clip_rule", "median"}}, 100), advice({}, 100)}) {
    EXPECT_NE(none.find(weak), none.npos) << none;
    EXPECT_EQ(none.find(raise), none.npos) << none;
  }
  EXPECT_EQ(advice({{"clip_records", "640"}}, 1'000'000).find(weak), std::string::npos);
  const std::string fixed = advice({{"clip_rule", "fixed"}, {"clip", "1"}}, 1'000'000);
  EXPECT_NE(fixed.find("about 261.3 records"), fixed.npos) << fixed;  // 32 sqrt(2 d) / mu, mu = sqrt(60) / 20
}

// Counts of clipped records are those of the table for epsilon = 1, delta = n^-1.5: 32 sqrt(d / rho), at most n /
// 2; half as many under add_remove, whose noise is half as large.
TEST(ClippedGd, CountsOfClippedRecordsFollowTheTable) {
  struct Case {
    std::uint64_t n;
    std::size_t d;
    double count;
  };
  for (const Case& c : {Case{10000, 10, 605},
                        {100000, 10, 700},
                        {1000000, 10, 786},
                        {10000000, 10, 865},
                        {10000, 1000, 5000},
                        {100000, 1000, 7002},
                        {1000000, 1000, 7864},
                        {10000000, 1000, 8653}}) {
    const double mu = gdp_mu(1, std::pow(static_cast<double>(c.n), -1.5));
    const auto settings = test::make_settings("clipped-gd", {{"steps", "20"}});
    const auto objective = linear(c.d);
    for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
      const PublicFacts facts{{c.n, c.d}, objective.get(), adjacency};
      const auto plan = settings->plan(facts);
      const std::vector<Query> queries = test::queries_of(*plan, facts, std::sqrt(20 / 0.95) / mu);
      const double whole = adjacency == Adjacency::replace_one ? c.count : c.count < 5000 ? c.count / 2 : 0;
      for (const auto& [symbol, value] : plan->report_quantities(queries)) {
        if (symbol == "target" && whole > 0) {
          EXPECT_NEAR(std::get<double>(value), whole, 1.5) << c.n << " " << c.d;
        }
        if (symbol == "mu") {
          EXPECT_NEAR(std::get<double>(value), mu, 1e-9);
        }
      }
      // Plan: both releases together are mu-GDP, mu_q^2 = 0.05 mu^2.
      GdpAccountant account(adjacency);
      for (const Query& query : queries)
        for (const Event& event : query.events(0, query.steps)) account.compose(event);
      EXPECT_NEAR(account.delta(1) * std::pow(static_cast<double>(c.n), 1.5), 1, 1e-6);
      EXPECT_NEAR(std::pow(queries[1].noise_multiplier, -2) / (mu * mu), 0.05, 1e-12);
    }
  }
}

// T17: a clip is a public constant or a private release: there is no third way to say it.
TEST(ClippedGd, TakesNoClipFromTheDataButPrivately) {
  const auto problems = [](const Settings& given) {
    std::unique_ptr<MethodSettings> settings;
    for (const auto& entry : methods())
      if (entry.name == "clipped-gd") settings = entry.make();
    dpmpi::Options options("method");
    settings->declare(options);
    std::vector<std::string> found;
    options.read(given, found);
    check_unknown(given, {&options}, found);
    settings->validate(found);
    return found.size();
  };
  EXPECT_EQ(problems({}), 0u);
  EXPECT_EQ(problems({{"method.clip_rule", {"quantile", "test"}}}), 1u);
  EXPECT_EQ(problems({{"method.clip_rule", {"fixed", "test"}}}), 1u);
  EXPECT_EQ(problems({{"method.clip", {"2", "test"}}}), 1u) << "a constant beside a private choice";
  EXPECT_EQ(problems({{"method.clip_quantile", {"0.9", "test"}}}), 1u) << "it is chosen before the first step";
  EXPECT_EQ(problems({{"method.clip_quantile", {"0.9", "test"}},
                      {"method.clip_rule", {"fixed", "test"}},
                      {"method.clip", {"1", "test"}}}),
            0u);
  EXPECT_EQ(problems({{"method.clip_quantile", {"0.9", "test"}},
                      {"method.clip_rule", {"fixed", "test"}},
                      {"method.clip", {"1", "test"}},
                      {"method.clip_share", {"0.7", "test"}}}),
            1u);
  EXPECT_EQ(problems({{"method.clip_lowest", {"1e-300", "test"}}, {"method.clip_share", {"1e-300", "test"}}}), 2u);
  // An objective that does not know its norms.
  EXPECT_THROW(Trial("clipped-gd", {}, 1.0, std::make_unique<test::BlackBox>(1, nullptr), values({1})),
               ConfigError);
}

double measure(const Trial& of, const std::string& name) {
  for (const Measure& m : of.algorithm->measures())
    if (m.name == name) return m.value;
  ADD_FAILURE() << "no measure " << name;
  return 0;
}

const Options follows{{"clip_rule", "fixed"}, {"clip_quantile", "0.5"}, {"average", "none"}, {"clip_share", "0.1"}};

// Full batches without noise: each step and clip again, in double. The records 1, 2, ..., 300 are the gradients.
TEST(ClippedGd, StepsOfAClipThatFollowsAreInItsUnits) {
  Trial trial("clipped-gd",
              test::with(follows, {{"steps", "8"}, {"clip", "40"}, {"rate", "0.3"}, {"clip_rate", "0.8"}}), 0.0,
              linear(1), values(ladder(300)));
  double x = 0, clip = 40;
  for (int t = 0; t < 8; ++t) {
    double sum = 0, within = 0;
    for (const float s : ladder(300))
      sum += std::min(clip, std::abs(double{s})) * (s < 0 ? -1 : 1), within += std::abs(double{s}) <= clip;
    x -= 0.3 / clip * sum / 300;
    clip *= std::exp(0.8 * (0.5 - within / 300));
    trial.run(1);
    EXPECT_NEAR(trial.iterate()[0], x, 2e-3 * std::abs(x)) << "step " << t;
    EXPECT_NEAR(measure(trial, "clip"), clip, 5e-3 * clip) << "step " << t;
  }
}

// From far above and far below, with noise; and the ledger has the events of the plan, and of a clip that stays.
TEST(ClippedGd, AClipThatFollowsComesToTheQuantileForTheEventsOfOneThatStays) {
  std::vector<float> x = ladder(300);
  for (float& s : x) s = std::abs(s);
  std::ranges::sort(x);
  for (const char* start : {"1e4", "1"})
    for (const char* sampling : {"full", "poisson"}) {
      const Options options{{"steps", "150"}, {"sampling", sampling}, {"batch", "200"}, {"rate", "1e-6"}};
      Options begins = test::with(follows, options);
      begins["clip"] = start, begins["clip_range"] = "1e4", begins["clip_rate"] = "0.6";
      Trial trial("clipped-gd", begins, 0.5, linear(1), values(ladder(300)));
      trial.run();
      const double clip = measure(trial, "clip");
      const auto within = std::ranges::upper_bound(x, static_cast<float>(clip)) - x.begin();
      EXPECT_NEAR(static_cast<double>(within) / 300, 0.5, 0.12) << start << " " << sampling;
      Options stays = options;
      stays["clip_rule"] = "fixed", stays["clip"] = "1";
      Trial other("clipped-gd", stays, 0.5, linear(1), values(ladder(300)));
      other.run();
      EXPECT_TRUE(same_events(trial.ledger->events(), events_of_all(trial.queries))) << "plan equals ledger";
      EXPECT_TRUE(same_events(trial.ledger->events(), other.ledger->events()));
      EXPECT_NEAR(trial.queries[0].noise_std / (std::stod(start) * 1e4) / other.queries[0].noise_std,
                  1 / std::sqrt(0.9), 1e-3)
          << "noise over the clip";
    }
}

TEST(ClippedGd, ResumesWithTheClipThatFollows) {
  const auto start = [](std::uint64_t key) {
    return Trial("clipped-gd", test::with(follows, {{"steps", "6"}, {"clip", "9"}, {"clip_rate", "1"}}), 1.0,
                 linear(1), values(ladder(300)), Adjacency::add_remove, key);
  };
  Trial whole = start(1);
  whole.run();
  Trial first = start(1);
  first.run(3);
  Trial second = start(1);
  second.resume(first);
  EXPECT_EQ(measure(second, "clip"), measure(first, "clip"));
  second.run();
  EXPECT_EQ(second.iterate(), whole.iterate());
  EXPECT_EQ(measure(second, "clip"), measure(whole, "clip"));
}

TEST(ClippedGd, AClipThatFollowsNeedsNorms) {
  Options options = follows;
  options["clip"] = "1";
  EXPECT_THROW(Trial("clipped-gd", options, 1.0, std::make_unique<test::BlackBox>(1, nullptr), values({1})),
               ConfigError);
}

// The choice is released once; a resumed run has it from its checkpoint, and goes on with the same bytes.
TEST(ClippedGd, ResumesWithTheChosenClip) {
  const auto start = [](std::uint64_t key) {
    return Trial("clipped-gd", {{"steps", "6"}, {"rate", "0.1"}, {"clip_records", "3"}}, 1.0, linear(1),
                 values(ladder(300)), Adjacency::add_remove, key);
  };
  Trial whole = start(1);
  whole.run();
  Trial first = start(1);
  first.run(3);
  Trial second = start(1);
  second.resume(first);
  second.run();
  EXPECT_EQ(second.iterate(), whole.iterate());
  EXPECT_THROW(second.algorithm->step(*second.curator, 0), PrivacyError) << "the choice cannot be made again";
}

// Everything that the run releases is in the ledger, and nothing else: the choice and T gradients.
TEST(ClippedGd, LedgerHasTheChoiceAndTheSteps) {
  Trial trial("clipped-gd", {{"steps", "5"}}, 1.5, linear(1), values(ladder(300)), Adjacency::replace_one);
  trial.run();
  double choices = 0, gradients = 0;
  for (const Event& event : trial.ledger->events()) {
    const double z = std::get<Gaussian>(event.mechanism).noise_multiplier;
    (z == 1.5 ? gradients : choices) += static_cast<double>(event.count);
    if (z != 1.5) {
      EXPECT_NEAR(z, 1.5 * std::sqrt(0.95 / (0.05 * 5)), 1e-12);
    }
  }
  EXPECT_EQ(gradients, 5);
  EXPECT_EQ(choices, 1);
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
  for (int i = 0; i < 60; ++i) {
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
  for (const Case& c : {Case{200, 3, 50, 200}, Case{500, 5, 200, 10}}) {
    const double lambda = 0.5, mu = 2;
    std::vector<std::vector<float>> rows(c.n, std::vector<float>(c.d));
    for (std::size_t i = 0; i < c.n; ++i) {
      std::vector<double> normal(round_up(c.d, 2));
      PublicStream(5, "median test", i).normals(0, normal);
      for (std::size_t j = 0; j < c.d; ++j) rows[i][j] = static_cast<float>(normal[j] + 1);
    }
    const Options options{
        {"steps", std::to_string(c.T)}, {"clip_rule", "fixed"}, {"clip", "1"}, {"rate", "0"}, {"lambda", "0.5"},
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
}  // namespace dpmpi::clipped_gd_test
