// Runs whose iterates stay hidden, as a user sees them: nothing is shown before the release, and a stopped run
// releases nothing.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/console/progress.hpp"
#include "run/directory/files.hpp"
#include "run/train/train.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::last_iterate_run_test {
namespace {

namespace fs = std::filesystem;

class HiddenRun : public test::RunFolder {
 protected:
  void configure(const std::string& method, const std::string& privacy = "") {
    std::ofstream(config_) << fmt::format(
        "[run]\ndir = {0}/run\ncheckpoint_every = 7\n[data]\nblocks = 4\ntrain = {0}/train.csv\neval = "
        "{0}/train-eval.csv\n[method]\nname = zo-hidden\ndirections = 3\nsteps = 60\nwindow = 40\nshare = 0.5\n"
        "ball = 0.3\nfeature_bound = 1\n{1}\n[privacy]\nnoise_multiplier = 40\ndelta = 1e-4\n"
        "adjacency = replace_one\ntrust = cluster\n{2}\n[report]\neval_every = 5\nprogress = lines\n",
        folder_, method, privacy);
    fs::remove_all(run_);
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  nlohmann::json certificate() const { return nlohmann::json::parse(read_file(run_ + "/certificate.json")); }
};

TEST_F(HiddenRun, ShowsNothingBeforeTheRelease) {
  configure("");
  show_progress("lines");
  show_progress_after(0);
  ::testing::internal::CaptureStderr();
  const ExitCode end = train(Communicator::alone(), RunConfig(config_, {}));
  show_progress("none");
  show_progress_after(1);
  const std::string output = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(end, ExitCode::done) << output;
  const std::size_t begun = output.find("training  1/60 steps"), done = output.find("training  60/60 steps");
  ASSERT_TRUE(begun != output.npos && done != output.npos) << output;
  EXPECT_EQ(count(output.substr(0, done), " eval."), 0u) << output;
  EXPECT_GE(count(output, " eval.loss"), 1u) << output << "of the model, at the end";
  const std::string metrics = read_file(run_ + "/metrics.jsonl");
  EXPECT_EQ(count(metrics, "\n"), 2u) << metrics;
  for (const char* step : {R"({"step":0,)", R"({"step":60,)"}) EXPECT_EQ(count(metrics, step), 1u) << metrics;
  for (const char* word : {"train.loss", "clip_fraction", "norm", "crc", "hash"})
    EXPECT_EQ(count(output + metrics, word), 0u) << word;

  const auto c = certificate();
  EXPECT_EQ(count(c["released"].get<std::string>(), "the model alone"), 1u);
  EXPECT_EQ(c["trust"], "cluster");
  ASSERT_TRUE(c.contains("hidden_state"));
  const auto& bounds = c["hidden_state"]["epsilon"];
  EXPECT_EQ(c["epsilon"].get<double>() <= bounds["composition"].get<double>() * (1 + 1e-9), true) << c.dump(1);
  EXPECT_GE(c["assumptions"].size(), 5u);
  EXPECT_EQ(c["events"].size(), 1u);
}

TEST_F(HiddenRun, LedgersShowTheirReleasesOnly) {
  configure("release = 25");
  const auto outcome = alone("none", config_);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string metrics = read_file(run_ + "/metrics.jsonl");
  EXPECT_EQ(count(metrics, "\n"), 4u) << metrics;
  for (const char* step : {R"({"step":0,)", R"({"step":25,)", R"({"step":50,)", R"({"step":60,)"})
    EXPECT_EQ(count(metrics, step), 1u);
  EXPECT_EQ(certificate()["events"][0]["releases"], (std::vector{25, 50, 60}));
}

TEST_F(HiddenRun, AStoppedRunReleasesNothingAndIsChargedWhole) {
  configure("");
  const auto outcome = alone("step@0#31=usr1", config_);
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_EQ(count(outcome.output, "eval."), 0u) << outcome.output;
  EXPECT_FALSE(fs::exists(run_ + "/model.safetensors"));
  EXPECT_EQ(nlohmann::json::parse(read_file(run_ + "/metrics.jsonl"))["step"], 0) << "the public start point alone";
  EXPECT_EQ(count(read_file(run_ + "/ledger.jsonl"), R"("event":"hidden_state","steps":60)"), 1u);
  for (const auto& file : fs::directory_iterator(run_ + "/checkpoint"))
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file.path();
}

TEST_F(HiddenRun, RefusesWithWhatCompositionGives) {
  configure("", "");
  const auto outcome = alone("none", config_ + " method.direction_seed=5");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "HS-06")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "epsilon = ")) << outcome.output;
  EXPECT_FALSE(fs::exists(run_ + "/ledger.jsonl"));
}

}  // namespace
}  // namespace dpmpi::last_iterate_run_test
