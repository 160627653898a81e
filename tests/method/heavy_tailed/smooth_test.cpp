// ht-smooth: what its plan promises, how far a record moves a phase, and that nothing tells when a phase halts.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/laplace.hpp"
#include "method/heavy_tailed/guarded_pass.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "problems/phase_trial.hpp"
#include "support/text.hpp"

namespace dpmpi::smooth_test {
namespace {

using test::distance;
using test::make_objective;
using test::outcome;
using test::released;
using test::set_record;
using test::Trial;
using test::with;
using Options = std::map<std::string, std::string>;
constexpr std::uint64_t n = 400;
constexpr std::size_t features = 5;
constexpr std::uint32_t blocks = 8;

/// Steps so short that tests with little noise are paid for: C = 1, halts after about 20 clipped records.
const Options guarded{{"mode", "guarded"}, {"rate", "1e-4"}, {"clip", "1"}, {"hits", "20"}, {"phases", "2"}};

Shard mean_shard(double size = 0.3, unsigned seed = 1) {
  return test::scaled(test::random_shard({Storage::dense_f32, n, features, 0, LabelKind::real}, blocks, 0, 1, seed),
                      [size] { return size / std::sqrt(features); });
}

Trial mean_trial(const Options& options, Shard shard, double z = 0.5, Adjacency adjacency = Adjacency::replace_one,
                 std::uint64_t key = 1) {
  return Trial("ht-smooth", options, z, make_objective("mean", {features, Storage::dense_f32, 0}), std::move(shard),
               adjacency, key);
}
Trial softmax_trial(const Options& options, Shard shard, double z = 0.5,
                    Adjacency adjacency = Adjacency::replace_one) {
  return Trial("ht-smooth", with({{"feature_bound", "2"}}, options), z,
               make_objective("softmax", {features, Storage::dense_f32, 1}, {{"objective.classes", "3"}}),
               std::move(shard), adjacency);
}
Shard class_shard(unsigned seed = 1) {
  return test::random_shard({Storage::dense_f32, n, features, 1, LabelKind::class_, 3}, blocks, 0, 1, seed);
}

/// Rows of the part of phase p in the order in which a walk meets them, as global indices.
std::vector<std::uint64_t> order_of(const Trial& t, std::size_t p) {
  const PartIndex places(std::get<Disjoint>(t.queries[0].sampling), t.shard);
  std::vector<std::uint64_t> order;
  for (std::size_t i = 0; i < t.shard.blocks.size(); ++i)
    for (const std::uint32_t row : places.in_order(i, p)) order.push_back(t.shard.blocks[i].first_index + row);
  return order;
}

/// Neighbours: record `index` of one set is x, that of the other -x, or nobody.
std::pair<Shard, Shard> neighbours(Shard shard, std::uint64_t index, Adjacency adjacency, double size,
                                   std::mt19937& bits) {
  std::normal_distribution<float> normal;
  std::vector<float> x(features), y(features);
  for (std::size_t j = 0; j < features; ++j) x[j] = static_cast<float>(size) * normal(bits), y[j] = -x[j];
  Shard other = shard;
  set_record(shard, index, x);
  if (adjacency == Adjacency::replace_one)
    set_record(other, index, y);
  else
    test::remove_record(other.blocks[index / (n / blocks)].records, index % (n / blocks));
  return {std::move(shard), std::move(other)};
}

// Neighbours under the same noise: the phase of the record moves by at most its sensitivity (what is the same,
// noise and projection, moves nothing apart), earlier ones not at all.
TEST(HtSmooth, ARecordMovesAPlainRunByAtMostTheSensitivityOfItsPhase) {
  std::mt19937 bits(3);
  double largest[2] = {0, 0};
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove})
    for (const char* batch : {"1", "4"})
      for (int repeat = 0; repeat < 8; ++repeat)
        for (const bool mean : {true, false}) {
          const Options options =
              mean ? Options{{"mode", "plain"}, {"batch", batch}, {"clip", "0.5"}}
                   : Options{{"mode", "plain"}, {"batch", batch}, {"clip", "0.3"}, {"rate", "2e-3"}};
          const std::uint64_t index = bits() % n;
          const auto seed = static_cast<unsigned>(bits() % 100);
          const auto [a, b] =
              neighbours(mean ? mean_shard(3, seed) : class_shard(seed), index, adjacency, 30, bits);
          const auto run = [&](const Shard& shard) {
            return mean ? mean_trial(options, shard, 2, adjacency) : softmax_trial(options, shard, 2, adjacency);
          };
          const Trial plan = run(a);
          EXPECT_FALSE(plan.queries[0].as<Phases>()->own_noise.has_value());
          const auto x = outcome(run(a)), y = outcome(run(b));
          for (std::size_t t = 0; t < x.size(); ++t) {
            const double now = distance(x[t], y[t]), sensitivity = plan.queries[0].at(t).sensitivity;
            EXPECT_LE(now, sensitivity) << batch << " phase " << t;
            largest[mean] = std::max(largest[mean], now / sensitivity);
            if (now > 0) break;  // later phases start from other points
          }
        }
  EXPECT_GT(largest[true], 0.3) << "the test must come near the bound";
  EXPECT_GT(largest[false], 0.1);
}

// T10: the first record of a phase is the worst one; it moves the average by change eta C (T - 1) / T.
TEST(HtSmooth, TheWorstRecordReachesTheSensitivityOfPlainSteps) {
  for (const auto& [adjacency, change] : {std::pair{Adjacency::replace_one, 2.0}, {Adjacency::add_remove, 1.0}}) {
    const Options options{{"rate", "1e-6"}, {"clip", "0.5"}, {"phases", "1"}};
    Shard nobody = mean_shard();
    for (std::uint64_t i = 0; i < n; ++i) set_record(nobody, i, std::vector<float>(features, 0.0f));
    const Trial plan = mean_trial(options, nobody, 0.1, adjacency);
    const std::uint64_t index = order_of(plan, 0)[0];
    Shard a = nobody, b = nobody;
    set_record(a, index, {1e9f, 0, 0, 0, 0});
    if (adjacency == Adjacency::replace_one) set_record(b, index, {-1e9f, 0, 0, 0, 0});
    const double moved = distance(outcome(mean_trial(options, a, 0.1, adjacency)).back(),
                                  outcome(mean_trial(options, b, 0.1, adjacency)).back());
    EXPECT_NEAR(moved / (change * 1e-6 * 0.5 * (n / 2 - 1) / (n / 2.0)), 1, 1e-3) << "zeros pull back a little";
    EXPECT_LE(moved, plan.queries[0].at(0).sensitivity);
  }
}

// The same for guarded steps where no other record is near the threshold: all tests but one have the same outcome.
TEST(HtSmooth, ARecordMovesAGuardedRunByAtMostTheSensitivityOfItsPhase) {
  std::mt19937 bits(5);
  double largest = 0;
  for (const Adjacency adjacency : {Adjacency::replace_one, Adjacency::add_remove})
    for (const char* batch : {"1", "4"})
      for (int repeat = 0; repeat < 10; ++repeat) {
        const Options options = with(guarded, {{"batch", batch}, {"rate", "3e-5"}});
        const double size = repeat % 2 == 0 ? 30 : 0.25;  // far above the threshold, or below it
        const std::uint64_t index = bits() % n;
        const auto [a, b] = neighbours(mean_shard(), index, adjacency, size, bits);
        const Trial plan = mean_trial(options, a, 0.5, adjacency);
        const auto x = outcome(mean_trial(options, a, 0.5, adjacency)),
                   y = outcome(mean_trial(options, b, 0.5, adjacency));
        for (std::size_t t = 0; t < x.size(); ++t) {
          const double now = distance(x[t], y[t]);
          EXPECT_LE(now, plan.queries[0].at(t).sensitivity);
          largest = std::max(largest, now / plan.queries[0].at(t).sensitivity);
          if (now > 0) break;
        }
      }
  EXPECT_GT(largest, 0.3) << "the test must come near the bound";
}

// A15: no executed gradient is longer than (1 + theta) C, however large the noise of its test; without the guard
// some would be.
void executed_gradients_are_bounded(int records) {
  std::mt19937_64 bits(7);
  std::cauchy_distribution<double> tails;
  const RecordTest test{.clip = 2, .most = 2.5, .scale = 1.5};
  int saved = 0, longer = 0;
  std::array<std::uint64_t, 4> words{};
  for (int i = 0; i < records; ++i) {
    for (auto& word : words) word = bits();
    const double norm = std::abs(tails(bits)), laplace = standard_laplace(words);
    const bool hit = test.hit(norm, laplace);
    const double executed = hit ? std::min(norm, test.clip) : norm;
    EXPECT_LE(executed, test.most);
    longer += executed > test.clip ? 1 : 0;
    saved += norm > test.most && norm + test.scale * laplace < test.clip ? 1 : 0;
  }
  EXPECT_GT(longer, records / 200) << "the test has misses between C and (1 + theta) C";
  EXPECT_GT(saved, records / 200) << "and misses that the guard made hits";
}
TEST(HtSmooth, TheGuardBoundsExecutedGradients) { executed_gradients_are_bounded(50000); }
TEST(HtSmoothSlow, TheGuardBoundsExecutedGradients) { executed_gradients_are_bounded(1000000); }

// A15 through whole runs: one record of Cauchy size among zeros moves x by at most (1 + theta) eta C.
TEST(HtSmooth, NoRecordTakesALongerStepThanTheGuardAllows) {
  std::mt19937 bits(9);
  std::cauchy_distribution<float> tails;
  Shard nobody = mean_shard(0);
  const Options options = with(guarded, {{"phases", "1"}});
  const std::uint64_t first = order_of(mean_trial(options, nobody), 0)[0];
  const auto still = outcome(mean_trial(options, nobody)).back();
  double longest = 0;
  for (int repeat = 0; repeat < 100; ++repeat) {
    Shard one = nobody;
    set_record(one, first, {tails(bits), 0, 0, 0, 0});
    longest = std::max(longest, distance(outcome(mean_trial(options, one)).back(), still));
  }
  EXPECT_LE(longest, 1.25 * 1e-4);
  EXPECT_GT(longest, 0.9 * 1e-4);
}

// T1, A12: the decisions of a phase, as a program, on the pair that tells a shared threshold apart: m borderline
// records, the differing one (a sure hit in D, a miss in D'), m borderline ones. Fresh noise and a count with
// Gaussian noise keep to the count's own budget.
void halting_tells_no_more_than_its_count(int runs) {
  constexpr int m = 60;
  constexpr double deviation = 4;
  std::mt19937_64 bits(11);
  std::normal_distribution<double> normal;
  std::array<std::uint64_t, 4> words{};
  const auto draw = [&] {
    for (auto& word : words) word = bits();
    return standard_laplace(words);
  };
  const auto alive = [&](double differing_norm) {
    int count = 0;
    for (int run = 0; run < runs; ++run) {
      const RecordTest test{.clip = 1, .most = 1.25, .scale = 1e-3, .halt_at = m + deviation * normal(bits)};
      int hits = 0;
      for (int i = 0; i < 2 * m; ++i) hits += test.hit(1, draw()) ? 1 : 0;
      count += test.halted(hits + (test.hit(differing_norm, draw()) ? 1 : 0)) ? 0 : 1;
    }
    return static_cast<double>(count) / runs;
  };
  const double in_D = alive(1e9), in_other = alive(0), error = std::sqrt(0.5 / runs);
  EXPECT_GT(in_other, in_D + 3 * error) << "the record counts";
  for (const double epsilon : {0.0, 0.1, 0.3, 1.0}) {
    const double allowed = gdp_delta(1 / deviation, epsilon) + 4 * error;
    EXPECT_LE(in_other, std::exp(epsilon) * in_D + allowed);
    EXPECT_LE(1 - in_D, std::exp(epsilon) * (1 - in_other) + allowed);
  }
}
TEST(HtSmooth, HaltingTellsNoMoreThanItsCount) { halting_tells_no_more_than_its_count(15000); }
TEST(HtSmoothSlow, HaltingTellsNoMoreThanItsCount) { halting_tells_no_more_than_its_count(200000); }

// The number of hits that halts a phase is noised, anew for each key: m sure hits halt it with probability
// Phi((m - c) / s). They come first, so that a phase that goes on ends far from its start.
TEST(HtSmooth, PhasesHaltByANoisyCount) {
  constexpr int keys = 100;
  const Options options = with(guarded, {{"phases", "1"}});
  const Shard nobody = mean_shard(0);
  const Trial plan = mean_trial(options, nobody);
  const auto order = order_of(plan, 0);
  const double s = 1 / std::sqrt(2 * 0.05 * plan.derived("rho"));
  for (const int m : {18, 20, 22}) {
    Shard shard = nobody;
    for (int i = 0; i < m; ++i) set_record(shard, order[static_cast<std::size_t>(i)], {50, 0, 0, 0, 0});
    int halted = 0;
    for (std::uint64_t key = 1; key <= keys; ++key) {
      const double moved = outcome(mean_trial(options, shard, 0.5, Adjacency::replace_one, key)).back()[0];
      halted += moved < 1e-4 * m / 2 ? 1 : 0;
    }
    const double expected = std::erfc(-(m - 20) / s / std::sqrt(2.0)) / 2;
    EXPECT_NEAR(halted / double(keys), expected, 4 * std::sqrt(expected * (1 - expected) / keys)) << m;
  }
}

// So is every record's test: 120 records half a scale below the threshold halt a phase, some scales farther below
// they do not. Their gradients cancel; those of the others, far below, move x if it goes on.
TEST(HtSmooth, RecordsAreTestedWithNoise) {
  const Options options = with(guarded, {{"phases", "1"}, {"rate", "1e-6"}});
  const Shard nobody = mean_shard(0);
  const Trial plan = mean_trial(options, nobody);
  const auto order = order_of(plan, 0);
  const double R = plan.derived("R_1");
  for (const auto& [below, halts] : {std::pair{0.5, true}, {9.0, false}}) {
    Shard shard = nobody;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const double size = i < 120 ? 1 - below * R : 1 - 100 * R;
      set_record(shard, order[i], {static_cast<float>(i < 120 && i % 2 == 0 ? -size : size), 0, 0, 0, 0});
    }
    for (std::uint64_t key = 1; key <= 10; ++key) {
      const double moved = outcome(mean_trial(options, shard, 0.5, Adjacency::replace_one, key)).back()[0];
      EXPECT_EQ(moved < 8e-6, halts) << key;
    }
  }
}

// A phase that halts hands over its start; when it halted, after how many hits, nothing shows: neither what is
// released nor state, ledger or output.
TEST(HtSmooth, NothingTellsWhenAPhaseHalts) {
  for (const char* batch : {"1", "4"}) {
    const Options options = with(guarded, {{"batch", batch}});
    const Shard nobody = mean_shard(0);
    const auto order = order_of(mean_trial(options, nobody), 0);
    const auto run = [&](std::size_t from, std::size_t clipped) {
      Shard shard = nobody;
      for (std::size_t i = 0; i < clipped; ++i) set_record(shard, order[from + i], {50, 0, 0, 0, 0});
      Trial t = mean_trial(options, shard);
      ::testing::internal::CaptureStdout();
      ::testing::internal::CaptureStderr();
      t.run(1);
      Archive archive;
      t.algorithm->archive(archive);
      std::string seen = ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr();
      for (const Event& event : t.ledger->events()) seen += to_json(event);
      return std::pair(released(t), seen + archive.bytes());
    };
    const auto none = run(0, 0), early = run(0, 100), late = run(order.size() - 60, 60), all = run(0, order.size());
    EXPECT_EQ(early, late);
    EXPECT_EQ(early, all);
    EXPECT_EQ(early, none) << "a phase of zeros stays where it began, with the same noise";
    EXPECT_NE(run(0, 5).first, none.first) << "too few hits to halt: x moves";
  }
}

// Plan and ledger: one zcdp event of the whole budget, whatever the number of phases; noise by the output's share.
TEST(HtSmooth, AGuardedRunIsOneEvent) {
  for (const auto& [adjacency, change] : {std::pair{Adjacency::replace_one, 2.0}, {Adjacency::add_remove, 1.0}})
    for (const char* phases : {"1", "3"}) {
      constexpr double z = 0.5;
      Trial t = mean_trial(with(guarded, {{"phases", phases}}), mean_shard(), z, adjacency);
      EXPECT_EQ(t.steps, std::stoul(phases));
      t.run();
      ASSERT_EQ(t.ledger->events().size(), 1u);
      EXPECT_EQ(t.queries[0].events(0, t.steps), t.ledger->events());
      const auto& event = std::get<Zcdp>(t.ledger->events()[0].mechanism);
      EXPECT_NEAR(event.rho, 1 / (2 * z * z), 1e-12);
      EXPECT_GE(event.rho, t.derived("rho"));
      EXPECT_GE(event.total_variation, 3e-12);
      EXPECT_LE(event.total_variation, 3.0001e-12);
      for (std::uint64_t p = 0; p < t.steps; ++p) {
        const std::string i = "_" + std::to_string(p + 1);
        const auto value = [&](const std::string& symbol) { return t.derived(symbol + i); };
        // The three parts of the budget, from what the phase does.
        const double count = 0.05 * t.derived("rho"), tests = value("N") * value("eps") * value("eps") / 2,
                     output = std::pow(value("sens") / value("sigma"), 2) / 2;
        EXPECT_NEAR(output, 0.70 * event.rho, 1e-9);
        EXPECT_LE(tests, 0.25 * t.derived("rho"));
        EXPECT_LE(count + tests + output, event.rho);
        const double eta = value("h"), exact = change * 1.25 * eta * value("C") * std::exp(eta * value("K"));
        EXPECT_GE(value("sens"), exact);
        EXPECT_LE(value("sens"), 1.011 * exact);
        EXPECT_GE(value("R"), value("sens") / (1 + 1e-3) / value("eps"));
        EXPECT_GE(value("slack"), 1);
      }
    }
}

TEST(HtSmooth, NoiseHasItsDeviationInEveryPhase) {
  constexpr int keys = 150;
  std::vector<double> squares(2, 0.0), std(2);
  const Shard nobody = mean_shard(0);  // the average of a phase is where it began
  const Options options = with(guarded, {{"rate", "1e-6"}});
  for (int key = 1; key <= keys; ++key) {
    Trial t = mean_trial(options, nobody, 0.5, Adjacency::replace_one, static_cast<std::uint64_t>(key));
    std::vector<double> before(features, 0.0);
    for (std::uint64_t p = 0; p < 2; ++p) {
      t.run(1);
      std[p] = t.queries[0].at(p).noise_std;
      squares[p] += std::pow(distance(released(t), before), 2) / (keys * features);
      before = released(t);
    }
  }
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_LT(std::abs(squares[p] / (std[p] * std[p]) - 1), 5 * std::sqrt(2.0 / (keys * features))) << p;
}

// T13: a run that is killed in a phase begins it again, with the same tests and the same noise.
TEST(HtSmooth, ResumesWithTheSameNoiseOnTheSameValues) {
  for (const char* batch : {"1", "4"}) {
    const Options options = with(guarded, {{"batch", batch}});
    test::expect_that_a_killed_phase_runs_again([&] { return mean_trial(options, mean_shard(1.5)); });
  }
}

// T18: records that are not numbers contribute nothing, and count.
TEST(HtSmooth, BadRecordsContributeNothing) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* batch : {"1", "4"}) {
    Shard bad = mean_shard(), none = bad;
    for (std::uint64_t i = 0; i < 40; ++i) {
      set_record(bad, 10 * i, {i % 2 == 0 ? nan : inf, 1, 1, 1, 1});
      test::remove_record(none.blocks[10 * i / (n / blocks)].records, 10 * i % (n / blocks));
    }
    const Options options = with(guarded, {{"batch", batch}});
    EXPECT_EQ(outcome(mean_trial(options, bad)), outcome(mean_trial(options, none)));
  }
}

std::string refusal(const std::function<Trial()>& make) {
  try {
    make();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}
using test::contains;

// T2, and the decision: steps that contract, then plain ones where h beta T <= 1, then guarded ones where their
// condition holds, then a refusal that says what to take.
TEST(HtSmooth, ChoosesTheRouteWhoseProofHolds) {
  const auto mode_of = [](const Trial& t) {
    for (const auto& [key, value] : t.plan->report_quantities(t.queries))
      if (key == "mode") return std::get<std::string>(value);
    return std::string();
  };
  EXPECT_EQ(mode_of(mean_trial({}, mean_shard())), "plain");
  const auto softmax = [](const char* rate, const char* mode = "auto", const char* hits = "1") {
    return softmax_trial({{"rate", rate}, {"clip", "1"}, {"hits", hits}, {"mode", mode}, {"phases", "2"}},
                         class_shard(), 0.004);
  };
  // beta = 2 for rows of norm 2: 200 plain steps of 1 / 400 are the longest.
  EXPECT_EQ(mode_of(softmax("2.499e-3")), "plain");
  EXPECT_EQ(mode_of(softmax("2.501e-3")), "guarded");
  EXPECT_NEAR(softmax("1e-3").derived("slack"), 2.5, 1e-9);
  EXPECT_NEAR(mean_trial({{"rate", "0.5"}, {"clip", "1"}}, mean_shard()).derived("slack"), 4, 1e-9);
  // A14: at the longest step that the condition allows, rounding aside.
  const double longest = plan_guarded_phase(200, 1, 1 / (2 * 0.004 * 0.004) * (1 - 1e-5), 1,
                                            GuardRule::for_target(gdp_epsilon(250, 1e-5), 1e-5, 2))
                             .most_curvature /
                         2;
  EXPECT_EQ(mode_of(softmax(fmt::format("{}", 0.999 * longest).c_str(), "guarded")), "guarded");
  for (const char* mode : {"auto", "guarded"}) {
    const std::string text = refusal([&] { return softmax(fmt::format("{}", 1.001 * longest).c_str(), mode); });
    for (const char* part : {"clipped-gd", "ht-localize", "slack 0.99"}) EXPECT_TRUE(contains(text, part)) << text;
  }
  EXPECT_TRUE(contains(refusal([&] { return softmax("2.501e-3", "plain"); }), "h beta T <= 1"));
}

TEST(HtSmooth, RefusesWhatItsProofDoesNotCover) {
  const auto of = [](const char* name, std::vector<std::pair<std::string, std::string>> settings, Shard shard) {
    return refusal([&] {
      return Trial("ht-smooth", {}, 1, make_objective(name, {features, Storage::dense_f32, 1}, settings), shard);
    });
  };
  EXPECT_TRUE(contains(of("logistic", {}, class_shard()), "ht-glm"));
  EXPECT_TRUE(
      contains(of("mlp", {{"objective.classes", "3"}, {"objective.hidden", "4"}}, class_shard()), "clipped-gd"));
  EXPECT_TRUE(contains(of("softmax", {{"objective.classes", "3"}}, class_shard()), "public bound"));
  auto ridge = make_objective("mean", {features, Storage::dense_f32, 0});
  ridge->l2 = 0.1;
  EXPECT_THROW(Trial("ht-smooth", {}, 1, std::move(ridge), mean_shard()), ConfigError);
}

}  // namespace
}  // namespace dpmpi::smooth_test
