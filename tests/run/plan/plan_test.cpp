// The promise before the data: numbers that a plan's file and command show.
#include "run/plan/plan.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "data/synthetic/generate.hpp"
#include "problems/changed_method.hpp"
#include "run/directory/files.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::plan_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Planning : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_plan"; }
  static std::string config() { return "--config " + folder() + "/run.ini"; }
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    GenerateOptions options;
    options.records = 2000, options.eval_records = 0, options.features = 9;
    options.output = folder() + "/train.csv";
    generate(options);
    std::ofstream(folder() + "/run.ini")
        << "[data]\ntrain = train.csv\nheader = yes\nblocks = 4\n[method]\nbatch = 100\nsteps = "
           "30\nclip = 0.5\n[privacy]\nepsilon = 2\ndelta = 1e-5\n";
  }
  static json planned(const std::string& more = "", const std::string& launcher = "") {
    const auto outcome =
        test::run_command(fmt::format("{}{} plan --quiet --json {} {}", launcher, test::program(), config(), more));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return json::parse(outcome.output, nullptr, false);
  }
};

TEST_F(Planning, SchemaAndNumbers) {
  const json plan = planned("--ranks 1,3");
  const double epsilon = plan["epsilon"];
  EXPECT_LE(epsilon, 2);
  EXPECT_GT(epsilon, 2 * (1 - 1e-5));
  EXPECT_EQ(plan["interval"][1], epsilon);
  EXPECT_TRUE(plan["by"].contains("rdp"));
  EXPECT_EQ(plan["delta"], 1e-5);
  EXPECT_EQ(plan["adjacency"], "add_remove");
  EXPECT_EQ(plan["steps"], 30);
  const json& noise = plan["noise"][0];
  EXPECT_EQ(noise["site"], "gradient");
  EXPECT_EQ(noise["clip"], 0.5);
  EXPECT_EQ(noise["count"], 30);
  EXPECT_NEAR(noise["sensitivity"].get<double>(), 0.5 * (1 + plan["slack"].get<double>()), 1e-12);
  const json& method = plan["method"];
  EXPECT_EQ(method["name"], "dp-sgd");
  EXPECT_EQ(method["B"], 100);
  EXPECT_EQ(method["q"], 0.05);
  EXPECT_EQ(method["C"], 0.5);
  EXPECT_EQ(method["epochs"], 1.5);
  EXPECT_EQ(method["steps"], 30);
  EXPECT_EQ(method["z"], plan["events"][0]["noise_multiplier"]);
  EXPECT_NEAR(method["sigma"].get<double>(), method["z"].get<double>() * noise["sensitivity"].get<double>(), 1e-12);
  EXPECT_NEAR(method["eta"].get<double>(), 0.2 * 100 / (std::sqrt(30.0) * method["sigma"].get<double>()), 1e-12)
      << "the config has no method.rate";
  EXPECT_EQ(plan["bytes_per_step"]["up"], 4 * 10 + 8);
  EXPECT_EQ(plan["bytes_per_step"]["down"], 4 * 11);
  EXPECT_GT(plan["flops_per_step"].get<double>(), 100 * 2 * 10);
  EXPECT_EQ(plan["predicted"]["ranks"].size(), 2u);
  EXPECT_NEAR(plan["predicted"]["ranks"]["3"]["total_seconds"].get<double>(),
              30 * plan["predicted"]["ranks"]["3"]["seconds_per_step"].get<double>(), 1e-12);
  double last = 0;
  for (const char* rate : {"0.001", "0.01", "0.1"}) {
    const double found = plan["attacker"][rate];
    EXPECT_GT(found, last);
    EXPECT_LE(found, std::exp(epsilon) * std::stod(rate) + 1e-5);
    last = found;
  }
}

// A clip that follows a quantile asks for the length of each gradient beside the sum of them.
TEST_F(Planning, VotesAreASecondPassOverTheBatch) {
  const double fixed = planned()["flops_per_step"];
  const double following = planned("--set method.clip_quantile=0.5")["flops_per_step"];
  EXPECT_NEAR(following, fixed * 5 / 3, 1e-9 * fixed);
}

TEST_F(Planning, TextSaysWhatJsonSays) {
  const auto outcome = test::run_command(fmt::format("{} plan {}", test::program(), config()));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const std::string rate = fmt::format("dp-sgd, 30 steps, rate {:.6g}", planned()["method"]["eta"].get<double>());
  for (const char* part : {"poisson_gaussian", "epsilon at delta 1e-05 under add_remove", "% false alarms", "flops",
                           "defaults", "8 ranks", "in total", rate.c_str()})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
}

// What a run writes is what was planned, whatever the launcher; predictions and memory stay out of it.
TEST_F(Planning, TheFileOfARunIsThePlan) {
  ASSERT_EQ(test::run_command(
                fmt::format("mpirun -n 2 {} -q {} --set run.dir={}/run", test::program(), config(), folder()))
                .code,
            0);
  json plan = planned();
  EXPECT_EQ(plan.erase("predicted"), 1u);
  EXPECT_EQ(plan.erase("records"), 1u);
  EXPECT_EQ(json::parse(read_file(folder() + "/run/plan.json")), plan);
}

TEST_F(Planning, AnAccountantCanBeChosen) {
  const json best = planned(), rdp = planned("--set privacy.accountant=rdp");
  EXPECT_EQ(rdp["by"].size(), 1u);
  EXPECT_LE(best["method"]["z"].get<double>(), rdp["method"]["z"].get<double>());
  const auto outcome =
      test::run_command(fmt::format("{} plan {} --set privacy.accountant=moments", test::program(), config()));
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("privacy.accountant = moments"), std::string::npos) << outcome.output;
}

// Up to 10.5 deviations a pair of normals has every lattice point. 30 releases of 10 coordinates, a record in one
// of 20, a shift of one deviation: 30/20 (exp(-9.5^2 / 2) + 11 exp(-10.5^2 / 2)) is lost, and at most 1 % of delta
// may be.
TEST_F(Planning, WhatLiesBeyondTheResolvedNormalsIsCharged) {
  const double lost = 1.5 * (std::exp(-0.5 * 9.5 * 9.5) + 11 * std::exp(-0.5 * 10.5 * 10.5));
  std::ofstream(folder() + "/one.ini")
      << "[data]\ntrain = train.csv\nheader = yes\nblocks = 4\n[method]\nbatch = 100\nsteps = "
         "30\nclip = 0.5\n[privacy]\nnoise_multiplier = 1\n";
  const auto at_delta = [](double delta) {
    return test::run_command(
        fmt::format("{} plan --config {}/one.ini --set privacy.delta={}", test::program(), folder(), delta));
  };
  EXPECT_EQ(at_delta(101 * lost).code, 0);
  const auto refused = at_delta(99 * lost);
  EXPECT_EQ(refused.code, 4) << refused.output;
  EXPECT_NE(refused.output.find(fmt::format("up to {:.3g} could", lost)), std::string::npos) << refused.output;
}

// The number of repeated runs, a thousand on average, is drawn by a law that is off by 2^-46 of that: by far the
// most of what is charged here. The ledger of a run has the plan's event.
TEST_F(Planning, TheDrawnNumberOfRunsIsCharged) {
  const double mean = 1000,
               reach = std::exp(-0.5 * std::pow(10.5 - 1 / 30.0, 2)) + 2 * std::exp(-0.5 * 10.5 * 10.5);
  const double lost = mean * (0x1p-46 + reach);
  EXPECT_LT(mean * reach, 1e-9 * lost);
  std::ofstream(folder() + "/repeated.ini") << "[data]\ntrain = train.csv\nheader = yes\n[method]\nname = "
                                               "random-stopping\ngamma = 0.001\n[privacy]\nnoise_multiplier = 30\n";
  const auto at_delta = [](double delta, const std::string& command) {
    return test::run_command(fmt::format("{} {} --config {}/repeated.ini --set privacy.delta={}", test::program(),
                                         command, folder(), delta));
  };
  EXPECT_EQ(at_delta(101 * lost, "plan").code, 0);
  const auto refused = at_delta(99 * lost, "plan");
  EXPECT_EQ(refused.code, 4) << refused.output;
  EXPECT_NE(refused.output.find(fmt::format("up to {:.3g} could", lost)), std::string::npos) << refused.output;

  const std::string run = folder() + "/repeated";
  const auto outcome = at_delta(101 * lost, "-q --set run.dir=" + run);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json plan = json::parse(read_file(run + "/plan.json"));
  ASSERT_EQ(plan["events"].size(), 1u);
  std::istringstream ledger(read_file(run + "/ledger.jsonl"));
  std::string head, line, more;
  std::getline(ledger, head);
  std::getline(ledger, line);
  const json event = json::parse(line);
  for (const auto& [member, value] : plan["events"][0].items()) EXPECT_EQ(event[member], value) << member;
  EXPECT_EQ(event["event"], "repeat_and_select");
  EXPECT_FALSE(std::getline(ledger, more));
  EXPECT_EQ(test::run_command(fmt::format("{} verify {}", test::program(), run)).code, 0);
}

// A sum of one leaf has the noise of its own clip, not of a clip of leaves that do not exist: both the promise and
// the check that the noise reaches far enough go by it.
TEST_F(Planning, ASumOfOneLeaf) {
  std::ofstream(folder() + "/one.ini")
      << "[data]\ntrain = train.csv\nheader = yes\nblocks = 4\n[objective]\nname = absolute\n"
         "[method]\nname = zo-o2nc\ninner = 1\nbatch = 8\n[privacy]\nepsilon = 4\n"
         "delta = 1e-5\nadjacency = replace_one\n";
  const auto outcome =
      test::run_command(fmt::format("{} plan --quiet --json --config {}/one.ini", test::program(), folder()));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json plan = json::parse(outcome.output);
  EXPECT_LT(plan["events"][0]["first_leaf"].get<double>(), 0.5);
  const double s_1 = plan["method"]["s_1"], sigma = plan["method"]["sigma"];
  EXPECT_NEAR(s_1 / sigma, 0.92493090, 1e-3) << "rho for epsilon 4, less the numerical slack";
}

TEST_F(Planning, MeasuredRates) {
  for (const char* launcher : {"", "mpirun -n 2 "}) {
    const json plan = planned("--measure", launcher);
    const json& machine = plan["predicted"]["machine"];
    EXPECT_NE(machine["source"].get<std::string>().find("measured on"), std::string::npos);
    EXPECT_GT(machine["flops_per_second"].get<double>(), 1e6);
    EXPECT_GT(machine["seconds_per_noise_value"].get<double>(), 1e-11);
    EXPECT_LT(machine["latency_seconds"].get<double>(), 1);
  }
  EXPECT_EQ(test::run_command(fmt::format("{} plan {} --ranks 0", test::program(), config())).code, 2);
  EXPECT_EQ(test::run_command(fmt::format("{} {} --measure", test::program(), config())).code, 2);
}

// Makes only the first releases of those that its plan has.
class Forgetful final : public Algorithm {
 public:
  explicit Forgetful(std::unique_ptr<Algorithm> inner) : inner_(std::move(inner)) {}
  void step(Curator& curator, std::uint64_t t) override {
    if (t < 5) inner_->step(curator, t);
  }
  std::span<const float> iterate() override { return inner_->iterate(); }
  void archive(Archive& archive) override { inner_->archive(archive); }

 private:
  std::unique_ptr<Algorithm> inner_;
};

TEST_F(Planning, ALedgerThatDoesNotCoverThePlanEndsWithoutAModel) {
  const std::string run = folder() + "/forgetful";
  const std::vector<std::string> settings{"method.name=dp-sgd", "method.steps=150", "report.progress=none",
                                          "run.dir=" + run};
  RunConfig config(folder() + "/run.ini", settings);
  config.method = std::make_unique<test::ChangedSettings>(
      std::move(config.method), [](auto inner) { return std::make_unique<Forgetful>(std::move(inner)); });
  try {
    train(Communicator::alone(), config, {.quiet = true});
    FAIL();
  } catch (const PrivacyError& e) {
    EXPECT_EQ(e.code(), ExitCode::privacy);
    EXPECT_NE(std::string(e.what()).find("does not cover the plan"), std::string::npos) << e.what();
  }
  EXPECT_TRUE(fs::exists(run + "/ledger.jsonl"));
  EXPECT_FALSE(fs::exists(run + "/model.safetensors"));
  EXPECT_FALSE(fs::exists(run + "/certificate.json"));
}

TEST(Attacker, TradeOffOfAGuarantee) {
  const Guarantee half{.epsilon = std::log(2.0), .delta = 0.01};
  EXPECT_NEAR(attacker_power(half, 0.1), 0.21, 1e-12);
  EXPECT_NEAR(attacker_power(half, 0.9), 1 - (1 - 0.9 - 0.01) / 2, 1e-12);
  EXPECT_NEAR(attacker_power(Guarantee{}, 0.25), 0.25, 1e-12);
  EXPECT_EQ(attacker_power(Guarantee{.epsilon = HUGE_VAL, .delta = 0.5}, 0.001), 1);
}

// A curve says more than its point at a tiny delta.
TEST(Attacker, TableOfAGaussian) {
  const std::vector<Event> events{{Gaussian{1}, 1}};
  const Guarantee g = epsilon_guarantee(events, Adjacency::add_remove, 1e-6, "best");
  const auto table = attacker_table(events, Adjacency::add_remove, g);
  ASSERT_EQ(table.size(), 3u);
  // Phi(Phi^-1(rate) + 1)
  EXPECT_NEAR(table[0].second, 0.0183, 1e-4);
  EXPECT_NEAR(table[1].second, 0.0924, 1e-4);
  EXPECT_NEAR(table[2].second, 0.3891, 1e-4);
}

TEST(Cost, AlphaBetaModel) {
  const StepCost cost{.records = 1000, .flops = 4e9, .noise_values = 1e6, .up = 4000008, .down = 4000004};
  const Machine machine{
      .latency = 1e-5, .inverse_bandwidth = 1e-9, .flops = 1e11, .record_seconds = 1e-6, .noise_seconds = 1e-8};
  EXPECT_NEAR(predict(cost, machine, 1).step(), 0.04 + 0.01, 1e-12);
  EXPECT_NEAR(predict(cost, machine, 4).compute, 0.05 / 4, 1e-12);
  EXPECT_NEAR(predict(cost, machine, 4).communication, 2 * (2e-5 + 8000012e-9), 1e-12);
  EXPECT_NEAR(predict(cost, machine, 64).compute, 0.01, 1e-12);  // the noise alone
  EXPECT_NEAR(time_shares(cost, machine, 16).root, 0.01 / (0.04 / 16), 1e-12);
  EXPECT_EQ(time_shares(cost, machine, 16).afterwards, 0);
}

// The same noise, drawn by all ranks together: no rank waits for the root.
TEST(Cost, NoiseBySlices) {
  const StepCost cost{.records = 1000, .flops = 4e9, .sliced_values = 1e6};
  const Machine machine{
      .latency = 0, .inverse_bandwidth = 0, .flops = 1e11, .record_seconds = 1e-6, .noise_seconds = 1e-8};
  EXPECT_NEAR(predict(cost, machine, 1).step(), 0.04 + 0.01, 1e-12);
  EXPECT_NEAR(predict(cost, machine, 64).step(), 0.05 / 64, 1e-12);
  const ClusterPrediction p = predict_cluster(cost, machine, {}, 16, 4);
  EXPECT_NEAR(p.kernels, 0.05 / 64, 1e-12);
  EXPECT_EQ(p.root, 0);
  EXPECT_EQ(time_shares(cost, machine, 16).root, 0);
}

// The root solves for 0.1 s while records are evaluated for 0.2 s, and a product takes 0.4 s afterwards.
TEST(Cost, RootsWorkAndWhatWaitsForIt) {
  const StepCost cost{.records = 1, .flops = 2e10, .root_flops = 1e9, .after_flops = 4e9};
  const Machine machine{.latency = 0, .inverse_bandwidth = 0, .flops = 1e11, .root_flops = 1e10};
  EXPECT_NEAR(predict(cost, machine, 1).step(), 0.7, 1e-12);
  EXPECT_NEAR(predict(cost, machine, 2).step(), 0.35, 1e-12);
  EXPECT_NEAR(predict(cost, machine, 100).step(), 0.104, 1e-12);
  EXPECT_NEAR(time_shares(cost, machine, 16).root, 8, 1e-12);
  EXPECT_NEAR(time_shares(cost, machine, 16).afterwards, 2, 1e-12);
}

TEST(Cost, TreesInsideNodesAndBetweenThem) {
  const StepCost cost{.records = 1000, .flops = 4e9, .noise_values = 1e6, .up = 4000008, .down = 4000004};
  const Machine machine{
      .latency = 1e-6, .inverse_bandwidth = 1e-10, .flops = 1e11, .record_seconds = 1e-6, .noise_seconds = 1e-8};
  const Network network{.latency = 1e-5, .inverse_bandwidth = 1e-9};
  const ClusterPrediction one = predict_cluster(cost, machine, network, 1, 4);
  EXPECT_NEAR(one.step(), predict(cost, machine, 4).step(), 1e-12);  // a node is a machine
  EXPECT_NEAR(one.kernels, 0.01, 1e-12);
  EXPECT_NEAR(one.root, 0.0025, 1e-12);
  const ClusterPrediction p = predict_cluster(cost, machine, network, 8, 4);
  EXPECT_EQ(p.ranks(), 32);
  EXPECT_NEAR(p.kernels, 0.04 / 32, 1e-12);
  EXPECT_NEAR(p.root, 0.01 - 0.04 / 32, 1e-12);  // the noise alone, which the others wait for
  EXPECT_NEAR(p.sum, 2 * (1e-6 + 4000008e-10) + 3 * (1e-5 + 4000008e-9), 1e-12);
  EXPECT_NEAR(p.broadcast, 2 * (1e-6 + 4000004e-10) + 3 * (1e-5 + 4000004e-9), 1e-12);
}

TEST(Cost, TheQuickestRanksOfANode) {
  const Machine machine{.latency = 1e-6, .inverse_bandwidth = 1e-10, .flops = 1e11, .record_seconds = 1e-6};
  const StepCost long_step{.records = 1e6, .up = 8, .down = 8};
  EXPECT_EQ(best_on_nodes(long_step, machine, {}, 4, 48, 1024)->ranks_of_node, 48);
  EXPECT_EQ(best_on_nodes(long_step, machine, {}, 4, 48, 64)->ranks_of_node, 16);  // no more ranks than blocks
  const StepCost short_step{.records = 1, .up = 8, .down = 8};
  EXPECT_EQ(best_on_nodes(short_step, machine, {}, 4, 48, 1024)->ranks_of_node, 1);
  EXPECT_FALSE(best_on_nodes(long_step, machine, {}, 65, 48, 64));
}

TEST(Cost, RatesOfNetworks) {
  EXPECT_DOUBLE_EQ(inverse_bandwidth_of("100G", "--network"), 8e-11);
  EXPECT_DOUBLE_EQ(inverse_bandwidth_of("2.5M", "--network"), 3.2e-6);
  for (const char* bad : {"", "G", "100", "100Gb", "-1G", "0G", "infG", "nanM"})
    EXPECT_THROW(inverse_bandwidth_of(bad, "--network"), ConfigError) << bad;
}

}  // namespace
}  // namespace dpmpi::plan_test
