// Whole gibo runs: what they show and leave on disk.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::gibo_run_test {
namespace {

/// The words of a log; times differ from run to run.
std::string without_times(const std::string& log) {
  std::istringstream words(log);
  std::string all, last, word;
  while (words >> word) {
    const std::string unit = word.substr(0, word.find_last_not_of(",;:") + 1);
    if (unit == "s" || unit == "ms" || unit == "min") last = "TIME";
    all += last + " ";
    last = word;
  }
  return all + last;
}

namespace fs = std::filesystem;
using test::Outcome;

class GiboRun : public test::RunFolder {
 protected:
  void configure(const std::string& method) const {
    std::ofstream(config_) << "[run]\ncheckpoint_every = 3\n[data]\nblocks = 4\nbias = 0\ntrain = " << folder_
                           << "/train.csv\neval = " << folder_
                           << "/train-eval.csv\n[method]\nname = gibo\nsteps = 10\n"
                           << method << "[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\nseed = 5\n"
                           << "adjacency = replace_one\n";
  }
};

// The certificate names the public file that models were trained on by its digest.
TEST_F(GiboRun, APublicFileThatChangesWhileItIsReadIsRefused) {
  fs::copy_file(folder_ + "/train-eval.csv", folder_ + "/public.csv", fs::copy_options::overwrite_existing);
  std::ofstream(config_) << fmt::format(
      "[data]\nblocks = 4\nbias = 0\nheader = yes\ntrain = {0}/train.csv\n[objective]\nname = tune_logistic\n"
      "train = {0}/public.csv\nridge = 0.01,1\n[method]\nname = gibo\nsteps = 1\nbatch = fixed\nb = 2\nclip = 1\nbox_lo = -1\n"
      "box_hi = 1\n[run]\ndir = {1}\n[privacy]\nnoise_multiplier = 10\ndelta = 1e-5\nadjacency = replace_one\n",
      folder_, run_);
  const Outcome outcome = launch(2, fmt::format("load@0#1=touch={}/public.csv", folder_), config_);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("public.csv was changed while it was read"), std::string::npos) << outcome.output;
  EXPECT_FALSE(fs::exists(run_ + "/ledger.jsonl"));
  EXPECT_EQ(launch(2, "none", config_).code, 3) << "the line that was added has one field";
  fs::copy_file(folder_ + "/train-eval.csv", folder_ + "/public.csv", fs::copy_options::overwrite_existing);
  EXPECT_EQ(launch(2, "none", config_).code, 0);
}

// T9: two files of records, one path of iterates (steps too small to be seen): whatever a user sees of the two runs
// is the same, byte for byte.
TEST_F(GiboRun, WhatIsSeenFollowsFromThePathAlone) {
  GenerateOptions options;
  options.records = 400, options.eval_records = 100, options.features = 5, options.seed = 99;
  options.output = folder_ + "/other.csv", options.eval_output = folder_ + "/other-eval.csv";
  generate(options);
  configure(
      "trace_tol = 1\nbox_lo = -0.05\nbox_hi = 0.05\neta = 1e-300\nmemory = window:8\n[report]\nprogress = none\n");
  std::string seen[2];
  for (const int other : {0, 1}) {
    const std::string run = folder_ + "/run";
    fs::remove_all(run);
    const std::string train = folder_ + (other ? "/other.csv" : "/train.csv");
    fs::copy_file(train, folder_ + "/records.csv", fs::copy_options::overwrite_existing);
    const Outcome outcome = alone("none", config_ + " run.dir=" + run + " data.train=" + folder_ + "/records.csv");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    seen[other] = without_times(outcome.output);
    for (const char* name : {"metrics.jsonl", "plan.json"}) seen[other] += read_file(run + "/" + name);
  }
  EXPECT_NE(read_file(folder_ + "/train.csv"), read_file(folder_ + "/other.csv"));
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_NE(seen[0].find("leave a trace of"), std::string::npos) << "the log has lines of the method:\n" << seen[0];
}

// A20: how many evaluations there were is told, and is the same after a kill.
TEST_F(GiboRun, EvaluationsAreCounted) {
  configure("batch = fixed\nb = 3\nmemory = window:7\n[report]\neval_every = 5\n");
  ASSERT_EQ(alone("none", config_ + " run.dir=" + run_).code, 0);
  const std::string metrics = read_file(run_ + "/metrics.jsonl");
  for (const char* count : {"\"method.evaluations\":15", "\"method.evaluations\":30"})
    EXPECT_NE(metrics.find(count), std::string::npos) << metrics;
}

// Refused with numbers, before records are read.
TEST_F(GiboRun, TablesThatDoNotFitAreRefusedEarly) {
  configure("batch = fixed\n");
  const Outcome outcome = launch(2, "load@any#1=kill", config_ + " method.steps=2000000000 run.dir=" + run_);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "losses of 400 records at up to")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "method.memory = window:K")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "GB are free")) << outcome.output;
  EXPECT_EQ(alone("none", config_ + " method.memory=window:20 run.dir=" + run_).code, 0);
}

// Plans say what is kept: for each of 400 records half as many numbers again as points, and 16.
TEST_F(GiboRun, PlansTellTheMemory) {
  configure("batch = fixed\nb = 3\nmemory = window:17\n");
  const Outcome outcome =
      test::run_command(fmt::format("{} plan --quiet --json --config {}", test::program(), config_));
  const auto memory = nlohmann::json::parse(outcome.output).at("memory");
  EXPECT_EQ(memory.at("ranks_bytes"), 400 * 8 * (1.5 * 20 + 16));
  EXPECT_EQ(memory.at("root_bytes"), 8 * 20 * (3 * 20 + 4 * 5));
}

// T24: a run that is stopped, perhaps because of what its iterates look like, has no certificate of a smaller
// epsilon, and what it had planned to spend is all that its plan says; finished, it has spent that.
TEST_F(GiboRun, StoppedRunsClaimNothingLess) {
  configure("batch = fixed\nb = 3\n");
  EXPECT_EQ(alone("step@0#2=term", config_ + " run.dir=" + run_).code, static_cast<int>(ExitCode::stopped));
  EXPECT_FALSE(fs::exists(run_ + "/certificate.json"));
  const auto planned = nlohmann::json::parse(read_file(run_ + "/plan.json"));
  EXPECT_EQ(alone("none", run_).code, 0);
  const auto certified = nlohmann::json::parse(read_file(run_ + "/certificate.json"));
  EXPECT_EQ(certified["events"], planned["events"]);
}

}  // namespace
}  // namespace dpmpi::gibo_run_test
