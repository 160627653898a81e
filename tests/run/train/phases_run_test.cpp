// Whole runs whose state is not noised between releases: what they leave on disk, and kills within a phase.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/console/progress.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::phases_run_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

class PhasesRun : public test::RunFolder {
 protected:
  void configure(const std::string& method, const std::string& budget = "noise_multiplier = 1") const {
    std::ofstream(config_) << "[run]\ncheckpoint_every = 1\n[data]\nblocks = 4\ntrain = " << folder_
                           << "/train.csv\neval = " << folder_ << "/train-eval.csv\n[method]\n"
                           << method << "[privacy]\n"
                           << budget << "\ndelta = 1e-4\nseed = 5\ntrust = cluster\n";
  }
  std::string fresh(const std::string& run) const { return config_ + " run.dir=" + run; }

  /// Everything in a run directory but what a process writes about itself: who holds it, and when it began to load.
  static std::map<std::string, std::string> content(const std::string& run) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(run))
      if (entry.is_regular_file() && entry.path().filename() != "lock" && entry.path().filename() != "timing.jsonl")
        files[entry.path().string()] = read_file(entry.path().string());
    return files;
  }
};

constexpr const char* batches = "name = ht-glm\nbatch = 8\nphases = 3\n";
constexpr const char* solver = "name = ht-known-lipschitz\nphases = 2\nclip = 1\ncertificate = 0.01\n";

constexpr const char* guarded_batches =
    "name = ht-smooth\nbatch = 8\nmode = guarded\nrate = 1e-4\nclip = 1\nhits = 20\nphases = 3\n"
    "[objective]\nname = mean\n";
constexpr const char* guarded =
    "name = ht-smooth\nmode = guarded\nrate = 1e-4\nclip = 1\nhits = 20\nphases = 3\n[objective]\nname = mean\n";

// T3: however far a phase got before it was killed, what stands on disk is what stood there when it began.
TEST_F(PhasesRun, NothingOfAPhaseIsOnDisk) {
  for (const std::string method : {batches, solver, guarded_batches}) {
    SCOPED_TRACE(method);
    configure(method);
    fs::remove_all(run_);
    const auto first_phase = alone("release@0#1=kill", fresh(run_));
    ASSERT_NE(first_phase.code, 0);
    ASSERT_NE(alone("phase@0#1=kill", run_).code, 0);
    const auto early = content(run_);
    ASSERT_NE(alone("phase@0#4=kill", run_).code, 0);
    EXPECT_EQ(content(run_), early);
    EXPECT_GE(early.size(), 5u) << "config, plan, ledger, key and checkpoints are looked at";
  }
}

constexpr const char* repeated = "name = random-stopping\ngamma = 0.02\n";
constexpr const char* tuned =
    "batch = 50\nsteps = 3\n[tune]\ngamma = 0.1\nsearch = method.rate=0.1,1 method.clip=0.5,1\n";

// random-stopping and trainings that are tuned: runs that were not selected, and how many there were, are on no
// disk and in no message, wherever the step is killed; and a killed step is begun again, on any number of ranks.
TEST_F(PhasesRun, NothingOfRepeatedRunsIsOnDisk) {
  for (const std::string method : {repeated, tuned}) {
    SCOPED_TRACE(method);
    configure(method);
    const std::string whole = folder_ + "/whole";
    fs::remove_all(whole);
    fs::remove_all(run_);
    const Outcome outcome = launch(2, "none", fresh(whole));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    for (const char* time : {"steps/s", " left", "done in"})
      EXPECT_FALSE(contains(outcome, time)) << outcome.output;
    const std::string times = read_file(whole + "/timing.jsonl");
    EXPECT_EQ(std::count(times.begin(), times.end(), '\n'), 1) << times;
    EXPECT_NE(read_file(whole + "/plan.json").find("\"secret_times\": true"), std::string::npos)
        << "dpmpi watch reads it";
    ASSERT_NE(alone("reduce@0#1=kill", fresh(run_)).code, 0);
    const auto early = content(run_);
    ASSERT_NE(alone("reduce@0#7=kill", run_).code, 0);
    EXPECT_EQ(content(run_), early);
    ASSERT_NE(alone("release@0#1=kill", run_).code, 0);
    EXPECT_EQ(content(run_), early);
    EXPECT_EQ(launch_when_free(4, "none", run_).code, 0);
    for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
      EXPECT_EQ(read_file(whole + "/" + name), read_file(run_ + "/" + name)) << name;
  }
}

// How long a phase takes depends on the records (the solver's iterations do).
TEST_F(PhasesRun, TellNoTimes) {
  configure(solver);
  const Outcome outcome =
      test::run_command(test::program() + " --log-level debug --config " + config_ + " --set run.dir=" + run_);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "debug: rank 0: step 2: evaluation\n")) << outcome.output;
  for (const char* time : {"steps/s", "done in", "evaluation in", "checkpoint in", "kernels"})
    EXPECT_FALSE(contains(outcome, time)) << outcome.output;
  const std::string times = read_file(run_ + "/timing.jsonl");
  EXPECT_EQ(std::count(times.begin(), times.end(), '\n'), 1) << times;
  EXPECT_NE(times.find(R"("phase":"load")"), times.npos);
  for (const auto& entry : fs::recursive_directory_iterator(run_))
    EXPECT_EQ(fs::last_write_time(entry.path()), fs::last_write_time(run_ + "/plan.json")) << entry.path();

  // A kill after the certificate was written leaves the times of what follows to whoever looks next.
  for (const std::string& next : {" resume " + run_, " --config " + config_ + " --set run.dir=" + run_}) {
    for (const char* late : {"/certificate.json", "/timing.jsonl"})
      fs::last_write_time(run_ + late, fs::file_time_type::clock::now());
    EXPECT_EQ(test::run_command(test::program() + next).code, 2);
    for (const auto& entry : fs::recursive_directory_iterator(run_))
      EXPECT_EQ(fs::last_write_time(entry.path()), fs::last_write_time(run_ + "/plan.json"))
          << entry.path() << next;
  }
}

TEST_F(PhasesRun, TellNoTimesWhileTheyRun) {
  configure(solver);
  show_progress("lines");
  show_progress_after(0);
  ::testing::internal::CaptureStderr();
  const ExitCode end = train(Communicator::alone(), RunConfig(config_, {"run.dir=" + run_}));
  show_progress("none");
  show_progress_after(1);
  const std::string text = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(end, ExitCode::done) << text;
  const std::size_t at = text.find("training  2/2 steps (100 %)");
  ASSERT_NE(at, text.npos) << text;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_TRUE(line.starts_with("training  2/2 steps (100 %)  epsilon ")) << line;
  EXPECT_EQ(line.find(" left"), line.npos) << line;
}

// The budget of a guarded run is found from epsilon: plan, ledger and certificate agree on one zcdp event.
TEST_F(PhasesRun, GuardedRunsKeepTheirEpsilon) {
  configure(guarded, "epsilon = 2\nadjacency = replace_one");
  const Outcome outcome = alone("none", fresh(run_) + " method.rate=1e-5");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto plan = nlohmann::json::parse(read_file(run_ + "/plan.json"));
  EXPECT_LE(plan["epsilon"].get<double>(), 2);
  EXPECT_GT(plan["epsilon"].get<double>(), 2 - 1e-5);
  EXPECT_EQ(plan["method"]["mode"], "guarded");
  EXPECT_EQ(plan["events"][0]["event"], "zcdp");
  EXPECT_GT(plan["events"][0]["rho"].get<double>(), plan["method"]["rho"].get<double>());
  EXPECT_NE(read_file(run_ + "/ledger.jsonl").find(R"("event":"zcdp","rho":)"), std::string::npos);
  for (const auto& item : verify_run(run_))
    EXPECT_TRUE(item.state == VerifiedItem::State::good || item.state == VerifiedItem::State::unchecked)
        << item.place << item.detail;
}

// Every rank sees the state of a phase.
TEST_F(PhasesRun, NeedTrustInEveryRank) {
  configure(batches);
  const Outcome refused = launch(2, "none", fresh(run_) + " privacy.trust=root");
  EXPECT_EQ(refused.code, 4) << refused.output;
  EXPECT_TRUE(contains(refused, "privacy.trust = cluster")) << refused.output;
  EXPECT_FALSE(fs::exists(run_));
  EXPECT_EQ(alone("none", fresh(run_) + " privacy.trust=root").code, 0);
}

}  // namespace
}  // namespace dpmpi::phases_run_test
