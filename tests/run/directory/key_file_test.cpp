// The noise key and its file: who may prepare one, who shares one, and what a process shows of it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "run/directory/files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::key_file_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::run_command;

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class Key : public test::RunFolder {
 protected:
  void SetUp() override {
    RunFolder::SetUp();
    fs::create_directories(run_ + "/checkpoint");
  }
  static bool holds_key(const std::string& path) {
    const std::string text = read_file(path);
    return text.starts_with("dpmpi key 1\n") && text.find_first_not_of('\0', 12) < 44;
  }
  // The run is refused, and goes on to its end once `file` is gone.
  void expect_refused(const std::string& file, const std::string& what) {
    Outcome outcome = alone("none", config_);
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_TRUE(contains(outcome, file + " " + what)) << outcome.output;
    EXPECT_FALSE(fs::exists(run_ + "/ledger.jsonl")) << "it began";
    fs::remove(file);
    outcome = alone("none", config_);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
  }

  const std::string key_ = run_ + "/checkpoint/key", prepared_ = key_ + ".new", other_ = folder_ + "/other";
};

// --- files that wait for the key

TEST_F(Key, IsNotWrittenToAFileThatOthersMayUse) {
  write(prepared_, "");
  fs::permissions(prepared_, fs::perms(0666));
  const std::ifstream open_before(prepared_);
  expect_refused(prepared_, "is there and may be used by others (mode 0666)");
}

TEST_F(Key, IsNotWrittenThroughALink) {
  write(other_, "not to be touched");
  fs::create_symlink(other_, prepared_);
  expect_refused(prepared_, "is there and is not a regular file");
  EXPECT_EQ(read_file(other_), "not to be touched");
}

TEST_F(Key, IsNotWrittenToAFileWithASecondName) {
  write(prepared_, "not to be touched");
  fs::permissions(prepared_, fs::perms(0600));
  fs::create_hard_link(prepared_, other_);
  expect_refused(prepared_, "is there and has 2 names");
  EXPECT_EQ(read_file(other_), "not to be touched");
}

TEST_F(Key, OfAKilledStartIsNoObstacle) {
  ASSERT_EQ(alone("write:key.new@0#1=kill", config_).code, 137);
  ASSERT_TRUE(fs::exists(prepared_));
  const Outcome outcome = alone("none", config_);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_FALSE(fs::exists(prepared_));
}

TEST_F(Key, StaysInAFolderOfTheRun) {
  fs::remove(run_ + "/checkpoint");
  fs::create_directory(other_);
  fs::create_directory_symlink(other_, run_ + "/checkpoint");
  expect_refused(run_ + "/checkpoint", "is a symbolic link");
  EXPECT_TRUE(fs::is_empty(other_));
}

TEST_F(Key, IsInAFolderThatOthersMayNotEnter) {
  fs::permissions(run_ + "/checkpoint", fs::perms(0777));
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  EXPECT_EQ(fs::status(run_ + "/checkpoint").permissions(), fs::perms::owner_all);
  fs::permissions(run_ + "/checkpoint", fs::perms(0755));
  ASSERT_EQ(alone("step@0#50=usr1", run_).code, 6);
  EXPECT_EQ(fs::status(run_ + "/checkpoint").permissions(), fs::perms::owner_all);
}

// The other secret files, checkpoints and times: what was prepared in their place gets no byte of them.
TEST_F(Key, NorDoesAnyOtherSecretGoToAFileThatWasPrepared) {
  write(other_, "not to be touched");
  fs::create_symlink(other_, run_ + "/checkpoint/next.new");
  write(run_ + "/timing.jsonl", "");
  fs::permissions(run_ + "/timing.jsonl", fs::perms(0666));
  std::ifstream held(run_ + "/timing.jsonl");
  const Outcome outcome = alone("none", config_);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(read_file(other_), "not to be touched");
  EXPECT_EQ(held.get(), std::ifstream::traits_type::eof()) << "who held the file sees the times";
  EXPECT_EQ(fs::status(run_ + "/timing.jsonl").permissions(), fs::perms(0600));
}

// --- hard-linked copies

TEST_F(Key, OfAHardLinkedCopyIsNotGoneOnWith) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const std::string copy = folder_ + "/copy";
  ASSERT_EQ(run_command(fmt::format("cp -al {} {}", run_, copy)).code, 0);
  for (const std::string& run : {run_, copy}) {
    const Outcome outcome = alone("none", run + " run.moved=true");
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_TRUE(contains(outcome, run + "/checkpoint/key has 2 names (hard links)")) << outcome.output;
    EXPECT_TRUE(contains(outcome, fmt::format("'cp -a {} NEW'", run))) << outcome.output;
    EXPECT_TRUE(holds_key(run + "/checkpoint/key"));
  }
  ASSERT_EQ(run_command(fmt::format("cp -a {} {}/new", copy, folder_)).code, 0);
  EXPECT_EQ(alone("none", folder_ + "/new run.moved=true").code, 0) << "the way out that the message names";
  fs::remove_all(copy);
  EXPECT_EQ(alone("none", run_).code, 0) << "the other way out";
  expect_same_bytes(run_, folder_ + "/new");
}

// A copy that was made while the run was at work: the run ends as it should, and what the copy needs is not zeroed.
TEST_F(Key, OfAHardLinkedCopyIsNotZeroed) {
  const Outcome outcome = alone(fmt::format("step@0#50=link={}", key_), config_);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, key_ + " is removed but not overwritten: it has 2 names")) << outcome.output;
  EXPECT_TRUE(fs::exists(run_ + "/certificate.json"));
  EXPECT_FALSE(fs::exists(key_));
  EXPECT_TRUE(holds_key(key_ + "~"));
}

TEST_F(Key, IsZeroedWhereItStands) {
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  ASSERT_TRUE(holds_key(key_));
  std::ifstream held(key_, std::ios::binary);  // to be looked at when its name is gone
  ASSERT_EQ(alone("none", run_).code, 0);
  const std::string left{std::istreambuf_iterator<char>(held), {}};
  EXPECT_EQ(left.size(), 236u);
  EXPECT_EQ(left.find_first_not_of('\0'), left.npos);
}

// Whatever bears the name of a certificate: the key and the checkpoint are all that a stopped run has.
TEST_F(Key, IsNotWipedForACertificateOfAnotherRun) {
  ASSERT_EQ(alone("none", config_).code, 0);
  const std::string certificate = run_ + "/certificate.json", model = run_ + "/model.safetensors";
  const std::string others = folder_ + "/others.json", others_model = folder_ + "/others.safetensors";
  fs::rename(certificate, others), fs::rename(model, others_model);
  fs::remove_all(run_);
  ASSERT_EQ(alone("step@0#50=usr1", config_).code, 6);
  const auto expect_refused = [&](const char* what) {
    const Outcome outcome = run_command(fmt::format("{} resume {}", test::program(), run_));
    EXPECT_TRUE(outcome.code == 3 || outcome.code == 4) << what << ": " << outcome.output;
    EXPECT_TRUE(contains(outcome, "certificate.json")) << outcome.output;
    EXPECT_TRUE(holds_key(key_)) << what;
    EXPECT_TRUE(fs::exists(run_ + "/checkpoint/latest")) << what;
    fs::remove(certificate);
  };
  std::ofstream{certificate};
  expect_refused("an empty file");
  fs::copy_file(others_model, model);
  fs::copy_file(others, certificate);
  expect_refused("files of another run");
  fs::create_symlink(others, certificate);
  expect_refused("a link");
  fs::remove(model);
  EXPECT_EQ(alone("none", run_).code, 0);
}

// --- processes

int count(const Outcome& outcome, std::string_view what) {
  int found = 0;
  for (auto at = outcome.output.find(what); at != std::string::npos;
       at = outcome.output.find(what, at + what.size()))
    ++found;
  return found;
}

TEST_F(Key, NoRankLeavesACoreDump) {
  const Outcome outcome = run_command(
      fmt::format("mpirun -n 2 {0} --config {1} --quiet --set method.steps=2000000 & run=$!; "
                  "for i in $(seq 300); do [ -e {2}/checkpoint/latest ] && break; sleep 0.05; done; "
                  "for p in /proc/[0-9]*; do case $(readlink $p/exe) in */dpmpi) if grep -q {1} $p/cmdline; then "
                  "set -- $(grep core.file $p/limits); [ $5 -le 1 ] && [ $6 -le 1 ] && echo no core; "
                  "echo filter $((0x$(cat $p/coredump_filter))).; fi;; esac; done; kill $run; wait $run",
                  test::program(), config_, run_));
  EXPECT_EQ(count(outcome, "no core"), 2) << outcome.output;
  EXPECT_EQ(count(outcome, "filter 0."), 2) << outcome.output;
}

// A rank that is alone on its machine closes itself to debuggers; several read each other's memory, if their MPI
// library does, and must be left able to.
TEST_F(Key, OnlyALoneRankIsClosedToOtherProcesses) {
  Outcome outcome = run_command(fmt::format("SHOW_DUMPABLE=1 {} none {}", test::fault_program(), config_));
  EXPECT_EQ(count(outcome, "dumpable: 0"), 1) << outcome.output;
  fs::remove_all(run_);
  outcome = run_command(fmt::format("SHOW_DUMPABLE=1 mpirun -n 2 {} none {}", test::fault_program(), config_));
  EXPECT_EQ(count(outcome, "dumpable: 1"), 2) << outcome.output;
}

}  // namespace
}  // namespace dpmpi::key_file_test
