// What goes wrong around a run: stop requests, full disks, changed files, hanging ranks, copies, second processes.
// Each time: one clear message, the right exit code, and a run that can go on where that is safe.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "privacy/events/ledger.hpp"
#include "run/directory/files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::survival_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::run_command;

class Stop : public test::RunFolder {};
class Disk : public test::RunFolder {};
class Refusal : public test::RunFolder {};
class Hang : public test::RunFolder {};
class Lock : public test::RunFolder {};

// --- stop requests
// ---------------------------------------------------------------------------------------------------

TEST_F(Stop, EverySignalOnAnyRankStopsWithACheckpointAndTheCommandToGoOn) {
  ASSERT_EQ(launch(2, "none", fmt::format("{} privacy.seed=1 run.dir={}/whole", config_, folder_)).code, 0);
  Outcome outcome = launch(3, "step@2#41=usr1", config_ + " privacy.seed=1");
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(
      outcome, "stopped after step 41 of 240 with a checkpoint (a signal); go on with: dpmpi resume " + run_))
      << outcome.output;
  outcome = launch(2, "step@0#10=term", run_);
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(outcome, "stopped after step 51 of 240")) << outcome.output;
  outcome = launch(3, "none", run_ + " run.max_hours=1e-12");
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(outcome, "stopped after step 52 of 240 with a checkpoint (run.max_hours)"))
      << outcome.output;
  ASSERT_EQ(launch(1, "none", run_).code, 0);
  for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
    EXPECT_EQ(read_file(folder_ + "/whole/" + name), read_file(run_ + "/" + name)) << name;
}

TEST_F(Stop, TheStopFile) {
  const std::string file = folder_ + "/stop", settings = " run.stop_file=" + file;
  Outcome outcome =
      launch(2, fmt::format("reduce@1#1=touch={}", file), config_ + settings + " method.steps=2000000");
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(outcome, fmt::format("(run.stop_file: remove {} first)", file))) << outcome.output;
  EXPECT_LT(outcome.seconds, 20);
  outcome = launch(2, "none", run_);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "is there: remove it")) << outcome.output;
}

// The first signal asks; the second, some seconds later, does not wait for the step in which the rank is stuck.
TEST_F(Stop, TheSecondSignalLeavesAtOnce) {
  const Outcome outcome = launch(2, "step@1#41=usr1usr1", config_);
  EXPECT_EQ(outcome.code, 128 + SIGUSR1) << outcome.output;
  EXPECT_EQ(launch(2, "none", run_).code, 0);
}

// --- the disk
// --------------------------------------------------------------------------------------------------------

// Whatever operation fails on whatever file: exit code 3, the file named, and the same bytes once there is room
// again.
TEST_F(Disk, EveryFailedOperationIsNamedAndTheRunGoesOnLater) {
  const std::string seeded = config_ + " privacy.seed=1";
  ASSERT_EQ(alone("none", fmt::format("{} run.dir={}/whole", seeded, folder_)).code, 0);
  const std::pair<const char*, const char*> faults[] = {
      {"write:ledger.jsonl@0#2=ENOSPC", "ledger.jsonl: No space left on device; make room there"},
      {"fsync:ledger.jsonl@0#2=EIO", "ledger.jsonl: Input/output error; the disk or its server"},
      {"write:metrics@0#3=ENOSPC", "metrics.jsonl: No space left"},
      {"fsync:metrics@0#2=EIO", "metrics.jsonl: Input/output error"},
      {"write:timing@0#3=ENOSPC", "timing.jsonl: No space left"},
      {"open:next.new@0#3=EROFS", "next.new: Read-only file system; the folder must be writable"},
      {"write:next.new@0#5=ENOSPC", "next.new: No space left"},  // three writes a checkpoint: head, body, seal
      {"write:next.new@0#6=EIO", "next.new: Input/output error"},
      {"fsync:next.new@0#3=EIO", "next.new: Input/output error"},
      {"rename:latest@0#3=ENOSPC", "latest: No space left"},
      {"rename:previous@0#2=EIO", "previous: Input/output error"},
      {"write:model@0#1=ENOSPC", "model.safetensors.new: No space left"},
      {"rename:certificate@0#1=EROFS", "certificate.json: Read-only file system"},
  };
  for (const auto& [fault, message] : faults) {
    fs::remove_all(run_);
    const Outcome outcome = alone(fault, seeded);
    EXPECT_EQ(outcome.code, 3) << fault << "\n" << outcome.output;
    EXPECT_TRUE(contains(outcome, message)) << fault << "\n" << outcome.output;
    EXPECT_FALSE(fs::exists(run_ + "/certificate.json")) << fault;
    ASSERT_EQ(alone("none", run_).code, 0) << fault;
    for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
      EXPECT_EQ(read_file(folder_ + "/whole/" + name), read_file(run_ + "/" + name)) << fault << " " << name;
  }
}

TEST_F(Disk, ARunThatCouldNotBeginBeginsAgain) {
  for (const char* fault : {"write:ledger.jsonl@0#1=ENOSPC", "write:plan.json@0#1=ENOSPC", "write:key@0#1=ENOSPC",
                            "rename:checkpoint/latest@0#1=ENOSPC"}) {
    EXPECT_EQ(alone(fault, config_).code, 3) << fault;
    const Outcome resumed = alone("none", run_);
    EXPECT_EQ(resumed.code, 2) << fault << resumed.output;
    EXPECT_EQ(alone("none", config_).code, 0) << fault;
    fs::remove_all(run_);
  }
}

TEST_F(Disk, ADataFileThatChangesWhileItIsRead) {
  const Outcome outcome = launch(2, fmt::format("load@0#1=touch={}/train.csv", folder_), config_);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome, "train.csv was changed while it was read")) << outcome.output;
  EXPECT_FALSE(fs::exists(run_ + "/ledger.jsonl"));
}

// Lines that go to a file that nobody finds any more are lost: no release without its line, no model without its
// ledger.
TEST_F(Disk, AFileThatIsReplacedWhileTheRunWritesToIt) {
  const std::string seeded = config_ + " privacy.seed=1";
  ASSERT_EQ(alone("none", fmt::format("{} run.dir={}/whole", seeded, folder_)).code, 0);
  for (const auto& [step, name] :
       {std::pair{50, "ledger.jsonl"}, {235, "ledger.jsonl"}, {50, "metrics.jsonl"}, {235, "metrics.jsonl"}}) {
    fs::remove_all(run_);
    Outcome outcome = alone(fmt::format("step@0#{}=replace={}/{}", step, run_, name), seeded);
    EXPECT_EQ(outcome.code, 3) << step << name << outcome.output;
    EXPECT_TRUE(contains(outcome, fmt::format("{} was removed, moved or replaced", name))) << outcome.output;
    EXPECT_FALSE(fs::exists(run_ + "/model.safetensors")) << step << name;
    // A replaced ledger looks like a copied run, and may be accepted as one.
    EXPECT_EQ(alone("none", run_ + " run.moved=true").code, 0) << step << name;
    for (const char* file : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
      EXPECT_EQ(read_file(folder_ + "/whole/" + file), read_file(run_ + "/" + file)) << step << name << file;
  }
}

// The system's answer is a signal, which would end the process without a word.
TEST_F(Disk, AFileSizeLimitIsAFullDisk) {
  const Outcome outcome = alone("step@0#50=small", config_);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome, "a file-size limit (ulimit -f) is in the way")) << outcome.output;
  EXPECT_EQ(alone("none", run_).code, 0);
}

TEST_F(Disk, AFullLogDoesNotEndTheRun) {
  const Outcome outcome = run_command(fmt::format("{} --config {} 2>/dev/full", test::program(), config_), 60);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(fs::exists(run_ + "/certificate.json"));
}

TEST_F(Disk, APathThatTheSystemRefusesIsNoInternalError) {
  const std::string path = folder_ + "/" + std::string(300, 'x');
  const Outcome outcome =
      run_command(fmt::format("{} --config {} --set run.dir={}", test::program(), config_, path), 60);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "File name too long")) << outcome.output;
  const Outcome resumed = run_command(fmt::format("{} resume {}", test::program(), path), 60);
  EXPECT_EQ(resumed.code, 2) << resumed.output;
  EXPECT_TRUE(contains(resumed, "File name too long")) << resumed.output;
}

TEST_F(Disk, ALostMetricsFileIsNotFilledWithZeros) {
  ASSERT_EQ(alone("step@0#100=kill", config_).code, 137);
  fs::resize_file(run_ + "/metrics.jsonl", 3);
  const Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome, "metrics.jsonl is shorter (3 bytes)")) << outcome.output;
}

// --- rollback, copies, keys
// ------------------------------------------------------------------------------------------

TEST_F(Refusal, OtherSettingsAreShownAsADifference) {
  ASSERT_EQ(alone("step@0#100=usr1", config_).code, 6);
  const Outcome outcome =
      alone("none", run_ + " method.momentum=0.25 method.rate=0.5 data.bias=2 report.eval_every=3");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "method.momentum: it was 0.5, now 0.25")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "method.rate: it was not set, now 0.5")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "data.bias: it was 1, now 2")) << outcome.output;
  EXPECT_FALSE(contains(outcome, "eval_every")) << outcome.output;
}

// The checkpoint of a later step with the ledger of an earlier one.
TEST_F(Refusal, ARolledBackLedger) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const std::string early = read_file(run_ + "/ledger.jsonl");
  ASSERT_EQ(alone("step@0#100=usr1", run_).code, 6);
  std::ofstream(run_ + "/ledger.jsonl") << early;
  const Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "it has 2 lines, and had 3")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "Put back the newer ledger")) << outcome.output;
}

TEST_F(Refusal, AnotherPlan) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const std::string plan = read_file(run_ + "/plan.json");
  std::ofstream(run_ + "/plan.json") << "{\"epsilon\":0.01}\n";
  const Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "plan.json is not the plan that the run began with")) << outcome.output;
  std::ofstream(run_ + "/plan.json") << plan;
  EXPECT_EQ(alone("none", run_).code, 0) << "put back";
}

TEST_F(Refusal, ACopyOfTheRunDirectory) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  fs::copy(run_, folder_ + "/copy", fs::copy_options::recursive);
  Outcome outcome = alone("none", folder_ + "/copy");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "is a copy of a run directory")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "--set run.moved=true")) << outcome.output;
  fs::rename(run_, folder_ + "/renamed");
  EXPECT_EQ(alone("none", folder_ + "/renamed").code, 0) << "a rename is no copy";
}

TEST_F(Refusal, ACheckpointOfAnotherRun) {
  for (const char* name : {"/run", "/other"})
    ASSERT_EQ(alone("step@0#50=usr1", fmt::format("{} run.dir={}{}", config_, folder_, name)).code, 6);
  for (const char* file : {"/checkpoint/latest", "/checkpoint/previous"})
    fs::copy_file(folder_ + "/other" + file, run_ + file, fs::copy_options::overwrite_existing);
  const Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "written under another key")) << outcome.output;
}

TEST_F(Refusal, AKeyThatOthersMayReadOrThatWasEdited) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const std::string key = run_ + "/checkpoint/key";
  fs::permissions(key, fs::perms(0640));
  Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "may be read by others (mode 0640)")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "chmod 600")) << outcome.output;
  fs::permissions(key, fs::perms(0600));
  std::string text = read_file(key);
  text[60] = text[60] == '0' ? '1' : '0';  // in the digest of the config
  std::ofstream(key, std::ios::binary) << text;
  outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "was edited")) << outcome.output;
}

TEST_F(Refusal, ADamagedCheckpointLeavesTheOneBefore) {
  ASSERT_EQ(alone("step@0#100=kill", config_).code, 137);
  fs::resize_file(run_ + "/checkpoint/latest", 200);
  EXPECT_EQ(alone("none", run_).code, 0);
}

// Resumed from `previous`, whose successor then must not push it out before it is in place itself.
TEST_F(Refusal, ADamagedCheckpointAndAKillBetweenTheRenames) {
  ASSERT_EQ(alone("step@0#100=kill", config_).code, 137);
  fs::resize_file(run_ + "/checkpoint/latest", 200);
  ASSERT_EQ(alone("renamed@0#1=kill", run_).code, 137);
  const Outcome outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

// Without FMA the C library's exp() rounds otherwise, and with it the losses' sums.
TEST_F(Refusal, OtherElementaryFunctions) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const Outcome outcome = run_command(
      fmt::format("GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 {} none {}", test::fault_program(), run_), 60);
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this processor has no other ones";
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome, "(functions ")) << outcome.output;
  EXPECT_EQ(alone("none", run_).code, 0);
}

// Some editors strip it. What is refused must be left as it is, so that it can be put right.
TEST_F(Refusal, ALedgerWithoutItsLastNewlineIsNotCutFurther) {
  ASSERT_EQ(alone("step@0#150=usr1", config_).code, 6);
  const std::string ledger = run_ + "/ledger.jsonl", whole = read_file(ledger);
  fs::resize_file(ledger, whole.size() - 1);
  EXPECT_EQ(alone("none", run_).code, 4);
  EXPECT_EQ(read_file(ledger), whole.substr(0, whole.size() - 1));
  std::ofstream(ledger, std::ios::app) << "\n";
  EXPECT_EQ(alone("none", run_).code, 0);
}

// --- hanging ranks
// ---------------------------------------------------------------------------------------------------

TEST_F(Hang, ARankThatHangsIsNamedWithItsPhase) {
  Outcome outcome = launch(3, "reduce@1#41=hang", config_ + " run.timeout_s=3");
  EXPECT_EQ(outcome.code, 5) << outcome.output;
  EXPECT_TRUE(contains(outcome, "dpmpi: rank 1 (process ")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "no progress for 3 s in step 40: it hangs in update")) << outcome.output;
  EXPECT_LT(outcome.seconds, 15);
  outcome = launch(3, "save@0#2=hang", run_ + " run.timeout_s=3");
  EXPECT_EQ(outcome.code, 5) << outcome.output;
  EXPECT_TRUE(contains(outcome, "rank 0 ")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "it hangs in the checkpoint")) << outcome.output;
  EXPECT_EQ(launch(2, "none", run_).code, 0);
}

TEST_F(Hang, AStoppedRankIsNamedByTheOthers) {
  const Outcome outcome = launch(3, "step@0#41=stop", config_ + " run.timeout_s=6");
  EXPECT_EQ(outcome.code, 5) << outcome.output;
  EXPECT_TRUE(contains(outcome, "dpmpi: rank 0 (process ")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "it is stopped or frozen")) << outcome.output;
  EXPECT_LT(outcome.seconds, 30);
}

// --- two processes on one directory
// ----------------------------------------------------------------------------------

TEST_F(Lock, TheSecondProcessIsRefusedByNameAndTheFirstGoesOn) {
  for (const char* filesystem : {"none", "lock@0#1=ENOLCK"}) {  // with flock and without
    fs::remove_all(run_);
    const std::string program = fmt::format("{} {}", test::fault_program(), filesystem);
    const std::string stop = run_ + ".stop";
    fs::remove(stop);
    const Outcome outcome = run_command(
        fmt::format("{0} {1} method.steps=100000000 run.stop_file={3} & "
                    "for i in $(seq 300); do [ -e {2}/checkpoint/latest ] && break; sleep 0.1; done; "
                    "{0} {2}; echo second $?; {0} {1}; echo third $?; touch {3}; wait %1; echo first $?",
                    program, config_, run_, stop));
    EXPECT_TRUE(contains(outcome, "is in use by process ")) << outcome.output;
    EXPECT_TRUE(contains(outcome, "second 2")) << outcome.output;
    EXPECT_TRUE(contains(outcome, "third 2")) << outcome.output;
    EXPECT_TRUE(contains(outcome, "first 6")) << outcome.output;
    EXPECT_FALSE(fs::exists(run_ + "/lock"));
  }
}

// kill -9 leaves the file behind. The kernel has released it; without flock its owner is seen to be gone.
TEST_F(Lock, AStaleLockIsRecognised) {
  for (const char* filesystem : {"none", "lock@0#1=ENOLCK"}) {
    fs::remove_all(run_);
    ASSERT_EQ(alone("step@0#50=kill", config_).code, 137);
    ASSERT_TRUE(fs::exists(run_ + "/lock"));
    EXPECT_EQ(alone(filesystem, run_).code, 0);
  }
  // On another machine nobody can tell: the message says what to do.
  fs::remove_all(run_);
  ASSERT_EQ(alone("step@0#50=kill", config_).code, 137);
  std::ofstream(run_ + "/lock") << "elsewhere boot 123 456\n";
  const Outcome outcome = alone("lock@0#1=ENOLCK", run_);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "in use by process 123 on elsewhere: if it no longer runs, remove"))
      << outcome.output;
}

}  // namespace
}  // namespace dpmpi::survival_test
