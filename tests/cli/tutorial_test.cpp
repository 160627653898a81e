// The commands of pages that can be pasted whole, in their order, in one shell, and what a page says that they
// print.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::tutorial_test {
namespace {

namespace fs = std::filesystem;

struct Page {
  std::string script;
  std::vector<std::string> shown;
};

/// The blocks between fences: "```sh" holds commands, "```text" lines that they print, word for word. (Output with
/// numbers that the noise or the machine decides stands between other fences, as "```text (your numbers differ)".)
Page blocks_of(const std::string& text) {
  std::istringstream lines(text);
  std::string fence;
  Page page;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```"))
      fence = line.substr(3);
    else if (fence == "sh")
      page.script += line + "\n";
    else if (fence == "text")
      page.shown.push_back(line);
  }
  return page;
}

/// Runs the commands of a page in a folder that looks like a checkout with a build.
test::Outcome run_page(const Page& page, const std::string& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder + "/build");
  fs::create_directory_symlink(fs::path(test::program()).parent_path(), folder + "/build/release");
  for (const char* part : {"launch", "examples", "include", "configs"})
    fs::create_directory_symlink(fs::path(DPMPI_SOURCE_DIR) / part, fs::path(folder) / part);
  std::ofstream(folder + "/page.sh") << "set -e\n" << page.script;
  const test::Outcome outcome = test::run_command("cd " + folder + " && sh page.sh", 300);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const std::string& line : page.shown)
    EXPECT_NE(outcome.output.find(line + "\n"), std::string::npos) << line << "\n" << outcome.output;
  return outcome;
}

TEST(Tutorial, EveryCommandWorks) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Tutorial";
  const Page page = blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/tutorial.md"));
  EXPECT_GE(page.shown.size(), 10u) << "the page has lost its output";
  const test::Outcome outcome = run_page(page, folder);
  for (const char* part :
       {"age,sector,hours,income", "noise multiplier", "method.clip", "accuracy", "everything fits together",
        "differential privacy under add_remove", "record,prediction,probability"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  for (const char* file :
       {"people/report.html", "people/certificate.json", "predictions.csv", "people.onnx", "report.html"})
    EXPECT_TRUE(fs::exists(folder + "/runs/tutorial/" + file)) << file;
}

double last_metric(const std::string& run, const std::string& metric) {
  std::istringstream lines(read_file(run + "/metrics.jsonl"));
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);)
    if (const auto row = nlohmann::json::parse(line); row.contains(metric)) last = row;
  return last.at(metric);
}

// A measurement errs by 15 %: no parameters have a smaller loss than 0.15 sqrt(2 / pi) = 0.120, up to the five
// thousand patients' luck.
TEST(Simulators, AreFittedInPrivateWhereAGridIsNot) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Simulators";
  Page page = blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/simulators.md"));
  const std::string grid = "--set run.dir=runs/grid";
  const std::size_t at = page.script.find(grid);
  ASSERT_NE(at, page.script.npos);
  // Two values a parameter, which take a tenth of the time.
  page.script.insert(at, "--set method.candidates=64 --set method.block=8 ");
  run_page(page, folder);
  EXPECT_LT(last_metric(folder + "/runs/tablets", "eval.loss"), 0.135);
  EXPECT_GT(last_metric(folder + "/runs/grid", "eval.loss"), 0.25);
}

// Three sites as three jobs, one of which is gone for a round.
TEST(Sites, MakeOneModelOfTheirFiles) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Sites";
  const Page page = blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/sites.md"));
  EXPECT_GE(page.shown.size(), 4u) << "the page has lost its output";
  const test::Outcome outcome = run_page(page, folder);
  for (const char* part : {"3 sites, 4 rounds: epsilon 2", "all sites compare: ",
                           "round 1 of 4, site 2 of 3: epsilon 2", "round 2 has no part of site 3",
                           "round 2 of 4 combined, 2 of 3 sites", "round 3 of 4 combined, 3 of 3 sites"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  const std::string rounds = read_file(folder + "/runs/sites/run/sites/rounds.jsonl");
  EXPECT_EQ(std::count(rounds.begin(), rounds.end(), '\n'), 4);
  EXPECT_NE(rounds.find(R"("round":2,)"), std::string::npos);
  EXPECT_NE(rounds.find(R"("sites":[1,2],)"), std::string::npos);
}

class Hospital : public ::testing::Test {
 protected:
  /// In this folder of the page, with the program's name in $dpmpi.
  static test::Outcome run(const std::string& folder, const std::string& commands) {
    std::ofstream(folder + "/more.sh") << "set -e\ndpmpi=" << test::program() << "\n" << commands;
    test::Outcome outcome = test::run_command("cd " + folder + " && sh more.sh", 300);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome;
  }
};

// 200,000 visits of some 40,000 patients: a promise for each patient costs less than 0.01 of the AUC.
TEST_F(Hospital, FromAnExportToPredictionsInTenCommands) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Hospital";
  const Page page = blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/hospital.md"));
  std::size_t commands = 0;
  for (std::size_t at = 0; (at = page.script.find("dpmpi ", at)) != std::string::npos; ++at) ++commands;
  EXPECT_LE(commands, 10u);
  const test::Outcome outcome = run_page(page, folder);
  for (const char* part :
       {"no problem found in 40000 persons", "persons              | 40000 x 159 features", "sex=f  records"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  const std::string runs = folder + "/runs/hospital";
  const auto certificate = nlohmann::json::parse(read_file(runs + "/run/certificate.json"));
  EXPECT_EQ(certificate.at("unit"), "person");
  EXPECT_EQ(certificate.at("n"), 40000);
  EXPECT_NE(certificate.at("statement").get<std::string>().find("adding or removing one person, with all records,"),
            std::string::npos);
  run(runs,
      "$dpmpi train --config hospital.ini --set privacy.noise=none --set method.clip=100 "
      "--set method.optimizer=adam --set method.rate=0.02 --set method.batch=8000 --set run.dir=open\n");
  const double open = last_metric(runs + "/open", "eval.auc");
  EXPECT_GT(open, 0.735);
  EXPECT_GT(last_metric(runs + "/run", "eval.auc"), open - 0.01);
}

// The same numbers however they are written: the same model, bit for bit.
TEST_F(Hospital, SemicolonsAndDecimalCommasMakeTheSameModel) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Hospital_styles";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const char* style : {"comma", "semicolon"}) {
    std::ofstream(fmt::format("{}/{}.ini", folder, style))
        << fmt::format("[data]\ntrain = {0}.csv\neval = {0}-eval.csv\ncolumns = {0}.txt\nheader = yes\n{1}", style,
                       std::string(style) == "comma" ? "" : "separator = semicolon\ndecimal = comma\n")
        << "[method]\nbatch = 100\nsteps = 20\n[privacy]\nepsilon = 1\nseed = 3\n[run]\ndir = run-" << style
        << "\n";
    const std::string words =
        run(folder,
            fmt::format(
                "$dpmpi generate --kind hospital --records 3000 --eval_records 3000 --separator {0} --output {0}.csv\n"
                "$dpmpi inspect {0}-eval.csv > {0}.txt\ngrep data.header {0}.txt\n$dpmpi train --config {0}.ini\n",
                style))
            .output;
    if (std::string(style) == "semicolon") {
      EXPECT_NE(words.find("# In the config: data.header = yes, data.separator = semicolon, data.decimal = comma"),
                std::string::npos)
          << words;
    }
  }
  EXPECT_EQ(read_file(folder + "/run-comma/metrics.jsonl"), read_file(folder + "/run-semicolon/metrics.jsonl"));
}

}  // namespace
}  // namespace dpmpi::tutorial_test
