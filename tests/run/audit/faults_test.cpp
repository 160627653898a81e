// Audits of mechanisms with one fault each, and of the same mechanisms without it: the first must end with exit
// code 4, the second with 0. Deltas are large, so that few runs can tell.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/audit.hpp"
#include "privacy/promise/guarantee.hpp"
#include "problems/printed_private_diff.hpp"
#include "problems/small_saddles.hpp"
#include "problems/trial.hpp"
#include "run/audit/audit.hpp"
#include "support/halting_layer.hpp"
#include "support/injected_fault.hpp"

namespace dpmpi::faults_test {
namespace {

using Vector = std::vector<double>;
using test::Fault;
using test::Injected;

Proof proof(const Turn& turn, double delta, std::uint64_t runs = 2000) {
  const Communicator alone = Communicator::alone();
  const Groups groups(alone, 1);
  const Transcripts all = run_games(groups, turn, {runs, 7});
  return prove(all.first, all.second, delta, 0.02);
}

struct PlainSgdSettings : MethodSettings {
  std::int64_t batch = 1, steps = 1;
  double rate = 1;
  bool bounds_records_only = false;
  void declare(Options& options) override {
    options.add("batch", batch, "", Range::at_least(1))
        .add("steps", steps, "", Range::at_least(1))
        .add("rate", rate, "", Range::positive());
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class PlainSgdPlan final : public MethodPlan {
 public:
  PlainSgdPlan(const PlainSgdSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    steps = static_cast<std::uint64_t>(settings.steps);
  }
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {{.name = "gradient",
             .dim = facts_.objective->dim(),
             .sampling = Poisson{static_cast<double>(settings_.batch) / static_cast<double>(facts_.data.records)},
             .bound = {1},
             .slack = facts_.objective->gradients()->gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps}};
  }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  PlainSgdSettings settings_;
  PublicFacts facts_;
};

/// dp-sgd without optimisers, which goes on at once if a batch is empty.
class SkipsEmptyBatches final : public Algorithm {
 public:
  SkipsEmptyBatches(const PlainSgdSettings& settings, Objective& objective, const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        batch_(static_cast<float>(settings.batch)),
        rate_(static_cast<float>(settings.rate)),
        x_(objective.dim()) {}
  void step(Curator& curator, std::uint64_t t) override {
    int readings = 0, seen = 0;  // by the curator, not by the attacker who reads later
    Kernel kernel;
    kernel.begin = [&](std::size_t) { ++readings; };
    kernel.add = [&, gradients = clipped_gradients(objective_, x_)](const Rows& rows, const L2Bound& bound,
                                                                    LatticeAccumulator& sum) {
      for (const std::uint32_t i : rows.index) seen += readings == 1 && !std::isnan(rows.records.label[i]);
      gradients(rows, bound, sum);
    };
    auto total = curator.sum(gradient_, curator.draw(gradient_, t), kernel);
    if (seen == 0) return;
    const auto noisy = curator.release(std::move(total));
    for (std::size_t j = 0; j < x_.size(); ++j) x_[j] -= rate_ * noisy[j] / batch_;
  }
  std::span<const float> iterate() override { return x_; }
  void archive(Archive& archive) override { archive.field("x", x_); }

 private:
  Objective& objective_;
  Query gradient_;
  float batch_, rate_;
  AlignedVector<float> x_;
};

/// dp-sgd without optimisers, with a kernel that takes persons together and bounds their records alone.
class BoundsRecordsOnly final : public Algorithm {
 public:
  BoundsRecordsOnly(const PlainSgdSettings& settings, Objective& objective, const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        step_(static_cast<float>(settings.rate) / static_cast<float>(settings.batch)),
        x_(objective.dim()) {}
  void step(Curator& curator, std::uint64_t t) override {
    Kernel kernel = clipped_gradients(objective_, x_);
    kernel.add_means = [add = kernel.add](const Persons& persons, const MeanBound& bound, LatticeAccumulator& sum) {
      for (const std::uint32_t person : persons.number)
        for (std::uint32_t i = persons.records.unit_begin(person); i < persons.records.unit_begin(person + 1); ++i)
          add({persons.records, {&i, 1}}, {bound.clip}, sum);
      return std::span<const std::uint32_t>();
    };
    const auto noisy = curator.release(curator.sum(gradient_, curator.draw(gradient_, t), kernel));
    for (std::size_t j = 0; j < x_.size(); ++j) x_[j] -= step_ * noisy[j];
  }
  std::span<const float> iterate() override { return x_; }
  void archive(Archive& archive) override { archive.field("x", x_); }

 private:
  Objective& objective_;
  Query gradient_;
  float step_;
  AlignedVector<float> x_;
};

struct BoundsRecordsOnlySettings final : PlainSgdSettings {
  BoundsRecordsOnlySettings() { bounds_records_only = true; }
};

std::unique_ptr<const MethodPlan> PlainSgdSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<PlainSgdPlan>(*this, facts);
}
std::unique_ptr<Algorithm> PlainSgdPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  if (settings_.bounds_records_only)
    return std::make_unique<BoundsRecordsOnly>(settings_, objective, queries.at(0));
  return std::make_unique<SkipsEmptyBatches>(settings_, objective, queries.at(0));
}
const MethodRegistration skips_empty_batches{{"skips-empty-batches", "", "", make_method<PlainSgdSettings>}};
const MethodRegistration bounds_records_only{
    {"bounds-records-only", "", "", make_method<BoundsRecordsOnlySettings>}};

constexpr const char* zeroth_order = R"(
[method]
name = zo-hidden
release = all
directions = 4
direction_seed = 1
steps = 2
rate = 0.01
radius = 0.01
clip = 1
[privacy]
noise_multiplier = 4
delta = 0.1
adjacency = replace_one
[audit]
game = distinguish
)";

/// Audits of configs, by the same program that users run, of a product with one fault and of the product.
class AuditFaults : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_AuditFaults/"; }
  static void SetUpTestSuite() {
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    write("four.csv", 4, 3);
    write("many.csv", 100, 50);
    std::ofstream(folder() + "persons.csv") << "who,y,a,b\nA,1,0,0\nB,1,0,0\nC,1,0,0\nD,1,0,0\n";
  }
  static void write(const std::string& name, int records, int features) {
    std::ofstream file(folder() + name);
    for (int i = 0; i <= records; ++i) {
      file << (i == 0 ? "y" : "1");
      for (int j = 0; j < features; ++j) file << ',' << (i == 0 ? fmt::format("x{}", j) : "0");
      file << '\n';
    }
  }

  static AuditReport audited(Fault fault, const std::string& settings, const std::string& data = "four.csv") {
    const std::string path = folder() + "config.ini";
    std::ofstream(path) << "[data]\ntrain = " << data << "\nheader = yes\nblocks = 1\n" << settings;
    const Injected injected(fault);
    const Communicator alone = Communicator::alone();
    return audit(alone, path, {}, true);
  }
  static void expect_caught(Fault fault, const std::string& settings, const std::string& data = "four.csv") {
    EXPECT_EQ(print_audit(audited(Fault::none, settings, data), false), 0);
    EXPECT_EQ(print_audit(audited(fault, settings, data), false), 4);
  }
};

// The difference of two releases has none of it.
TEST_F(AuditFaults, NoiseReusedBetweenSteps) {
  expect_caught(Fault::noise_reused, R"(
[method]
sampling = cyclic
batch = 2
steps = 8
rate = 0.01
[privacy]
noise_multiplier = 4
delta = 0.2
[audit]
game = distinguish
)");
}

// Public numbers are the same in every run.
TEST_F(AuditFaults, NoiseFromTheSeedOfDirections) { expect_caught(Fault::noise_of_directions, zeroth_order); }

// The difference of two coordinates has none of it.
TEST_F(AuditFaults, CopiesOfOneNoise) { expect_caught(Fault::noise_copied, zeroth_order); }

// Replacing a record moves a sum by twice its clip.
TEST_F(AuditFaults, NoiseForTheClipAndNotForTwiceTheClip) {
  expect_caught(Fault::clip_for_twice_clip, R"(
[method]
sampling = full
batch = 4
steps = 1
[privacy]
noise_multiplier = 1.5
delta = 0.1
adjacency = replace_one
[audit]
game = distinguish
)");
}

// A Poisson sample misses a record in all of four steps with probability 0.32; a shuffle never does.
TEST_F(AuditFaults, PoissonAccountedButShuffled) {
  expect_caught(Fault::shuffled, R"(
[method]
batch = 1
steps = 4
rate = 0.01
[privacy]
noise_multiplier = 0.3
delta = 0.2
[audit]
game = distinguish
)");
}

// Every row of a band sees one secret draw of a record's group at most.
TEST_F(AuditFaults, FaintNoiseOnGroupsThatTakeTurns) {
  for (const char* const game : {"worst_case", "distinguish"})
    expect_caught(Fault::noise_faint, std::string(R"(
[method]
name = dp-ftrl
sampling = cyclic_poisson
strategy = banded_blt
groups = 2
batch = 1
passes = 2
rate = 0.01
[privacy]
noise_multiplier = 2
delta = 0.1
[audit]
game = )") + game + "\n");
}

// Nothing is released for a batch without records: then there is none.
TEST_F(AuditFaults, EmptyBatchSkipped) {
  const std::string settings = R"(
batch = 1
steps = 4
rate = 0.01
[privacy]
noise_multiplier = 2
delta = 0.1
[audit]
game = distinguish
)";
  EXPECT_EQ(print_audit(audited(Fault::none, "[method]\n" + settings), false), 0);
  EXPECT_EQ(print_audit(audited(Fault::none, "[method]\nname = skips-empty-batches\n" + settings), false), 4);
}

// A person's records are bounded one by one, and their sum is not: canaries of one record never show it.
TEST_F(AuditFaults, RecordsBoundedAndNotPersons) {
  const auto settings = [](const char* method, const char* game, int records) {
    return fmt::format(
        "person = who\n[method]\n{}\nrate = 0.01\n[privacy]\nnoise_multiplier = 4\n"
        "delta = 0.1\n[audit]\nperson_records = {}\ngame = {}\n",
        method, records, game);
  };
  for (const char* const game : {"worst_case", "distinguish"}) {
    const auto exit_code = [&](const char* method, int records) {
      return print_audit(audited(Fault::none, settings(method, game, records), "persons.csv"), false);
    };
    EXPECT_EQ(exit_code("name = bounds-records-only\nbatch = 4\nsteps = 2", 16), 4) << game;
    EXPECT_EQ(exit_code("name = bounds-records-only\nbatch = 4\nsteps = 2", 1), 0) << game;
    EXPECT_EQ(exit_code("batch = 4\nsteps = 2", 16), 0) << game;
    EXPECT_EQ(exit_code("name = dp-ftrl\nbatch = 2\nclip_quantile = 0.5", 16), 0) << game;
  }
}

// An eighth of the noise hides one record as the promise says, and not the eight that a person may have.
TEST_F(AuditFaults, NoiseHidesARecordAndNotAPersonsRecords) {
  const auto exit_code = [&](Fault fault, const std::string& method, const char* game, int records) {
    return print_audit(
        audited(
            fault,
            fmt::format("person = who\nperson_records = 8\nperson_sampling = records\n[method]\n{}\nrate = 0.01\n"
                        "[privacy]\ndelta = 0.1\nnoise_multiplier = 16\n[audit]\nperson_records = {}\n"
                        "game = {}\nruns = 200\n",
                        method, records, game),
            "persons.csv"),
        false);
  };
  const std::string full = "sampling = full\nbatch = 32\nsteps = 1", drawn = "batch = 16\nsteps = 2",
                    shuffled = "name = dp-ftrl\nbatch = 8\npasses = 1";
  for (const std::string& method : {full, drawn, shuffled})
    for (const char* const game : {"worst_case", "distinguish"}) {
      EXPECT_EQ(exit_code(Fault::none, method, game, 8), 0) << method << game;
      EXPECT_EQ(exit_code(Fault::noise_faint, method, game, 8), 4) << method << game;
    }
  EXPECT_EQ(exit_code(Fault::noise_faint, full, "worst_case", 1), 0) << "one record shows nothing";
}

TEST_F(AuditFaults, CanariesHaveNoMoreRecordsThanTakePart) {
  const auto records_of = [](const char* data, const char* audit) {
    return audited(Fault::none,
                   fmt::format("{}[method]\nbatch = 2\nsteps = 1\n[privacy]\nnoise_multiplier = 4\ndelta = 0.1\n"
                               "[audit]\ngame = worst_case\nruns = 32\n{}",
                               data, audit),
                   "persons.csv")
        .person_records;
  };
  EXPECT_EQ(records_of("person = who\n", ""), 16U);
  EXPECT_EQ(records_of("person = who\nperson_records = 5\n", ""), 5U);
  EXPECT_EQ(records_of("person = who\nperson_records = 5\n", "person_records = 3\n"), 3U);
  EXPECT_EQ(records_of("person = who\nperson_records = 5\nperson_sampling = records\n", ""), 5U);
  EXPECT_EQ(records_of("person = who\nperson_records = 5\nperson_sampling = records\n", "person_records = 3\n"),
            3U);
  EXPECT_EQ(records_of("drop = who\n", ""), 1U);
}

// Many records in one run.
TEST_F(AuditFaults, OneRunSeesTooLittleNoise) {
  expect_caught(Fault::noise_faint, R"(
[method]
sampling = full
batch = 100
steps = 1
[privacy]
noise_multiplier = 4
delta = 1e-5
[audit]
game = one_run
)",
                "many.csv");
}

// Each canary a person of two records, which are drawn one by one.
TEST_F(AuditFaults, OneRunOfPersonsWhoseRecordsAreDrawnOneByOne) {
  expect_caught(Fault::noise_faint, R"(
person = x0
person_records = 2
person_sampling = records
records = 100
[method]
batch = 100
steps = 1
[privacy]
noise_multiplier = 4
delta = 1e-5
[audit]
game = one_run
)",
                "many.csv");
}

// Half of the noise: no pair at this delta is refuted, but the curve is.
TEST_F(AuditFaults, TheCurveSeesWhatNoBoundOnEpsilonSees) {
  const std::string settings = R"(
[method]
sampling = full
batch = 100
steps = 4
rate = 0.01
[privacy]
noise_multiplier = 2
delta = 1e-5
adjacency = replace_one
[audit]
game = one_run
repeats = 40
)";
  const AuditReport sound = audited(Fault::none, settings, "many.csv");
  EXPECT_EQ(print_audit(sound, false), 0);
  EXPECT_GT(sound.games.at(0).noise.value(), 1);
  EXPECT_LT(sound.games[0].curve_bound.value(), sound.epsilon);
  EXPECT_GT(*sound.games[0].curve_bound, 0.6 * sound.epsilon);
  const AuditReport faulty = audited(Fault::clip_for_twice_clip, settings, "many.csv");
  EXPECT_EQ(print_audit(faulty, false), 4);
  EXPECT_LT(faulty.games.at(0).bound, faulty.epsilon);
  EXPECT_GT(faulty.games[0].curve_bound.value(), faulty.epsilon);
}

// The primal gradient is y for every record, so whoever sees its sum sees a dual that was not noised.
TEST_F(AuditFaults, RawDualInThePrimalQuery) {
  const auto dataset = [](float last) {
    Vector z(100, 0.0);
    std::vector<float> values(z.begin(), z.end());
    values.back() = last;
    return test::numbers(values, 2);
  };
  const auto game = [&](const std::string& name, std::map<std::string, std::string> options, double multiplier) {
    auto f = std::make_unique<test::ToySaddle>(1, 1, [](double z, auto x, auto y, auto gx, auto gy) {
      gx[0] = std::min<double>(1, static_cast<double>(y[0]));
      gy[0] = static_cast<double>(x[0]) + z;
    });
    f->public_dual = [](auto y, auto g) { g[0] -= 0.01 * static_cast<double>(y[0]); };
    const test::Trial trial(name, options, multiplier, std::move(f), dataset(0));
    const Shard shards[] = {dataset(0), dataset(1)};
    const Records suspects = test::numbers({0, 1}).blocks[0].records;
    Attacker attacker(*trial.objective, suspects, {99, 99}, trial.shard.layout);
    const RunParts run{trial.settings->plan(trial.facts), trial.objective.get(), trial.queries,
                       trial.facts.adjacency};
    const std::vector<float> start = start_point(run);
    std::vector<Event> events;
    for (const Query& query : trial.queries)
      for (const Event& event : query.events(0, query.steps)) events.push_back(event);
    const Turn turn = [&](const Communicator& comm, bool second, std::uint64_t key) {
      run_game(comm, run, shards[second], key, start, attacker);
      return attacker.transcript();
    };
    return std::pair{proof(turn, 0.0063), events};
  };
  // 4 sqrt(log(1 / delta)) / (n epsilon) = 0.2, the deviation of the noise on the query's mean.
  const double stated = 4 * std::sqrt(1.1 * std::log(100.0)) / (100 * 0.2);
  std::map<std::string, std::string> options{{"sampling", "full"}, {"steps", "1"},     {"restart", "1"},
                                             {"clip", "1"},        {"dual_clip", "1"}, {"rate", "1"},
                                             {"dual_rate", "100"}};
  const auto [sound, events] = game("private-diff", options, 2);
  const double claimed = epsilon_guarantee(events, Adjacency::replace_one, 0.0063, "best").epsilon;
  EXPECT_LE(sound.epsilon, claimed) << sound.test;
  options["concavity"] = "0.01", options["stated_epsilon"] = fmt::format("{:.17g}", stated);
  EXPECT_GT(game("printed-private-diff", options, 0).first.epsilon, std::max(claimed, stated));
}

// One threshold for many tests of records: whether the method halts tells of a record. Its attacker is the one that
// sees the end of a phase; what an audit of a config sees of such a layer are sums and models only.
TEST_F(AuditFaults, SharedThreshold) {
  const auto layer = [](bool fresh, test::HaltingCase c) -> Turn {
    return [fresh, c](const Communicator&, bool second, std::uint64_t key) {
      test::HaltingLayer halting(fresh, key);
      Transcript transcript;
      transcript.model = halting.alive(c, second) ? 1 : 0;
      return transcript;
    };
  };
  test::HaltingCase c = test::halting_cases[1];
  const double delta = 1e-6;
  EXPECT_GT(proof(layer(false, c), delta, 60000).epsilon, c.epsilon);
  c.room = c.m;  // where fresh noise halts about half of the time
  EXPECT_LE(proof(layer(true, c), delta, 10000).epsilon, c.epsilon);
}

}  // namespace
}  // namespace dpmpi::faults_test
