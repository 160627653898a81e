// The commands of docs/guide/tutorial.md, in its order, in one shell.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dpmpi/run/files.hpp"
#include "support/process.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

/// Lines that begin with "    $ ", with their continuations ("    > ").
std::string commands_of(const std::string& page) {
  std::istringstream lines(page);
  std::string script;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("    $ ") || line.starts_with("    > ")) script += line.substr(6) + "\n";
  return script;
}

TEST(Tutorial, EveryCommandWorks) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Tutorial";
  fs::remove_all(folder);
  fs::create_directories(folder + "/build");
  fs::create_directory_symlink(fs::path(DPMPI_PROGRAM).parent_path(), folder + "/build/release");
  std::ofstream(folder + "/tutorial.sh") << "set -e\n"
                                         << commands_of(read_file(DPMPI_SOURCE_DIR "/docs/guide/tutorial.md"));
  const testing::Outcome outcome = testing::run_command("cd " + folder + " && sh tutorial.sh", 120);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  for (const char* part :
       {"age,sector,hours,income", "noise multiplier", "method.clip", "accuracy", "everything fits together",
        "differential privacy under add_remove", "record,prediction,probability"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  for (const char* file : {"people/report.html", "people/certificate.json", "predictions.csv", "report.html"})
    EXPECT_TRUE(fs::exists(folder + "/runs/tutorial/" + file)) << file;
}

}  // namespace
}  // namespace dpmpi
