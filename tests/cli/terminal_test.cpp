// What people see while the program works: on a terminal, in a file, with and without colours, at every log level.
#include "support/terminal.hpp"
#include "support/programs.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/console/progress.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"
#include "support/data_files.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

namespace dpmpi::terminal_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::terminal_output;

using test::contains;

class Terminal : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Terminal"; }
  /// `words` are options; `before` sets variables of the environment.
  static std::string command(const std::string& words, const std::string& before = "TERM=xterm") {
    return fmt::format("cd {} && env {} {} {}", folder(), before, test::program(), words);
  }
  /// A run that stops by itself after `seconds`.
  static std::string training(const std::string& name, double seconds) {
    fs::remove_all(folder() + "/" + name);
    return fmt::format("--config a.ini --set run.dir={} --set run.max_hours={}", name, seconds / 3600);
  }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(test::run_command(command("generate --output t.csv --records 100 --features 4")).code, 0);
    std::ofstream(folder() + "/a.ini")
        << "[data]\ntrain = t.csv\nheader = yes\n[method]\nbatch = 10\nsteps = 1000000\n"
           "[privacy]\naccountant = rdp\nnoise_multiplier = 1e3\ndelta = 1e-4\n";
  }
};

TEST_F(Terminal, BarsAndColoursAreForTerminals) {
  const std::string shown = terminal_output(command(training("seen", 1.15)));
  EXPECT_TRUE(contains(shown, "\rtraining [")) << shown;
  EXPECT_TRUE(contains(shown, " %\033[0m  ") && contains(shown, "\033[32m")) << shown;
  for (const char* part : {" steps/s", " left"}) EXPECT_TRUE(contains(shown, part)) << part << shown;
}

// no-color.org: set and not empty, whatever it is set to.
TEST_F(Terminal, ColoursAreOffOnRequestAndOnDumbTerminals) {
  const std::string wrong = "--config nothing.ini";
  EXPECT_TRUE(contains(terminal_output(command(wrong)), "dpmpi: \033[31mconfig error\033[0m: "));
  EXPECT_TRUE(contains(terminal_output(command(wrong, "TERM=xterm NO_COLOR=")), "\033[31m"));
  for (const char* variables : {"TERM=xterm NO_COLOR=1", "TERM=xterm NO_COLOR=0", "TERM=dumb", "-u TERM"}) {
    const std::string plain = terminal_output(command(wrong, variables));
    EXPECT_TRUE(contains(plain, "dpmpi: config error: ")) << variables << plain;
    EXPECT_FALSE(contains(plain, "\033")) << variables << plain;
  }
}

TEST_F(Terminal, NoEscapeSequenceReachesAFile) {
  const Outcome done = test::run_command(
      fmt::format("({0}) >{2}/lines.txt 2>&1 & ({1}) >{2}/bar.txt 2>&1 & wait", command(training("lines", 1.15)),
                  command(training("bar", 1.15) + " --set report.progress=bar"), folder()));
  ASSERT_EQ(done.code, 0) << done.output;
  const std::string lines = test::read_file(folder() + "/lines.txt"), bar = test::read_file(folder() + "/bar.txt");
  EXPECT_TRUE(contains(lines, "\ntraining  ")) << lines;
  EXPECT_TRUE(contains(bar, "\rtraining [")) << bar;
  for (const std::string& output : {lines, bar, test::run_command(command("--config nothing.ini")).output,
                                    terminal_output(command("--config nothing.ini 2>error.txt; cat error.txt"))})
    EXPECT_FALSE(contains(output, "\033")) << output;
}

TEST_F(Terminal, LevelsSayMoreAndMore) {
  const auto said = [&](const std::string& words) {
    return test::run_command(command(words + " " + training("levels", 0.01))).output;
  };
  for (const char* quiet : {"--quiet", "--log-level=error"}) {
    const std::string text = said(quiet);
    EXPECT_TRUE(text.starts_with("stopped after step")) << quiet << text;
  }
  const std::string info = said("--log-level info");
  EXPECT_TRUE(contains(info, "read the data in")) << info;
  EXPECT_FALSE(contains(info, "debug")) << info;
  const std::string debug = said("--log-level debug");
  for (const char* part : {"dpmpi: debug: rank 0: blocks 0 to ", "lattice of quantum",
                           "ledger lines up to step 100", "step 0: checkpoint in "})
    EXPECT_TRUE(contains(debug, part)) << part << debug;
}

// What one needs to see which rank the others wait for.
TEST_F(Terminal, EveryRankTellsDetails) {
  fs::remove_all(folder() + "/ranks");
  const Outcome told = test::run_command(fmt::format(
      "cd {} && mpirun -n 2 {} --log-level debug --config a.ini --set method.steps=3 --set data.blocks=4 --set run.dir=ranks",
      folder(), test::program()));
  ASSERT_EQ(told.code, 0) << told.output;
  for (const int rank : {0, 1})
    for (const char* detail : {"blocks ", "step 3: evaluation in ", "times in seconds: \"seconds\":"})
      EXPECT_TRUE(contains(told.output, fmt::format("debug: rank {}: {}", rank, detail)))
          << rank << detail << told.output;
  EXPECT_FALSE(contains(told.output, "rank 1: ledger")) << "the root's";
  const std::string times = test::read_file(folder() + "/ranks/timing.jsonl");
  EXPECT_TRUE(contains(times, "{\"rank\":1,\"seconds\":")) << times;
}

TEST_F(Terminal, WrongLevelsAreRefused) {
  for (const auto& [words, message] :
       {std::pair{"list --log-level loud",
                  "--log-level loud is not allowed; it must be one of: error, warning, info, debug"},
        std::pair{"list --log-level", "--log-level needs one of: error, warning, info, debug"},
        std::pair{"list --quiet --log-level debug", "different levels"}}) {
    const Outcome refused = test::run_command(command(words));
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_TRUE(contains(refused.output, message)) << refused.output;
  }
  EXPECT_EQ(test::run_command(command("--log-level debug list formats")).code, 0);
}

/// The library's own phases, shown from their first moment on.
class Phases : public ::testing::Test {
 protected:
  void SetUp() override { show_progress("lines"), show_progress_after(0); }
  void TearDown() override { show_progress("none"), show_progress_after(1); }
  template <class Body>
  static std::string said(const Body& body) {
    ::testing::internal::CaptureStderr();
    body();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(Phases, AccountingAndCalibration) {
  const std::vector<Event> events{{PoissonGaussian{0.01, 1.0}, 10}, {PoissonGaussian{0.02, 1.0}, 10}};
  const std::string accounted = said([&] { epsilon_guarantee(events, Adjacency::add_remove, 1e-5, "best"); });
  EXPECT_TRUE(contains(accounted, "accounting  2/2 events (100 %)")) << accounted;
  EXPECT_TRUE(contains(accounted, "composing privacy losses  1 laws")) << accounted;
  const std::string searched = said([&] {
    calibrate_noise(
        [](double z) {
          return std::vector<Event>{{Gaussian{z}, 1}};
        },
        {1.0, 1e-5, Adjacency::add_remove}, "rdp");
  });
  EXPECT_TRUE(contains(searched, "searching noise_multiplier  1 values")) << searched;
}

// The number of records is public unless it is declared: then nothing may tell how many slots are empty. A text's
// length in bytes follows private values and is never told.
TEST_F(Phases, LoadingTellsPublicCountsOnly) {
  const test::Folder folder;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("{},{}\n", i % 2, i);
  DataOptions options;
  options.train = folder.write("a.csv", text);
  options.label = "1";
  options.header = "no";
  const Communicator alone = Communicator::alone();
  const auto read = [&](std::uint64_t slots) {
    return said([&] {
      const Dataset training = DataFiles(options).training;
      inspect(alone, training);
      load(alone, training, BlockLayout{slots, 4}, Ownership::even(4, 1), LabelKind::real);
    });
  };
  const std::string counted = read(5000);
  EXPECT_TRUE(contains(counted, "reading a.csv  5000/5000 records (100 %)")) << counted;
  EXPECT_TRUE(contains(counted, "counting the lines of a.csv  ")) << counted;
  EXPECT_FALSE(contains(counted, fmt::format("{}", text.size()))) << counted;
  options.records = 6000;
  const std::string declared = read(6000);
  EXPECT_TRUE(contains(declared, "reading a.csv  0.")) << declared;
  for (const char* number : {"5000", "6000", "83 %", "records"})
    EXPECT_FALSE(contains(declared, number)) << number << declared;
}

}  // namespace
}  // namespace dpmpi::terminal_test
