// dpmpi check: all that is wrong with config and data, at once, before noise is looked for.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::check_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class Check : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 300 --eval-records 60 --features 3").code, 0);
    write("t.ini",
          "[data]\ntrain = t.csv\neval = t-eval.csv\nheader = yes\nblocks = 4\n[method]\nbatch = 50\n"
          "epochs = 1\n[privacy]\nepsilon = 2\ndelta = 1e-3\n");
    std::string bad = read_file(path("t.csv"));
    replace_line(bad, 40, "1,hushed,2,3");
    replace_line(bad, 290, "7,1,2,3");
    replace_line(bad, 150, "1,secret,2,");
    write("bad.csv", bad);
    write("bad-eval.csv", "label,x1,x2,x3\n1,1,2,3\n-1,1,seven,3\n");
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Check"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }
  /// Line `number`, from 1.
  static void replace_line(std::string& text, int number, const std::string& line) {
    std::size_t begin = 0;
    for (int i = 1; i < number; ++i) begin = text.find('\n', begin) + 1;
    text.replace(begin, text.find('\n', begin) - begin, line);
  }
  static Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }
  static std::vector<std::string> files() {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) all.push_back(entry.path().string());
    return all;
  }
  static constexpr const char* bad_files = " --set data.train=bad.csv --set data.eval=bad-eval.csv";
};

TEST_F(Check, WhatIsGoodIsCountedAndNothingIsLeft) {
  const auto before = files();
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi("check t.ini", ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(
        contains(outcome.output, "t.ini: no problem found in 300 records x 3 features and 60 public records"))
        << outcome.output;
  }
  EXPECT_EQ(files(), before);
}

TEST_F(Check, AllThatIsWrongIsSaidAtOnceOnAnyNumberOfRanks) {
  fs::create_directories(path("taken"));
  write("taken/certificate.json", "{}");
  const std::string words = std::string("check t.ini --set run.dir=taken") + bad_files;
  const Outcome alone = dpmpi(words);
  EXPECT_EQ(alone.code, 2) << alone.output;
  for (const char* part :
       {"run.dir = taken already holds a finished run",
        "bad-eval.csv:3: column 'x2': 'seven' is not a finite number",
        "bad.csv:40: column 'x1': (private, not shown",
        "bad.csv:150: column 'x3': missing value (private, not shown", "bad.csv:290: label (private, not shown"})
    EXPECT_TRUE(contains(alone.output, part)) << part << "\n" << alone.output;
  EXPECT_FALSE(contains(alone.output, "bad.csv:150: column 'x1'")) << "a column is named once\n" << alone.output;
  EXPECT_FALSE(contains(alone.output, "hushed") || contains(alone.output, "secret")) << alone.output;
  const Outcome three = dpmpi(words, 3);
  EXPECT_EQ(three.code, 2);
  EXPECT_TRUE(contains(three.output, alone.output)) << three.output;  // mpirun's own words come before or after
}

TEST_F(Check, DataAreReadEvenIfThePlanDoesNotFitThem) {
  const Outcome outcome = dpmpi(std::string("check t.ini --set method.batch=1000") + bad_files);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  for (const char* part : {"method.batch = 1000", "bad-eval.csv:3: ", "bad.csv:40: "})
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
}

TEST_F(Check, MissingFilesAreAllNamed) {
  const Outcome outcome = dpmpi("check t.ini --set data.train=no.csv --set data.eval=none.csv");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "no.csv was not found")) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "none.csv was not found")) << outcome.output;
}

// Messages about public files show values.
TEST_F(Check, APrivateFileIsNotShownAsAPublicOne) {
  write("copy.csv", read_file(path("bad.csv")));
  write("people.csv", "hushed,secret,quiet\n1,2,3\n-1,2,3\n");
  write("ill.csv", "label,x1\nsecret,2\nsecret,3\n");
  for (const char* words :
       {"--set data.train=bad.csv --set data.eval=bad.csv", "--set data.train=bad.csv --set data.eval=copy.csv",
        "--set data.train=people.csv --set data.eval=people.csv --set data.header=auto",
        "--set data.train=ill.csv --set data.eval=ill.csv --set data.positive=secret"})
    for (const char* command : {"check t.ini ", "--config t.ini "})
      for (const int ranks : {1, 3}) {
        const Outcome outcome = dpmpi(std::string(command) + words, ranks);
        EXPECT_EQ(outcome.code, 4) << outcome.output;
        EXPECT_TRUE(contains(outcome.output, "is also a training file")) << outcome.output;
        for (const char* value : {"hushed", "quiet", "every label", "no label"})
          EXPECT_FALSE(contains(outcome.output, value)) << words << "\n" << outcome.output;
      }
}

// The group stands in a feature that the other file does not have.
TEST_F(Check, RecordsOfAnotherWidthAreNotLookedAtBeyondTheirEnd) {
  write("groups.csv", "label,a,b,g\n1,1,2,0\n0,1,2,1\n1,3,2,0\n0,1,2,1\n");
  write("narrow.csv", "label,a\n1,1\n0,1\n");
  const Outcome outcome = dpmpi(
      "check t.ini --set data.train=groups.csv --set data.eval=narrow.csv --set objective.name=worst_group "
      "--set objective.classes=2 --set objective.group_sizes=2,2 --set objective.group_feature=3 "
      "--set method.name=dp-sgda --set method.dual_clip=1 --set method.batch=2 --set method.epochs=1");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "data.eval has 1 features, data.train has 3")) << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "which is no group")) << outcome.output;
}

TEST_F(Check, EpisodesThatAreTooLongAreSaidAlikeOnAnyNumberOfRanks) {
  ASSERT_EQ(dpmpi("generate --kind gridworld --records 120 --episode_steps 2 --output e.csv").code, 0);
  std::string episodes = read_file(path("e.csv"));
  for (const int line : {51, 111}) {
    std::size_t begin = 0;
    for (int i = 1; i < line; ++i) begin = episodes.find('\n', begin) + 1;
    episodes[begin] = '9';  // transitions
  }
  write("e.csv", episodes);
  const std::string words =
      "check t.ini --set data.train=e.csv --set data.eval= "
      "--set objective.name=td --set objective.unit=episode --set objective.episode_steps=2 "
      "--set objective.value=linear --set data.bias=0 --set method.name=dp-sgda --set method.dual_clip=5 --set method.dual_rate=0.1";
  for (const int ranks : {1, 2, 3}) {
    const Outcome outcome = dpmpi(words, ranks);
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "record 50 is an episode of (private, not shown")) << outcome.output;
  }
}

TEST_F(Check, NumbersThatDoNotFitNameTheirColumn) {
  write("large.csv", "label,x1,x2,x3\n1,1,2,3\n-1,1e300,2,3\n1,1,inf,3\n");
  const Outcome outcome = dpmpi("check t.ini --set data.train=large.csv");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  for (const char* part : {"large.csv:3: column 'x1': value (private", "large.csv:4: column 'x2': value (private"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
}

TEST_F(Check, ColumnsThatMeansAndDeviationsNameWronglyAreAllNamed) {
  const Outcome outcome =
      dpmpi("check t.ini --set data.mean=first:1,x1:2,second:3 --set data.std=third:1,first:2,x2:one");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  for (const char* part : {"no column 'first'", "no column 'second'", "no column 'third'", "data.std"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
  const std::size_t first = outcome.output.find("'first'");
  EXPECT_EQ(outcome.output.find("'first'", first + 1), outcome.output.npos) << outcome.output;
}

TEST_F(Check, WarnsAsTrainingDoes) {
  for (const char* name : {"uneven.csv", "uneven-eval.csv"}) {
    std::string text = "label,large,small\n";
    for (int i = 1; i <= 40; ++i) text += fmt::format("{},{},{}\n", i % 2, 1000 * i, 1.0 / i);
    write(name, text);
  }
  write("uneven-eval.csv", read_file(path("uneven-eval.csv")) + "1,1,1\n");
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi(
        "check t.ini --set data.train=uneven.csv --set data.eval=uneven-eval.csv --set method.batch=10", ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "warning: features of data.eval differ in size")) << outcome.output;
  }
}

TEST_F(Check, ConfigProblemsAreThoseOfTraining) {
  const std::string wrong = "t.ini --set data.blocks=-1 --set method.bacth=3 --set run.dir=no";
  const Outcome checked = dpmpi("check " + wrong), trained = dpmpi("--config " + wrong);
  EXPECT_EQ(checked.code, 2);
  EXPECT_EQ(checked.output, trained.output);
}

// No noise suits this promise, which is known after a search only.
TEST_F(Check, TrainingReadsTheDataBeforeItLooksForNoise) {
  const std::string impossible = " --set privacy.epsilon=1000 --set run.dir=never";
  const Outcome sought = dpmpi("--config t.ini" + impossible);
  EXPECT_EQ(sought.code, 4) << sought.output;
  for (const int ranks : {1, 3}) {
    const Outcome read = dpmpi("--config t.ini" + impossible + bad_files, ranks);
    EXPECT_EQ(read.code, 3) << read.output;
    for (const char* part : {"bad-eval.csv:3: ", "bad.csv:40: ", "bad.csv:150: ", "bad.csv:290: "})
      EXPECT_TRUE(contains(read.output, part)) << part << "\n" << read.output;
    EXPECT_FALSE(contains(read.output, "the noise is too weak")) << read.output;
  }
  EXPECT_FALSE(fs::exists(path("never")));
}

TEST_F(Check, MoreRanksThanBlocksSayTheOneSettingThatHelps) {
  for (const char* words : {"check t.ini", "-q --config t.ini --set run.dir=ranks"}) {
    const Outcome outcome = dpmpi(words, 6);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "6 ranks but only 4 blocks")) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "Set data.blocks = 6 or more")) << outcome.output;
  }
  EXPECT_EQ(dpmpi("-q --config t.ini --set run.dir=ranks --set data.blocks=6", 6).code, 0);
}

}  // namespace
}  // namespace dpmpi::check_test
