// Settings that a config leaves to the program: numbers from what is public, the same on any number of ranks, and
// from the run directory on as if the user had given them.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/cli_folder.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

namespace dpmpi::suggest_test {
namespace {

namespace fs = std::filesystem;
using test::Cli;
using test::contains;
using test::Outcome;

constexpr const char* open_method =
    "[method]\nbatch = auto\nepochs = auto\nclip = auto\nrate = auto\nmomentum = auto\nschedule = auto\n";

/// A config for a table of the folder; returns its path.
std::string config_for(const std::string& folder, const std::string& table, const std::string& method) {
  std::string path = folder + "/" + table + "-auto.ini";
  std::ofstream(path) << "[data]\ntrain = " << table
                      << ".csv\nblocks = 4\nheader = yes\nlabel = label\n[privacy]\nepsilon = 2\ndelta = 1e-5\n"
                         "seed = 7\n"
                      << method;
  return path;
}

/// The lines behind "[method]" up to an empty one.
std::string method_lines(const std::string& text) {
  const auto begin = text.find("[method]\n");
  return begin == text.npos ? "" : text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST_F(Cli, SuggestedLinesCanBePastedAndAreWhatAutoTakes) {
  const std::string path = config_for(folder(), "t", open_method);
  const Outcome suggested = dpmpi("suggest " + path);
  ASSERT_EQ(suggested.code, 0) << suggested.output;
  for (const char* part : {"why", "twice the records", "costs no budget", "dpmpi tune"})
    EXPECT_TRUE(contains(suggested.output, part)) << part << "\n" << suggested.output;
  const std::string pasted = config_for(folder(), "t", method_lines(suggested.output) + "\n");
  const Outcome by_hand = dpmpi("plan --json --config " + pasted);
  config_for(folder(), "t", open_method);
  const Outcome automatic = dpmpi("plan --json --config " + path + " 2>/dev/null");
  EXPECT_EQ(by_hand.code, 0) << by_hand.output;
  EXPECT_EQ(by_hand.output, automatic.output);
  EXPECT_FALSE(contains(automatic.output, "auto"));
}

// Other records of the same shape: nothing but the names of files may differ.
TEST_F(Cli, SuggestionsDependOnPublicNumbersOnly) {
  ASSERT_EQ(dpmpi("generate --seed 9 --output " + folder() + "/u.csv --records 2000 --eval-records 0").code, 0);
  ASSERT_NE(read_file(folder() + "/u.csv"), read_file(folder() + "/t.csv"));
  const Outcome one = dpmpi("suggest " + config_for(folder(), "t", open_method));
  const Outcome other = dpmpi("suggest " + config_for(folder(), "u", open_method));
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.output, other.output);
}

TEST_F(Cli, AutomaticSettingsAreTheSameOnOneTwoAndThreeRanksAndAreNumbersInTheRun) {
  const std::string path = config_for(folder(), "t", open_method);
  std::string first, model;
  for (const int ranks : {1, 2, 3}) {
    const std::string run = fmt::format("{}/auto-{}", folder(), ranks);
    fs::remove_all(run);
    const Outcome outcome = test::run_command(
        fmt::format("mpirun -n {} {} --config {} --set run.dir={}", ranks, test::program(), path, run));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "auto: method.batch=")) << outcome.output;
    const std::string method = method_lines(read_file(run + "/config.ini"));
    EXPECT_FALSE(contains(method, "auto")) << method;
    if (first.empty()) first = method, model = parameters_digest(run + "/model.safetensors");
    EXPECT_EQ(method, first) << ranks;
    EXPECT_EQ(parameters_digest(run + "/model.safetensors"), model) << ranks;
  }
  const Outcome verified = dpmpi("verify " + folder() + "/auto-2");
  EXPECT_EQ(verified.code, 0) << verified.output;
}

TEST_F(Cli, WhatCannotBeAutomaticIsRefusedWithTheNamesOfWhatCan) {
  const auto refused = [&](const std::string& method, const std::string& part) {
    for (const char* command : {"plan --config ", "suggest "}) {
      const Outcome outcome = dpmpi(command + config_for(folder(), "t", method));
      EXPECT_EQ(outcome.code, 2) << method << outcome.output;
      EXPECT_TRUE(contains(outcome.output, part)) << method << outcome.output;
    }
  };
  refused("[method]\nname = dp-ftrl\nrate = auto\n",
          "method.rate = auto is not allowed with method.name = dp-ftrl: dp-sgd finds method.batch, method.epochs, "
          "method.clip, method.rate, method.momentum, method.schedule by itself");
  refused("[method]\nrate = auto\noptimizer = adam\n", "method.rate = auto needs method.optimizer = sgd");
  refused("[method]\nepochs = auto\nsteps = 5\n", "needs method.epochs in place of method.steps");
  refused("[method]\nrate = auto\nfinal_rate = 0.2\n", "needs method.final_rate = 0");
  refused("[method]\nrate = auto\nclip_quantile = 0.9\n", "needs method.clip_quantile = 0");
  refused("[method]\nbeta1 = auto\n", "method.beta1 = auto is not allowed");
  refused("[method]\nname = zo-hidden\nrate = auto\n", "method.rate = auto needs method.release = all");
  refused("[method]\nname = zo-hidden\nrelease = all\nrate = auto\n[objective]\nname = mlp\n",
          "method.rate = auto needs an objective other than mlp");
}

// A table that cannot be read is refused with all that is wrong, as without `auto`.
TEST_F(Cli, AutomaticSettingsHideNoOtherProblem) {
  const std::string path = config_for(folder(), "absent", open_method);
  const Outcome outcome = dpmpi("check " + path + " --set data.eval=gone.csv");
  EXPECT_NE(outcome.code, 0);
  for (const char* part : {"absent.csv", "gone.csv"}) EXPECT_TRUE(contains(outcome.output, part)) << outcome.output;
}

TEST_F(Cli, EveryMethodWithARuleSuggestsItsOwnSettings) {
  const std::string differences = "[method]\nname = zo-hidden\nrelease = all\nsampling = poisson\n";
  const Outcome outcome = dpmpi("suggest " + config_for(folder(), "t", differences));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part : {"| directions |", "name = zo-hidden", "directions = ", "steps = ", "twice the records"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "momentum")) << outcome.output;
  const Outcome network =
      dpmpi("suggest " + config_for(folder(), "t", "[objective]\nname = mlp\nhead = logistic\nhidden = 4\n"));
  EXPECT_EQ(network.code, 0) << network.output;
  EXPECT_TRUE(contains(network.output, "a tenth of the length of a record")) << network.output;
}

TEST_F(Cli, SettingsThatAreGivenStayBesideAutomaticOnes) {
  const std::string path =
      config_for(folder(), "t", "[method]\nbatch = 100\nepochs = 3\nclip = auto\nrate = auto\n");
  const Outcome outcome = dpmpi("suggest " + path);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.output, "| batch      | 100          | stays")) << outcome.output;
  const std::string lines = method_lines(outcome.output);
  EXPECT_TRUE(contains(lines, "rate = ") && contains(lines, "clip = ") && !contains(lines, "batch = ")) << lines;
}

}  // namespace
}  // namespace dpmpi::suggest_test
