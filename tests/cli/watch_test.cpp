// `dpmpi watch`, and metrics for TensorBoard.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "run/directory/lock.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::watch_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::contains;
using test::Outcome;

class Watch : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Watch"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& words) {
    return test::run_command(fmt::format("cd {} && {} {}", folder(), test::program(), words));
  }
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 300 --eval-records 60 --features 4").code, 0);
    std::ofstream(path("a.ini"))
        << "[data]\ntrain = t.csv\neval = t-eval.csv\nblocks = 4\n[method]\nbatch = 50\nsteps = 40\n"
           "[privacy]\nepsilon = 3\ndelta = 1e-4\n";
    ASSERT_EQ(dpmpi("--quiet --config a.ini --set run.dir=done").code, 0);
    ASSERT_EQ(dpmpi("--quiet --config a.ini --set run.dir=left --set run.max_hours=1e-12").code, 6);
  }

  /// The finished run as if it were going on: without its end, with the first `lines` of its metrics.
  static void begin_again(const std::string& name, std::size_t lines) {
    fs::remove_all(path(name));
    fs::copy(path("done"), path(name));
    fs::remove(path(name + "/certificate.json"));
    const std::string all = read_file(path("done/metrics.jsonl"));
    std::size_t end = 0;
    for (std::size_t i = 0; i < lines; ++i) end = all.find('\n', end) + 1;
    write_file(path(name + "/metrics.jsonl"), all.substr(0, end));
  }
  static void append(const std::string& name, const std::string& text) {
    std::ofstream(path(name + "/metrics.jsonl"), std::ios::app) << text;
  }
};

TEST_F(Watch, AFinishedRunIsShownAndEnds) {
  const Outcome outcome = dpmpi("watch done");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part :
       {"done: 40 steps, epsilon ", ", delta 0.0001, add_remove\n", "step 0/40    0 %  epsilon 0  eval.loss ",
        "step 40/40  100 %  epsilon ", "finished: done/certificate.json\n"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "steps/s")) << "nobody saw how fast it was";
}

TEST_F(Watch, ARunThatNobodyWorksOnEndsWithSix) {
  const Outcome outcome = dpmpi("watch left");
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "go on with: dpmpi resume left\n")) << outcome.output;
  EXPECT_EQ(dpmpi("watch left --once").code, 0);
  std::string owner;
  {
    const RunLock lock(path("left"));
    owner = read_file(path("left/lock"));
  }
  owner.insert(owner.size() - 1, "7");  // of a process that began at another time
  write_file(path("left/lock"), owner);
  EXPECT_EQ(dpmpi("watch left").code, 6) << "whoever held the lock was killed";
  fs::remove(path("left/lock"));
  EXPECT_TRUE(contains(dpmpi("watch .").output, "is not a run directory"));
}

TEST_F(Watch, LinesAreShownAsTheyComeUntilTheEndWithTimesUnlessTheseAreSecret) {
  for (const bool secret : {false, true}) {
    begin_again("live", 1);
    if (secret) {
      std::string plan = read_file(path("live/plan.json"));
      write_file(path("live/plan.json"), plan.insert(plan.find('{') + 1, "\"secret_times\": true,"));
    }
    Outcome outcome;
    {
      std::optional<RunLock> lock(path("live"));
      std::thread watching([&] { outcome = dpmpi("watch live"); });
      std::this_thread::sleep_for(1000ms);
      append("live", "{\"step\":20,\"epsilon\":1.5,\"eval.loss\":0.25}\n{\"step\":30,\"eps");
      std::this_thread::sleep_for(1100ms);
      append("live", "ilon\":2.5}\n");
      write_file(path("live/certificate.json"), "{}");
      watching.join();
    }
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "step 20/40   50 %  epsilon 1.5  eval.loss 0.25")) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "step 30/40   75 %  epsilon 2.5")) << outcome.output;
    EXPECT_EQ(contains(outcome.output, " steps/s, ") && contains(outcome.output, " s left)"), !secret)
        << outcome.output;
  }
}

// A name in a file of somebody's may hold anything.
TEST_F(Watch, NoControlCharacterOfAFileReachesTheTerminal) {
  begin_again("odd", 1);
  append("odd", "{\"step\":7,\"eval.\\u001b[2J\":1,\"epsilon\":\"\\u001b[31m\"}\n");
  const Outcome outcome = dpmpi("watch odd --once");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "step 7/40 ")) << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "\x1b")) << outcome.output;
}

TEST_F(Watch, PrivateFilesAreNotRead) {
  fs::remove_all(path("public"));
  fs::copy(path("left"), path("public"), fs::copy_options::recursive);
  ASSERT_TRUE(fs::remove(path("public/timing.jsonl")));
  fs::remove_all(path("public/checkpoint"));
  EXPECT_EQ(dpmpi("watch public --once").output.substr(6), dpmpi("watch left --once").output.substr(4));
}

TEST_F(Watch, MetricsBecomeAnEventFileOfEveryNumber) {
  const std::string file = path("tb/a/events.out.tfevents.0.dpmpi");
  const Outcome outcome = dpmpi("export done --tensorboard tb/a");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const std::string events = read_file(file);
  for (const char* part : {"brain.Event:2", "epsilon", "eval/loss", "eval/accuracy", "constant/loss"})
    EXPECT_TRUE(contains(events, part)) << part;
  EXPECT_EQ(dpmpi("export done --tensorboard tb/a").code, 0) << "its own file is replaced";
  EXPECT_EQ(read_file(file), events);
  begin_again("live", 3);
  EXPECT_EQ(dpmpi("export live --tensorboard tb/b").code, 0) << "a run that goes on";
  const std::string so_far = read_file(path("tb/b/events.out.tfevents.0.dpmpi"));
  EXPECT_EQ(events.substr(0, so_far.size()), so_far);
  EXPECT_LT(so_far.size(), events.size());
}

TEST_F(Watch, RefusalsOfExportedMetrics) {
  fs::create_directories(path("taken"));
  write_file(path("taken/events.out.tfevents.0.dpmpi"), "somebody's");
  for (const auto& [words, part] :
       {std::pair{"export done --tensorboard taken", "is not of dpmpi"},
        {"export done --tensorboard tb --output m.onnx", "give one of them"},
        {"export done --tensorboard tb --data t.csv", "metrics are written as they are"},
        {"export t.csv --tensorboard tb", "is not a run directory"}}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 2) << words << outcome.output;
    EXPECT_TRUE(contains(outcome.output, part)) << words << outcome.output;
  }
  EXPECT_EQ(read_file(path("taken/events.out.tfevents.0.dpmpi")), "somebody's");
}

}  // namespace
}  // namespace dpmpi::watch_test
