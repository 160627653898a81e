// zo-o2nc and zo-naive: the whole loop against hand calculations, the noise that plans give it, and records that
// misbehave.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "problems/trial.hpp"

namespace dpmpi::zo_o2nc_test {
namespace {

using test::numbered_shard;
using test::Trial;
using Options = std::map<std::string, std::string>;

std::unique_ptr<Objective> black_box(std::size_t dim, test::BlackBox::Loss loss) {
  return std::make_unique<test::BlackBox>(dim, std::move(loss));
}
std::unique_ptr<Objective> zero(std::size_t dim) {
  return black_box(dim, [](std::size_t, std::span<const double>) { return 0.0; });
}
double l1(std::span<const double> w) {
  double sum = 0;
  for (const double v : w) sum += std::abs(v);
  return sum;
}

// f = <w, (3, 4)>: GRAD is (3, 4) and centred DIFF is 0, so every epoch moves by (-0.24, -0.32).
TEST(ZoO2nc, FollowsALinearLossExactly) {
  Trial trial("zo-o2nc",
              {{"inner", "5"},
               {"outer", "3"},
               {"batch", "4"},
               {"first_batch", "8"},
               {"step_radius", "0.1"},
               {"radius", "0.5"},
               {"step", "fixed"},
               {"rate", "0.02"},
               {"centre", "true"},
               {"gradient_clip", "8"},
               {"output", "last"},
               {"lipschitz", "5"},
               {"start", "1,-2"}},
              0, black_box(2, [](std::size_t, std::span<const double> w) { return 3 * w[0] + 4 * w[1]; }),
              numbered_shard(100));
  EXPECT_EQ(trial.steps, 15u);
  double x[] = {1, -2};
  // W_k is the mean of w_t = x_t + s_t Delta_t; x_t moves by (-0.06, -0.08) from the second step on.
  for (std::uint64_t k = 0; k < 3; ++k) {
    double mean = 0;
    const PublicCounter segment(1, 2);
    for (std::uint32_t t = 1; t < 5; ++t)
      mean += (t - 1 + segment.uniform({0, 0, 0, static_cast<std::uint32_t>(5 * k + t)})) / 5;
    trial.run(5);
    EXPECT_NEAR(trial.iterate()[0], x[0] - 0.06 * mean, 1e-6);
    EXPECT_NEAR(trial.iterate()[1], x[1] - 0.08 * mean, 1e-6);
    x[0] -= 0.24, x[1] -= 0.32;
  }
}

// The multiplier of a plan is 1 / rho of the whole run, for every strategy, shape and number of passes.
TEST(ZoO2nc, SpendsWhatTheMultiplierSays) {
  for (const char* strategy : {"fenwick", "full_honaker", "sqrt_toeplitz", "banded"})
    for (const auto& more : std::vector<Options>{{},
                                                 {{"skip_last", "true"}},
                                                 {{"restart", "4"}},
                                                 {{"passes", "3"}},
                                                 {{"adaptive_clip", "true"}},
                                                 {{"first_batch", "3"}}}) {
      Options options{{"inner", "16"}, {"batch", "4"}, {"strategy", strategy}, {"band", "5"}};
      options.insert(more.begin(), more.end());
      const auto f = zero(8);
      const PublicFacts facts{{5000, 1, Storage::dense_f32}, f.get(), Adjacency::replace_one};
      const auto plan = test::make_settings("zo-o2nc", options)->plan(facts);
      const Query q = test::queries_of(*plan, facts, 0.5).at(0);
      double squares = 0;
      for (const auto& event : q.events(0, q.steps))
        squares += static_cast<double>(event.count) * std::pow(tree_mu(std::get<Tree>(event.mechanism)), 2);
      EXPECT_NEAR(std::sqrt(squares), 2, 1e-9) << strategy;
      EXPECT_EQ(q.events(0, q.steps).at(0).count, more.contains("passes") ? 3u : 1u) << "one tree a pass";
      for (const auto& [key, value] : plan->report_quantities({q}))
        if (key == "rho") {
          EXPECT_NEAR(std::get<double>(value), 2, 1e-9);
        }
    }
}

// The default B1 makes leaf 1 cost nothing extra, and nodes of the run are the table's: sigma s_d sqrt(h) / rho.
TEST(ZoO2nc, DefaultsAreThoseOfTheTable) {
  const auto f = zero(32);
  const PublicFacts facts{{1'000'000, 1, Storage::dense_f32}, f.get(), Adjacency::replace_one};
  const auto given = test::make_settings(
      "zo-o2nc", {{"inner", "1024"}, {"batch", "16"}, {"radius", "0.5"}, {"gradient_clip", "5.656854249492381"}});
  const Query q = test::queries_of(*given->plan(facts), facts, 1).at(0);
  const auto& order = std::get<Shuffled>(q.sampling);
  EXPECT_EQ(order.first, 8592u);
  EXPECT_EQ(order.batch, 16u);
  EXPECT_EQ(order.runs, 40u);
  EXPECT_NEAR(q.noise_std / (1 + q.eta), 0.0043673203, 1e-10);
  EXPECT_LT(q.eta, 1e-3);
  // method.auto finds the same with this batch, and the bound of the table.
  const auto automatic = test::make_settings(
      "zo-o2nc", {{"auto", "true"}, {"batch", "16"}, {"radius", "0.5"}, {"gradient_clip", "5.656854249492381"}});
  const auto best = automatic->plan(facts);
  const Query p = test::queries_of(*best, facts, 1).at(0);
  EXPECT_EQ(std::get<Shuffled>(p.sampling).leaves, 1024u);
  EXPECT_EQ(std::get<Shuffled>(p.sampling).runs, 40u);
  for (const auto& [key, value] : best->report_quantities({p}))
    if (key == "bound") {
      EXPECT_NEAR(std::get<double>(value), 0.34295811, 1e-3 * 0.34) << "up to the slack in sigma";
    }
}

// Trap: the paper's noise is too small for short epochs, and none at all for T = 1.
TEST(ZoO2nc, ThePapersNoiseIsTooSmallForShortEpochs) {
  const auto f = zero(10);
  const PublicFacts facts{{5000, 1, Storage::dense_f32}, f.get(), Adjacency::replace_one};
  const auto spent = [&](const std::string& T, const std::string& B1) {
    // C_1 = d L and C_d = 2 d L / T.
    const auto settings = test::make_settings("zo-o2nc", {{"inner", T},
                                                          {"batch", "1"},
                                                          {"first_batch", B1},
                                                          {"directions", "iid"},
                                                          {"kappa", "10"},
                                                          {"gradient_clip", "10"}});
    const Query q = test::queries_of(*settings->plan(facts), facts, 1).at(0);
    Tree tree = q.as<RunningSum>()->tree(q);
    tree.noise_multiplier = std::sqrt(2 * std::log(std::stod(T)));  // as printed, for rho = 1
    return std::pow(tree_mu(tree), 2);
  };
  EXPECT_NEAR(spent("2", "1"), 1.442695, 1e-6);
  EXPECT_NEAR(spent("4", "2"), 1.082021, 1e-6);
  EXPECT_NEAR(spent("8", "4"), 0.961797, 1e-6);
  EXPECT_NEAR(spent("64", "32"), 0.841572, 1e-6);
  EXPECT_NEAR(spent("1024", "512"), 0.793482, 1e-6);
  EXPECT_NEAR(spent("64", "65"), 0.721348, 1e-6);
}

// Traps: half the noise under the wrong adjacency; the paper's naive noise. d = 32, L = 1, B = 8, rho = 1.
TEST(ZoNaive, NoiseIsThatOfItsSensitivity) {
  for (const auto& [adjacency, sigma] : {std::pair{Adjacency::replace_one, 8.0}, {Adjacency::add_remove, 4.0}}) {
    const auto f = zero(32);
    const auto settings = test::make_settings("zo-naive", {{"inner", "10"}, {"batch", "8"}});
    const PublicFacts facts{{1000, 1, Storage::dense_f32}, f.get(), adjacency};
    const Query q = test::queries_of(*settings->plan(facts), facts, 1).at(0);
    EXPECT_EQ(q.steps, 120u);
    EXPECT_NEAR(q.noise_std / (1 + q.eta), sigma, 1e-12);
    EXPECT_EQ(q.events(0, q.steps), (std::vector<Event>{{q.as<RunningSum>()->tree(q), 1}}))
        << "a record is part of one step";
    EXPECT_NEAR(tree_mu(q.as<RunningSum>()->tree(q)), 1, 1e-12);
  }
}

// Unbiased: with many records the naive step descends a quadratic as the smoothed gradient says.
TEST(ZoNaive, DescendsWithOneDirection) {
  Trial trial("zo-naive",
              {{"inner", "50"},
               {"batch", "200"},
               {"radius", "0.1"},
               {"step_radius", "0.05"},
               {"start", "1,1"},
               {"lipschitz", "5"},
               {"output", "last"}},
              0, black_box(2, [](std::size_t, std::span<const double> w) { return w[0] * w[0] + w[1] * w[1]; }),
              numbered_shard(50000));
  trial.run();
  EXPECT_LT(std::hypot(trial.iterate()[0], trial.iterate()[1]), 0.1);
}

// Traps: a loss that is not finite passes a clamp; a skipped record changes the denominator. In their place the
// record counts zero, as an empty slot does, and the noise stays the same.
TEST(ZoO2nc, ALossThatIsNotFiniteCountsZero) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const char* name : {"zo-o2nc", "zo-naive"}) {
    const Options options{{"inner", "8"}, {"outer", "2"}, {"batch", "6"}};
    const auto run = [&](double bad, bool removed) {
      Shard shard = numbered_shard(200);
      if (removed)
        for (auto& block : shard.blocks) test::remove_record(block.records, 7);
      Trial trial(name, options, 0.1,
                  black_box(5,
                            [bad](std::size_t i, std::span<const double> w) {
                              return i == 7 ? bad : l1(w) + 1e-3 * static_cast<double>(i) * w[0];
                            }),
                  std::move(shard));
      trial.run();
      return trial.iterate();
    };
    const auto without = run(0, true);
    for (const double bad : {std::nan(""), infinity, -infinity}) EXPECT_EQ(run(bad, false), without) << name;
    for (const float v : run(1e308, false)) EXPECT_TRUE(std::isfinite(v));
  }
}

// What does not fit the objective, the data or itself is refused by the plan, with the option's name.
TEST(ZoO2nc, RefusesBeforeAnyRecordIsRead) {
  const auto refusal = [](const char* name, const Options& options) -> std::string {
    const auto f = zero(16);
    const PublicFacts facts{{5000, 1, Storage::dense_f32}, f.get(), Adjacency::replace_one};
    const auto settings = test::make_settings(name, options);
    try {
      settings->plan(facts);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  };
  const auto names = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  EXPECT_EQ(refusal("zo-o2nc", {{"inner", "16"}}), "");
  EXPECT_EQ(refusal("zo-o2nc", {{"inner", "16"}, {"count", "32"}}), "");
  const std::vector<std::pair<Options, std::string>> cases = {
      {{{"count", "1"}, {"directions", "iid"}, {"centre", "true"}}, "method.count = 1"},
      {{{"count", "15"}}, "groups of 16"},
      {{{"directions", "block"}, {"block", "3"}}, "groups of 3"},
      {{{"directions", "iid"}, {"count", "4294967296"}}, "method.count = 4294967296"},
      {{{"step_radius", "1e-30"}}, "step_radius"},
      {{{"kappa", "1e-40"}}, "method.kappa"},
      {{{"gradient_clip", "1e-40"}}, "method.gradient_clip"},
      {{{"gradient_clip", "1e20"}, {"kappa", "1e-20"}}, "do not fit n = 5000"},
      {{{"start", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}}, "method.start has 17 numbers"},
      {{{"passes", "2147483648"}}, "less than 2^32"}};
  for (auto [options, part] : cases) {
    options.insert({{"inner", "16"}, {"batch", "8"}});
    EXPECT_TRUE(names(refusal("zo-o2nc", options), part)) << part << ": " << refusal("zo-o2nc", options);
  }
  EXPECT_TRUE(names(refusal("zo-naive", {{"passes", "2147483648"}, {"inner", "16"}}), "less than 2^32"));
  EXPECT_TRUE(names(refusal("zo-naive", {{"start", cases[8].first.at("start")}, {"inner", "16"}}), "17 numbers"));
}

TEST(ZoO2nc, RefusesOptionsThatContradict) {
  const auto problems = [](const Options& options) {
    std::unique_ptr<MethodSettings> settings;
    for (const auto& entry : methods())
      if (entry.name == "zo-o2nc") settings = entry.make();
    dpmpi::Options declared("method");
    settings->declare(declared);
    Settings given;
    for (const auto& [key, value] : options) given["method." + key] = {value, "test"};
    std::vector<std::string> found;
    declared.read(given, found);
    settings->validate(found);
    return found.size();
  };
  EXPECT_EQ(problems({{"auto", "true"}, {"batch", "8"}}), 0u);
  for (const char* key : {"inner", "outer", "first_batch"})
    EXPECT_EQ(problems({{"auto", "true"}, {key, "8"}}), 1u) << key << " would be ignored";
  for (const char* value : {"1e39", "-1e308", "inf", "nan", "x", "1,,2"})
    EXPECT_EQ(problems({{"start", value}}), 1u) << value;
  for (const char* key : {"radius", "step_radius", "lipschitz", "gap", "slope_clip", "gradient_clip", "kappa"})
    for (const char* value : {"1e300", "nan", "-1"}) EXPECT_EQ(problems({{key, value}}), 1u) << key << value;
  EXPECT_EQ(problems({{"step", "fixed"}, {"rate", "1e300"}}), 1u);
}

// method.skip_last: the same T steps, one query less; method.restart: the sum starts with a gradient every q steps.
TEST(ZoO2nc, ShapesOfEpochs) {
  const auto steps = [](const Options& more) {
    Options options = more;
    options.insert({{"inner", "16"}, {"batch", "4"}, {"first_batch", "10"}, {"outer", "3"}});
    Trial trial("zo-o2nc", options, 1, zero(3), numbered_shard(2000));
    const auto before = trial.iterate();
    trial.run();
    EXPECT_NE(trial.iterate(), before);
    EXPECT_EQ(trial.ledger->events(), trial.queries[0].events(0, trial.steps));
    return trial.steps;
  };
  EXPECT_EQ(steps({}), 48u);
  EXPECT_EQ(steps({{"skip_last", "true"}}), 45u);
  EXPECT_EQ(steps({{"restart", "4"}}), 48u);
  EXPECT_EQ(steps({{"passes", "2"}, {"adaptive_clip", "true"}, {"first_batch", "40"}, {"step", "fixed"}}), 96u);
  EXPECT_EQ(steps({{"directions", "iid"}, {"strategy", "sqrt_toeplitz"}}), 48u);
  EXPECT_EQ(steps({{"directions", "block"}, {"block", "3"}, {"strategy", "banded"}, {"band", "4"}}), 48u);
  EXPECT_THROW(steps({{"first_batch", "1000"}}), ConfigError);
}

// A private run ends near the minimum of a loss with kinks, and the noiseless one nearer.
TEST(ZoO2nc, FindsAStationaryPoint) {
  const auto end = [](const char* name, double multiplier) {
    Trial trial(name,
                {{"inner", "64"},
                 {"batch", "8"},
                 {"radius", "0.2"},
                 {"step_radius", "0.01"},
                 {"lipschitz", "1.7"},
                 {"start", "1,1,-1"},
                 {"output", "last"}},
                multiplier, black_box(3, [](std::size_t, std::span<const double> w) { return l1(w); }),
                numbered_shard(60000));
    trial.run();
    double norm = 0;
    for (const float v : trial.iterate()) norm += static_cast<double>(v) * v;
    return std::sqrt(norm);
  };
  EXPECT_LT(end("zo-o2nc", 0), 0.1);
  EXPECT_LT(end("zo-o2nc", 1), 0.2);
}

}  // namespace
}  // namespace dpmpi::zo_o2nc_test
