// The commands of docs/guide/tutorial.md, in its order, in one shell, and what the page says that they print.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/process.hpp"

namespace dpmpi {
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

TEST(Tutorial, EveryCommandWorks) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Tutorial";
  fs::remove_all(folder);
  fs::create_directories(folder + "/build");
  fs::create_directory_symlink(fs::path(DPMPI_PROGRAM).parent_path(), folder + "/build/release");
  fs::create_directory_symlink(DPMPI_SOURCE_DIR "/launch", folder + "/launch");
  const Page page = blocks_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/tutorial.md"));
  EXPECT_GE(page.shown.size(), 10u) << "the page has lost its output";
  std::ofstream(folder + "/tutorial.sh") << "set -e\n" << page.script;
  const test::Outcome outcome = test::run_command("cd " + folder + " && sh tutorial.sh", 120);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const std::string& line : page.shown)
    EXPECT_NE(outcome.output.find(line + "\n"), std::string::npos) << line << "\n" << outcome.output;
  for (const char* part :
       {"age,sector,hours,income", "noise multiplier", "method.clip", "accuracy", "everything fits together",
        "differential privacy under add_remove", "record,prediction,probability"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  for (const char* file : {"people/report.html", "people/certificate.json", "predictions.csv", "report.html"})
    EXPECT_TRUE(fs::exists(folder + "/runs/tutorial/" + file)) << file;
}

}  // namespace
}  // namespace dpmpi
