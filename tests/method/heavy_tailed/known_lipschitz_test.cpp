// ht-known-lipschitz: how far minimisers of neighbours are apart, certificates, noise, and what it refuses.
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/fault.hpp"
#include "method/heavy_tailed/known_lipschitz_schedule.hpp"
#include "problems/phase_trial.hpp"
#include "problems/vector_objective.hpp"

namespace dpmpi::known_lipschitz_test {
namespace {

using test::distance;
using test::released;
using test::Trial;
using Options = std::map<std::string, std::string>;
using Rows_ = std::vector<std::vector<float>>;

std::unique_ptr<Objective> loss(const std::string& name, std::size_t features, double l2 = 0) {
  auto objective = test::make_objective(name, {features, Storage::dense_f32, 0});
  objective->l2 = l2;
  return objective;
}

/// Student-t features with 1.5 degrees of freedom, as quotients of normals, and labels of either kind.
struct Data {
  Rows_ rows;
  std::vector<float> labels;
};
Data heavy(std::uint64_t key, std::size_t n, std::size_t d, bool signs) {
  Data data;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> normal(d + 6 + d % 2);
    PublicStream(key, "known lipschitz test", i).normals(0, normal);
    const double scale = 1 / std::sqrt(0.05 + std::abs(normal[d] * normal[d + 1]));
    auto& row = data.rows.emplace_back();
    for (std::size_t j = 0; j < d; ++j) row.push_back(static_cast<float>(normal[j] * scale));
    data.labels.push_back(
        static_cast<float>(signs ? (normal[d + 2] + row[0] > 0 ? 1 : -1) : row[0] + normal[d + 2]));
  }
  return data;
}

const Options one_phase{
    {"phases", "1"}, {"clip", "1"}, {"radius", "10"}, {"lambda_scale", "3"}, {"smoothing", "1e-5"}};

// A10, exact sensitivity: minimisers of 200 neighbours, under the same noise, for losses with and without kinks.
TEST(HtKnownLipschitz, NeighboursStayWithinTheSensitivity) {
  double largest = 0;
  for (std::uint64_t set = 0; set < 10; ++set) {
    const char* name = std::array{"absolute", "logistic", "huber", "squared", "hinge"}[set % 5];
    const bool signs = set % 5 == 1 || set % 5 == 4;
    const Data data = heavy(set, 12, 2, signs);
    Options options = one_phase;
    options["clip"] = set < 5 ? "0.3" : "3";
    double bound = 0;
    const auto minimiser = [&](const Data& of) {
      Trial trial("ht-known-lipschitz", options, 0.5, loss(name, 2), test::dense_shard(of.rows, of.labels));
      trial.run();
      bound = trial.queries[0].parts[0].sensitivity;
      return released(trial);
    };
    const auto before = minimiser(data);
    for (std::uint64_t pair = 0; pair < 20; ++pair) {
      Data changed = data;
      const std::size_t i = pair % 12;
      const Data other = heavy(1000 + 20 * set + pair, 1, 2, signs);
      for (std::size_t j = 0; j < 2; ++j) changed.rows[i][j] = 30 * other.rows[0][j];
      changed.labels[i] = signs ? -data.labels[i] : -30 * data.labels[i];
      const double change = distance(before, minimiser(changed));
      EXPECT_LE(change, bound) << name << " " << pair;
      largest = std::max(largest, change / bound);
    }
  }
  EXPECT_GT(largest, 0.5);
}

// A10: f = +-C x on one of n records, and nothing on the others.
TEST(HtKnownLipschitz, AnAdversarialPairReachesTheSensitivity) {
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove}) {
    Data data{Rows_(20, {0.0f}), std::vector<float>(20, 0.0f)};
    data.rows[7] = {1}, data.labels[7] = 1e9f;
    double bound = 0, whole = 0;
    const auto minimiser = [&] {
      Trial trial("ht-known-lipschitz", one_phase, 0.5, loss("absolute", 1),
                  test::dense_shard(data.rows, data.labels), adjacency);
      trial.run();
      bound = trial.queries[0].parts[0].sensitivity;
      whole = (adjacency == Adjacency::replace_one ? 2 : 1) / (trial.derived("lambda_1") * 20);
      return released(trial);
    };
    const auto before = minimiser();
    if (adjacency == Adjacency::replace_one)
      data.labels[7] = -1e9f;
    else
      data.rows[7] = {0};
    const double change = distance(before, minimiser());
    EXPECT_GE(change, 0.99 * whole);
    EXPECT_LE(change, bound);
    EXPECT_LE(bound, 1.01 * whole);
  }
}

// T16: what a phase hands over has the gradient that it claims, on features whose scales are 10^6 apart and heavy.
// The gradient is computed once more, in long double.
TEST(HtKnownLipschitz, ResultsAreCertified) {
  constexpr std::size_t d = 3, n = 400;
  for (const char* name : {"squared", "absolute", "logistic", "hinge", "poisson"}) {
    const bool signs = std::string(name) == "logistic" || std::string(name) == "hinge",
               counts = std::string(name) == "poisson";
    Data data = heavy(7, n, d, signs);
    for (std::size_t i = 0; i < n; ++i) {
      data.rows[i][1] *= 1e3f, data.rows[i][2] *= 1e-3f;
      if (counts) data.labels[i] = std::floor(std::abs(data.labels[i]));
    }
    Trial trial("ht-known-lipschitz", {{"phases", "1"}, {"clip", "2"}, {"radius", "1000"}}, 0.0,
                loss(name, d, 0.01), test::dense_shard(data.rows, data.labels));
    trial.run();
    const auto x = released(trial);
    const double h = trial.derived("h_1"), C = 2, lambda = trial.derived("lambda_1"), tau = trial.derived("tau_1");
    EXPECT_NEAR(tau, 1e-3 * C / n, 1e-15);
    std::vector<long double> g(d, 0.0L);
    for (std::size_t i = 0; i < n; ++i) {
      const Records& records = trial.shard.blocks[0].records;
      long double m = 0, w = static_cast<long double>(records.norm[i]) * records.norm[i], y = data.labels[i];
      for (std::size_t j = 0; j < d; ++j)
        m += static_cast<long double>(data.rows[i][j]) * static_cast<long double>(x[j]);
      const auto slope = [&](long double u) -> long double {
        if (std::string(name) == "squared") return u - y;
        if (std::string(name) == "absolute") return u > y ? 1 : u < y ? -1 : 0;
        if (std::string(name) == "logistic") return -y / (1 + std::exp(y * u));
        if (std::string(name) == "hinge") return y * u < 1 ? -y : 0;
        return std::exp(u) - y;
      };
      const long double cap = h * C / static_cast<long double>(records.norm[i]);
      long double low = -cap, high = cap;  // root of c - h slope(m - c w)
      for (int k = 0; k < 120; ++k) {
        const long double c = (low + high) / 2;
        (c > h * slope(m - c * w) ? high : low) = c;
      }
      for (std::size_t j = 0; j < d; ++j) g[j] += low / h * static_cast<long double>(data.rows[i][j]) / n;
    }
    long double square = 0;
    for (std::size_t j = 0; j < d; ++j) {
      g[j] += static_cast<long double>(lambda + 0.01) * static_cast<long double>(x[j]);
      square += g[j] * g[j];
    }
    // The release is rounded to its lattice: 2^-40 of the range at worst.
    EXPECT_LE(static_cast<double>(std::sqrt(square)), tau * 1.001) << name;
  }
}

// A7, A23, plan == ledger: one Gaussian event for all phases; the noise of the plan.
TEST(HtKnownLipschitz, LedgerAndNoiseAreThoseOfThePlan) {
  const Data data = heavy(3, 300, 2, true);
  const double z = 1.7;
  Trial trial("ht-known-lipschitz", {{"phases", "3"}, {"clip", "0.8"}, {"radius", "2"}}, z, loss("logistic", 2),
              test::dense_shard(data.rows, data.labels));
  trial.run();
  EXPECT_EQ(trial.ledger->events(), (std::vector<Event>{{Gaussian{z}, 1}}));
  EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, trial.steps));
  const OutputPlan plan =
      plan_output({.records = 300, .dim = 2, .diameter = 2, .mu = 1 / z, .change = 2, .tail = {}}, 0.8, 3,
                  {.last_takes_all = true});
  ASSERT_EQ(plan.phases.size(), trial.queries[0].parts.size());
  std::uint64_t used = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trial.queries[0].parts[i].records, plan.phases[i].records);
    EXPECT_NEAR(trial.queries[0].parts[i].noise_std / plan.phases[i].noise, 1, 1e-6);
    EXPECT_GE(trial.queries[0].parts[i].noise_std, plan.phases[i].noise * (1 - 1e-15));
    used += plan.phases[i].records;
  }
  EXPECT_EQ(used, 300u) << "the last phase takes all that are left";
  EXPECT_THROW(trial.algorithm->step(*trial.curator, 0), PrivacyError);
}

// What is released is the minimiser plus Gaussian noise of the planned deviation: records without features leave
// the minimiser at 0.
TEST(HtKnownLipschitz, NoiseHasTheDistributionOfThePlan) {
  constexpr std::size_t d = 4000;
  Options options = one_phase;
  options["lambda_scale"] = "1e3", options["certificate"] = "0.1";  // no noise reaches the ball
  Trial trial("ht-known-lipschitz", options, 1.3, loss("logistic", d),
              test::dense_shard(Rows_(20, std::vector<float>(d, 0.0f)), std::vector<float>(20, 1.0f)));
  trial.run();
  const double sigma = trial.derived("sigma_1");
  EXPECT_NEAR(sigma / (1.3 * (2 + 0.2) / (trial.derived("lambda_1") * 20)), 1, 1e-6);
  double mean = 0, square = 0, fourth = 0;
  for (const double x : released(trial)) {
    const double z = x / sigma;
    mean += z / d, square += z * z / d, fourth += z * z * z * z / d;
  }
  EXPECT_LT(std::abs(mean), 5 / std::sqrt(1.0 * d));
  EXPECT_LT(std::abs(square - 1), 5 * std::sqrt(2.0 / d));
  EXPECT_LT(std::abs(fourth - 3), 5 * std::sqrt(96.0 / d));
}

// A13, T9: a strongly convex risk raises C to m times the reach.
TEST(HtKnownLipschitz, StrongConvexityRaisesTheClip) {
  const auto objective = loss("logistic", 2, 1);
  const auto settings = test::make_settings(
      "ht-known-lipschitz",
      {{"clip", "2"}, {"radius", "10"}, {"g1", "6"}, {"g2", "6"}, {"gk", "6"}, {"strong_convexity", "1"}});
  const PublicFacts facts{{100000, 2}, objective.get(), Adjacency::replace_one, 0.5};
  const auto plan = settings->plan(facts);
  const Query query = Query::declare(plan->queries(2).at(0), 0, facts.adjacency, facts.data.records);
  for (const auto& [symbol, value] : plan->report_quantities({query}))
    if (symbol == "C_1") {
      EXPECT_EQ(std::get<double>(value), 10);
    }
  EXPECT_EQ(query.events(0, query.steps), (std::vector<Event>{{Gaussian{2}, 1}}));
}

// T16, T9: no other losses, no certificate finer than rounding.
TEST(HtKnownLipschitz, RefusesWhatItCannotBound) {
  for (const char* name : {"mean", "sigmoid", "capped_l1", "phase_retrieval"}) {
    bool known = false;
    for (const auto& entry : objectives()) known = known || entry.name == name;
    if (!known) continue;
    const auto objective = loss(name, 2);
    const PublicFacts facts{{100, 2}, objective.get(), Adjacency::replace_one, 1};
    EXPECT_THROW(test::make_settings("ht-known-lipschitz", {})->plan(facts), ConfigError) << name;
  }
  const auto softmax = test::make_objective("softmax", {2, Storage::dense_f32, 0}, {{"objective.classes", "3"}});
  EXPECT_THROW(
      test::make_settings("ht-known-lipschitz", {})->plan({{100, 2}, softmax.get(), Adjacency::replace_one, 1}),
      ConfigError);
  const auto objective = loss("absolute", 2);
  const PublicFacts facts{{100, 2}, objective.get(), Adjacency::replace_one, 1};
  EXPECT_THROW(test::make_settings("ht-known-lipschitz", {{"certificate", "1e-14"}})->plan(facts), ConfigError);
}

// T3: what outlives a phase is its noised point. Resumed after each phase, the run ends with the same bits.
TEST(HtKnownLipschitz, KeepsNothingOfAPhaseButItsRelease) {
  const Data data = heavy(5, 200, 2, false);
  const Options options{{"phases", "3"}, {"radius", "3"}};
  const auto start = [&] {
    return Trial("ht-known-lipschitz", options, 1.0, loss("huber", 2), test::dense_shard(data.rows, data.labels));
  };
  Trial whole = start();
  whole.run();
  for (std::uint64_t stop = 0; stop < 3; ++stop) {
    Trial first = start();
    first.run(stop);
    Archive saved;
    first.algorithm->archive(saved);
    const auto x = released(first);
    for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(first.iterate()[j], static_cast<float>(x[j]));
    EXPECT_LT(saved.bytes().size(), 200u) << "two points of two numbers and their names";
    Trial second = start();
    second.resume(first);
    second.run();
    EXPECT_EQ(second.iterate(), whole.iterate());
  }
}

int sums = 0;  // until a phase is killed; 0: never

// T13: a phase that is killed amid its solver runs again from its beginning, with the same noise on the same
// values; what would have been saved meanwhile is what was saved before it.
TEST(HtKnownLipschitz, APhaseThatIsKilledRunsAgain) {
  const Data data = heavy(5, 200, 2, false);
  const auto start = [&] {
    return Trial("ht-known-lipschitz", {{"phases", "3"}, {"radius", "3"}}, 1.0, loss("absolute", 2),
                 test::dense_shard(data.rows, data.labels));
  };
  std::vector<float> undisturbed;
  {
    Trial whole = start();
    whole.run();
    undisturbed = whole.iterate();
  }
  Trial trial = start();
  trial.run(1);
  Archive before, amid;
  trial.algorithm->archive(before);
  sums = 4;
  set_fault_hook([](const char* where, const char*) {
    if (std::string_view(where) == "phase" && --sums == 0) throw std::runtime_error("killed");
    return 0;
  });
  EXPECT_THROW(trial.run(1), std::runtime_error);
  set_fault_hook(nullptr);
  trial.algorithm->archive(amid);
  EXPECT_EQ(before.bytes(), amid.bytes());
  test::begin_at(trial, 1, 1);
  trial.run();
  EXPECT_EQ(trial.iterate(), undisturbed);
  EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, 3));
}

}  // namespace
}  // namespace dpmpi::known_lipschitz_test
