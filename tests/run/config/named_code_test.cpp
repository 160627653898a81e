// A run directory may come from anybody. Code that its config names is not run by commands that look at it, unless
// the command line names the file, the directory verifies and the file is the one that the run was made with.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::named_code_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

class NamedCode : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_NamedCode"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }

  static Outcome dpmpi(const std::string& words) {
    fs::remove(path("mark"));
    return test::run_command(
        fmt::format("cd {} && MARKING_PLUGIN={} {} {}", folder(), path("mark"), test::program(), words));
  }
  static bool was_run() { return fs::exists(path("mark")); }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output train.csv --records 300 --eval-records 60 --features 4").code, 0);
    fs::copy(DPMPI_MARKING_PLUGIN, path("loss.so"));
    std::ofstream(path("run.ini"))
        << "[data]\nblocks = 4\ntrain = train.csv\neval = train-eval.csv\n[objective]\nname = plugin\nlibrary = "
           "./loss.so\n[method]\nname = zo-hidden\nrelease = all\ndirections = 2\nrate = 0.1\nsteps = 20\n"
           "[privacy]\nepsilon = 3\ndelta = 1e-4\n[report]\nprogress = none\n";
    Outcome outcome = dpmpi("--quiet --config run.ini --set run.dir=finished");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    ASSERT_TRUE(was_run()) << "the plugin leaves its mark";
    outcome = dpmpi("--quiet --config run.ini --set run.dir=stopped --set run.max_hours=1e-12");
    ASSERT_EQ(outcome.code, 6) << outcome.output;
  }

  static std::string copy(const std::string& run, const std::string& name) {
    fs::remove_all(path(name));
    fs::copy(path(run), path(name), fs::copy_options::recursive);
    return name;
  }
  static void edit(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_file(path(file));
    ASSERT_NE(text.find(from), text.npos) << from;
    std::ofstream(path(file)) << text.replace(text.find(from), from.size(), to);
  }

  static constexpr const char* allowed = " --set objective.library=./loss.so";
};

TEST_F(NamedCode, IsNotRunByCommandsThatLookAtARun) {
  for (const std::string words : {"evaluate finished", "evaluate finished --data train-eval.csv --json",
                                  "predict finished --data train-eval.csv --output out.csv", "audit finished",
                                  "plan --config finished/config.ini", "audit --config finished/config.ini",
                                  "--config finished/config.ini --set run.dir=again"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 2) << words << ": " << outcome.output;
    EXPECT_NE(outcome.output.find("objective.library = ./loss.so: a run directory names code"), std::string::npos)
        << outcome.output;
    EXPECT_NE(outcome.output.find("--set objective.library=FILE"), std::string::npos) << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
  for (const std::string words : {"verify finished", "verify stopped", "report finished --output page.html",
                                  "account finished/ledger.jsonl --delta 1e-4"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
}

// Nor by what only has the look of one.
TEST_F(NamedCode, IsNotRunForAFolderWithAConfigAlone) {
  fs::remove_all(path("bare"));
  fs::create_directories(path("bare/checkpoint"));
  fs::copy(path("finished/config.ini"), path("bare/config.ini"));
  for (const std::string words : {"evaluate bare", "predict bare --data train-eval.csv --output out.csv",
                                  "audit bare", "resume bare", "verify bare"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_TRUE(outcome.code >= 2 && outcome.code <= 4) << words << ": " << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
  fs::create_symlink("/nowhere/at/all", path("bare/plan.json"));
  EXPECT_EQ(dpmpi("plan --config bare/config.ini").code, 2) << "a link to nothing is a file of a run, too";
  EXPECT_FALSE(was_run());
}

// That a config is of a run directory follows from the command, not from what stands there: not even the digest of
// a file that it names is taken. (resume takes it, to compare the program with the one that began the run.)
TEST_F(NamedCode, IsNotLookedAtForAFolderThatIsGivenAsARun) {
  fs::remove_all(path("bare"));
  fs::create_directories(path("bare"));
  fs::copy(path("finished/config.ini"), path("bare/config.ini"));
  edit("bare/config.ini", "library = ./loss.so", "library = ./absent.so");
  for (const std::string words : {"audit bare", "verify bare"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_TRUE(outcome.code >= 2 && outcome.code <= 4) << words << ": " << outcome.output;
    EXPECT_EQ(outcome.output.find("absent.so"), std::string::npos) << outcome.output;
  }
  EXPECT_FALSE(RunConfig(path("run.ini"), {"objective.library=" + path("loss.so")}).of_run_directory());
  EXPECT_TRUE(RunConfig(path("run.ini"), {}, ConfigOf::run).of_run_directory());
}

// Without the digest nothing says whether the file is the one of the run.
TEST_F(NamedCode, IsNotRunIfTheRunDoesNotSayWhichItWas) {
  copy("finished", "damaged");
  edit("damaged/config.ini", "library_digest = " + file_digest(path("loss.so")), "library_digest = ");
  struct Case {
    std::string words;
    int code;
    std::string says;
  };
  for (const auto& [words, code, says] :
       {Case{"evaluate damaged", 4, "damaged/config.ini is not the config of this run"},
        Case{"plan --config damaged/config.ini", 2, "objective.library_digest is empty"},
        Case{"audit damaged", 2, "objective.library_digest is empty"}}) {
    const Outcome outcome = dpmpi(words + allowed);
    EXPECT_EQ(outcome.code, code) << words << ": " << outcome.output;
    EXPECT_NE(outcome.output.find(says), std::string::npos) << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
}

// By another name of the directory, too.
TEST_F(NamedCode, IsNotRunThroughLinks) {
  fs::remove(path("link")), fs::remove(path("mine.ini"));
  fs::create_directory_symlink(path("finished"), path("link"));
  fs::create_symlink(path("finished/config.ini"), path("mine.ini"));
  for (const std::string words : {"evaluate link", "plan --config link/config.ini", "plan --config mine.ini"}) {
    EXPECT_EQ(dpmpi(words).code, 2) << words;
    EXPECT_FALSE(was_run()) << words;
  }
}

TEST_F(NamedCode, IsRunIfTheCommandLineNamesIt) {
  for (const std::string words :
       {"evaluate finished", "plan --config finished/config.ini",
        "audit finished --set audit.runs=32 --set audit.game=distinguish --output a.json"}) {
    const Outcome outcome = dpmpi(words + allowed);
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.output;
    EXPECT_TRUE(was_run()) << words;
  }
  fs::create_directories(path("elsewhere"));
  fs::copy(path("loss.so"), path("elsewhere/other-name.so"), fs::copy_options::overwrite_existing);
  const Outcome outcome = dpmpi("evaluate finished --set objective.library=elsewhere/other-name.so");
  EXPECT_EQ(outcome.code, 0) << outcome.output << ": the file is known by its bytes";
}

TEST_F(NamedCode, IsNotRunIfTheDirectoryDoesNotVerify) {
  const std::vector<std::pair<std::string, std::function<void()>>> damages = {
      {"plan.json", [] { edit("damaged/plan.json", "\"steps\": 20", "\"steps\": 21"); }},
      {"ledger.jsonl", [] { edit("damaged/ledger.jsonl", "\"prev\":\"", "\"prev\":\"0"); }},
      {"certificate.json",
       [] { edit("damaged/certificate.json", "\"trust\": \"root\"", "\"trust\": \"cluster\""); }},
      {"config.ini", [] { edit("damaged/config.ini", "steps = 20", "steps = 19"); }}};
  for (const auto& [file, damage] : damages) {
    copy("finished", "damaged");
    damage();
    for (const std::string words : {"evaluate damaged", "plan --config damaged/config.ini", "audit damaged"}) {
      const Outcome outcome = dpmpi(words + allowed);
      EXPECT_TRUE(outcome.code == 4 || outcome.code == 2) << words << " " << file << ": " << outcome.output;
      EXPECT_FALSE(was_run()) << words << " with another " << file;
    }
  }
}

TEST_F(NamedCode, IsNotRunIfItIsOtherCode) {
  fs::copy(path("loss.so"), path("other.so"), fs::copy_options::overwrite_existing);
  std::ofstream(path("other.so"), std::ios::app) << '\n';
  for (const std::string words : {"evaluate finished", "plan --config finished/config.ini", "audit finished"}) {
    const Outcome outcome = dpmpi(words + " --set objective.library=./other.so");
    EXPECT_EQ(outcome.code, 4) << words << ": " << outcome.output;
    EXPECT_NE(outcome.output.find("is not the one of objective.library_digest"), std::string::npos)
        << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
}

// The key, which nobody but this user can have put there, vouches for config and library of a run in its place.
TEST_F(NamedCode, ResumesOfOnesOwnRunsLoadIt) {
  const Outcome outcome = dpmpi("resume stopped --quiet --set run.max_hours=1e-12");
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(was_run());
}

TEST_F(NamedCode, ResumesOfCopiesAskForIt) {
  copy("stopped", "moved");
  Outcome outcome = dpmpi("resume moved");
  EXPECT_EQ(outcome.code, 4) << "a copy: " << outcome.output;
  EXPECT_FALSE(was_run());
  outcome = dpmpi("resume moved --set run.moved=true");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("--set objective.library=FILE"), std::string::npos) << outcome.output;
  EXPECT_FALSE(was_run());
  outcome = dpmpi(std::string("resume moved --quiet --set run.moved=true --set run.max_hours=0") + allowed);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(was_run());
}

// An archive that somebody made has the key of its user once it is unpacked, and through a link the ledger has the
// number that the checkpoint knows.
TEST_F(NamedCode, ResumesOfUnpackedArchivesDoNotLoadIt) {
  copy("stopped", "unpacked");
  const std::string ledger = path("unpacked/ledger.jsonl"), linked = path("stopped/ledger.jsonl");
  fs::remove(ledger);
  fs::create_symlink(linked, ledger);
  Outcome outcome = dpmpi("resume unpacked --quiet");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("ledger.jsonl is a symbolic link"), std::string::npos) << outcome.output;
  EXPECT_FALSE(was_run());
  fs::remove(ledger);
  fs::create_hard_link(linked, ledger);
  outcome = dpmpi("resume unpacked --quiet");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("ledger.jsonl has 2 names (hard links)"), std::string::npos) << outcome.output;
  EXPECT_FALSE(was_run());
  fs::remove(ledger);
}

TEST_F(NamedCode, ResumesOfEditedRunsDoNotLoadIt) {
  const std::string before = read_file(path("stopped/config.ini"));
  fs::copy(path("loss.so"), path("evil.so"), fs::copy_options::overwrite_existing);
  std::ofstream(path("evil.so"), std::ios::app) << '\n';
  for (const bool knows_digest : {false, true}) {
    std::string text = before;
    text.replace(text.find("./loss.so"), 9, "./evil.so");
    const std::string digest = "library_digest = " + file_digest(path("loss.so"));
    ASSERT_NE(text.find(digest), text.npos);
    if (knows_digest)
      text.replace(text.find(digest), digest.size(), "library_digest = " + file_digest(path("evil.so")));
    std::ofstream(path("stopped/config.ini")) << text;
    for (const char* more : {"", " --set objective.library=./evil.so"}) {
      const Outcome outcome = dpmpi(std::string("resume stopped") + more);
      EXPECT_TRUE(outcome.code == 2 || outcome.code == 4) << outcome.output;
      EXPECT_FALSE(was_run()) << outcome.output;
    }
  }
  std::ofstream(path("stopped/config.ini")) << before;
}

// A trainer's config that stands elsewhere would be taken for the user's own.
TEST_F(NamedCode, TrainersStandInTheDirectoryToo) {
  copy("finished", "search");
  std::ofstream(path("search/config.ini"))
      << "[data]\ntrain = train.csv\n[objective]\nname = tune_private\ntrainer = ../run.ini\nsearch = "
         "method.rate:0.01:1\n[method]\nname = gibo\n[privacy]\nepsilon = 3\ndelta = 1e-4\n";
  fs::current_path(folder());  // where ./loss.so is
  try {
    const RunConfig config(path("search/config.ini"), {});
    FAIL() << "read";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("in a run directory it is trainer.ini"), std::string::npos) << e.what();
  }
}

TEST_F(NamedCode, TheConfigKnowsTheFileByItsBytes) {
  const std::string text = read_file(path("finished/config.ini"));
  EXPECT_NE(text.find("library_digest = " + file_digest(path("loss.so"))), text.npos) << text;
  const RunConfig mine(path("finished/config.ini"), {});
  EXPECT_TRUE(mine.of_run_directory());
  const auto plan = nlohmann::json::parse(read_file(path("finished/plan.json")));
  EXPECT_EQ(plan["config_digest"], mine.digest());
  EXPECT_EQ(mine.essentials().find("loss.so"), std::string::npos) << "the place does not count";
  EXPECT_NE(mine.essentials().find(file_digest(path("loss.so"))), std::string::npos);
  const RunConfig user(path("run.ini"), {fmt::format("objective.library={}", path("loss.so"))});
  EXPECT_FALSE(user.of_run_directory());
  EXPECT_EQ(user.value("objective.library_digest"), file_digest(path("loss.so")));
  EXPECT_THROW(RunConfig(path("run.ini"), {"objective.library=loss.so"}), ConfigError) << "a bare name";
  EXPECT_THROW(RunConfig(path("run.ini"), {"objective.library=./absent.so"}), ConfigError);
}

}  // namespace
}  // namespace dpmpi::named_code_test
