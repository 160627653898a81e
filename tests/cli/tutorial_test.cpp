// The commands of pages that can be pasted whole, in their order, in one shell, and what a page says that they
// print.
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
  for (const char* file : {"people/report.html", "people/certificate.json", "predictions.csv", "report.html"})
    EXPECT_TRUE(fs::exists(folder + "/runs/tutorial/" + file)) << file;
}

double last_loss(const std::string& run) {
  std::istringstream lines(read_file(run + "/metrics.jsonl"));
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);)
    if (const auto row = nlohmann::json::parse(line); row.contains("eval.loss")) last = row;
  return last.at("eval.loss");
}

// A measurement errs by 15 %: no parameters have a smaller loss than 0.15 sqrt(2 / pi) = 0.120, up to the five
// thousand patients' luck.
TEST(Simulators, AreFittedInPrivateWhereAGridIsNot) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Simulators";
  run_page(blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/simulators.md")), folder);
  EXPECT_LT(last_loss(folder + "/runs/tablets"), 0.135);
  EXPECT_GT(last_loss(folder + "/runs/grid"), 0.25);
}

}  // namespace
}  // namespace dpmpi::tutorial_test
