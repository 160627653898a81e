// What stands in a private file reaches no log and no file of a run: neither where a record is malformed, at
// whatever place, nor where all is well. Files hold a distinctive word and number; whatever the commands say and
// write is searched for them. The canaries of tests/data/load do it for every fault that the parsers know.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::canary_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

constexpr const char* word = "qzcanaryxv";
constexpr const char* digits = "7316529041";
constexpr std::uint64_t filled = 7316;  // slots of the 9000 that are declared

template <class T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// As text in any place, and as the bits that a record's number has in memory.
bool has_canary(const std::string& text) {
  for (const std::string& canary : {std::string(word), std::string(digits), bytes_of(0.7316529041F),
                                    bytes_of(0.7316529041), bytes_of(std::stof(digits))})
    if (text.find(canary) != text.npos) return true;
  return false;
}

/// Whether `number` stands there by itself, not as a part of another one.
bool has_number(const std::string& text, const std::string& number) {
  const auto is_part = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.'; };
  for (std::size_t at = text.find(number); at != text.npos; at = text.find(number, at + 1)) {
    const std::size_t end = at + number.size();
    const bool whole = (at == 0 || !is_part(text[at - 1])) && (end == text.size() || !std::isdigit(text[end]));
    if (whole) return true;
  }
  return false;
}

class CanaryRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/in");
    fs::create_directories(folder_ + "/out");
    std::string good = "label,x,z,kind,note\n";
    for (int i = 0; i < 120; ++i)
      good += fmt::format("{},{},{},{},{}\n", i % 2, i % 40 == 39 ? "0.7316529041" : "0.5", 0.01 * i,
                          i % 7 == 0 ? word : "b", i % 3 == 0 ? word : "text");
    write("good.csv", good);
    std::string eval = "label,x,z,kind,note\n";
    for (int i = 0; i < 40; ++i) eval += fmt::format("{},{},{},a,free\n", i % 2, 0.1 * i, 0.02 * i);
    write("eval.csv", eval);
    std::ofstream(folder_ + "/run.ini")
        << "[run]\ncheckpoint_every = 2\n[data]\ntrain = in/good.csv\neval = in/eval.csv\nblocks = 4\nrecords = 120\n"
           "one_hot = kind:a|b\nunknown = zero\ndrop = note\n[method]\nbatch = 30\nsteps = 6\n[privacy]\n"
           "noise_multiplier = 3\ndelta = 1e-4\nseed = 5\n[audit]\nruns = 40\ncanaries = 16\n";
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/in/" + name, std::ios::binary) << text;
  }

  Outcome dpmpi(const std::string& arguments, int ranks = 1) const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder_, launcher, test::program(), arguments));
  }

  /// What the command said, and all that stands below out/.
  std::string everything(const Outcome& outcome) const {
    std::string text = outcome.output;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ + "/out"))
      if (entry.is_regular_file()) text += '\n' + read_file(entry.path().string());
    return text;
  }

  Outcome expect_nothing_said(const std::string& arguments, int code, int ranks = 1) const {
    const Outcome outcome = dpmpi(arguments, ranks);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
    EXPECT_FALSE(has_canary(everything(outcome))) << arguments << "\n" << outcome.output;
    return outcome;
  }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_CanaryRun";
  const std::string train_ = "--log-level debug --config run.ini --set report.progress=lines --set run.dir=out/";
};

TEST_F(CanaryRun, RecordsThatAreWellFormedLeaveNoTrace) {
  expect_nothing_said(train_ + "one", 0);
  expect_nothing_said(train_ + "three", 0, 3);
  expect_nothing_said(train_ + "stopped --set run.max_hours=1e-12", 6);
  ASSERT_TRUE(fs::exists(folder_ + "/out/stopped/checkpoint")) << "it is searched, too";
  expect_nothing_said("resume out/stopped --log-level debug --set run.max_hours=100", 0);
  expect_nothing_said("plan --config run.ini --json", 0);
  expect_nothing_said("audit --config run.ini --output out/audit.json --log-level debug", 0);
  for (const char* words : {"report out/one", "verify out/one", "evaluate out/one --json"})
    expect_nothing_said(words, 0);
  expect_nothing_said("predict out/one --data in/good.csv --output out/predictions.csv", 0);
}

struct BadFile {
  const char* name;
  std::string text;
  const char* settings;
  bool quotes;  // data.show_values shows the canary
  bool first = false;
};

std::vector<BadFile> bad_files() {
  const auto table = [](const std::string& bad) {
    return "label,x,z,kind,note\n1,0.5,1,a,text\n0,1,2,b,text\n" + bad + "\n1,1,1,a,text\n";
  };
  const char* const no_names =
      " --set data.header=no --set data.label=1 --set \"data.one_hot=4:a|b\" --set data.drop=5";
  const char* const sparse = " --set data.features=4 --set data.one_hot= --set data.drop=";
  const std::string w = word, n = digits;
  return {{"label.csv", table(w + ",1,2,a,text"), "", true, true},
          {"number.csv", table(n + ",1,2,a,text"), "", true},
          {"feature.csv", table("1,1," + w + ",a,text"), "", true},
          {"huge.csv", table("1,1," + n + "e40,a,text"), "", false},  // written 7.316529041e+49
          {"kind.csv", table("1,1,2," + w + ",text"), " --set data.unknown=error", true},
          {"quote.csv", table("1,1,2,a,\"" + w), "", false},
          {"columns.csv", table("1,1,2,a,text," + w), "", false},
          {"first.csv", w + ",x,z,kind,note\n1,1,2,a,text\n", "", false},
          {"record.csv", w + ",1,2,a,text\n1,1,2,a,text\n", no_names, true},
          {"semicolon.csv", w + ";1;2;a;text\n1;1;2;a;text\n", " --set data.header=no --set data.label=1", true},
          {"odd", w + "\n" + w + "\n", "", true},
          {"index.svm", "1 1:1\n-1 " + n + ":1\n1 2:1\n", sparse, true},
          {"value.svm", "1 1:" + w + "\n", sparse, true}};
}

TEST_F(CanaryRun, NoCommandQuotesARecordThatIsMalformed) {
  ASSERT_EQ(dpmpi(train_ + "run").code, 0);
  const std::string tables = " --set data.one_hot=kind:a --set data.drop=note --set data.unknown=zero";
  const std::string show = " --set data.show_values=true";
  bool predicts = false;
  for (const BadFile& bad : bad_files()) {
    write(bad.name, bad.text);
    const std::string file = fmt::format("in/{}", bad.name);
    const auto refused = [&](const std::string& arguments, int ranks = 1) {
      const Outcome outcome = dpmpi(arguments, ranks);
      EXPECT_TRUE(outcome.code == 2 || outcome.code == 3) << arguments << "\n" << outcome.output;
      EXPECT_NE(outcome.output.find(file), std::string::npos) << arguments << "\n" << outcome.output;
      EXPECT_FALSE(has_canary(everything(outcome))) << arguments << "\n" << outcome.output;
    };
    // data.eval is read first: it has a header and dense columns, which these settings deny.
    const std::string settings = bad.settings;
    const bool of_others =
        settings.find("header=no") != settings.npos || settings.find("features=") != settings.npos;
    const std::string training =
        train_ + "none --set data.train=" + file + settings + (of_others ? " --set data.eval=" : "");
    predicts = !predicts;  // both read FILE in the same way
    const std::string scoring =
        (predicts ? "predict out/run --output out/predicted.csv --data " : "evaluate out/run --data ") + file +
        bad.settings;
    refused(training);
    if (bad.first) refused(training, 2);
    refused(scoring);
    for (const std::string& command : {std::string("plan --config run.ini --set data.train="),
                                       std::string("convert --output made.bin --input ")}) {
      const Outcome outcome = dpmpi(command + file + (command[0] == 'c' ? tables : "") + bad.settings);
      EXPECT_FALSE(has_canary(outcome.output)) << outcome.output;
    }
    const std::string& shown_by = predicts ? training : scoring;
    EXPECT_EQ(has_canary(dpmpi(shown_by + show).output), bad.quotes) << shown_by;
  }
  expect_nothing_said("audit --config run.ini --set data.train=in/first.csv", 2);
  expect_nothing_said("audit --config run.ini --set data.train=in/odd", 3);
  const std::string convert = "convert in/feature.csv made.bin" + tables + " --set data.header=yes";
  const Outcome hidden = dpmpi(convert), shown = dpmpi(convert + show);
  EXPECT_EQ(hidden.code, 3);
  EXPECT_FALSE(has_canary(hidden.output)) << hidden.output;
  EXPECT_TRUE(has_canary(shown.output)) << shown.output;
}

TEST_F(CanaryRun, OtherWaysToPrivateFilesQuoteNothingEither) {
  const std::string good = read_file(folder_ + "/in/good.csv"), first = good.substr(0, good.find('\n') + 1);
  write("label.csv", first + word + ",1,2,a,text\n1,1,1,a,text\n");
  const std::string shards =
      train_ + "none --set data.train= --set data.records=0 --set data.shards=in/good.csv,in/label.csv";
  expect_nothing_said(shards, 3, 2);
  EXPECT_TRUE(has_canary(dpmpi(shards + " --set data.show_values=true", 2).output));
  write("group.csv", first + "0,0,1,a,text\n1,1,1,a,text\n1," + digits + ",1,a,text\n");
  const std::string groups =
      train_ +
      "none --set data.train=in/group.csv --set data.eval= --set data.header=yes --set objective.name=worst_group "
      "--set objective.classes=2 --set objective.group_feature=1 --set objective.group_sizes=60,60 --set method.name=dp-sgda --set method.dual_clip=1";
  expect_nothing_said(groups, 3);
  const Outcome shown = dpmpi(groups + " --set data.show_values=true");
  EXPECT_NE(shown.output.find("that feature of record 3 is '7316529"), std::string::npos) << shown.output;
  ASSERT_EQ(dpmpi(train_ + "stopped --set run.max_hours=1e-12").code, 6);
  write("good.csv", good + word + ",1,2,a,text\n");
  expect_nothing_said("resume out/stopped --log-level debug --set run.max_hours=100", 3);
}

// How many of the declared slots hold a record is secret.
TEST_F(CanaryRun, TheNumberOfFilledSlotsIsNotSaid) {
  std::string text = "label,x,z,kind,note\n";
  for (std::uint64_t i = 0; i < filled; ++i) text += fmt::format("{},0.5,1,a,text\n", i % 2);
  write("many.csv", text);
  const std::string count = fmt::format("{}", filled);
  const std::string many = " --set data.train=in/many.csv --set data.records=";
  for (const int ranks : {1, 2}) {
    const Outcome outcome = dpmpi(fmt::format("{}{}{}9000", train_, ranks, many), ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_FALSE(has_number(everything(outcome), count)) << outcome.output;
    EXPECT_EQ(everything(outcome).find(bytes_of(filled)), std::string::npos) << "in a checkpoint, say";
    const Outcome planned = dpmpi(fmt::format("plan --config run.ini{}9000", many), ranks);
    EXPECT_FALSE(has_number(planned.output, count)) << planned.output;
    const Outcome refused = dpmpi(fmt::format("{}none{}7000", train_, many), ranks);
    EXPECT_EQ(refused.code, 3);
    EXPECT_NE(refused.output.find("holds more records than the 7000 that are declared"), std::string::npos)
        << refused.output;
    EXPECT_FALSE(has_number(refused.output, count)) << refused.output;
  }
  const Outcome counted = dpmpi(train_ + "counted" + many + "0");
  EXPECT_TRUE(has_number(counted.output, count)) << "a number that is not declared is public: " << counted.output;
}

}  // namespace
}  // namespace dpmpi::canary_test
