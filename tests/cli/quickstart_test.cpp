// The quickstart ends on one screen, and says what to look at next.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::quickstart_test {
namespace {

namespace fs = std::filesystem;

/// The width of a line on the screen, in UTF-8.
std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }));
}

// Built already: what compilers print is their own.
TEST(Quickstart, EndsOnOneScreen) {
  const std::string folder = ::testing::TempDir() + "dpmpi_Quickstart", source = DPMPI_SOURCE_DIR;
  fs::remove_all(folder);
  for (const char* part : {"launch", "configs", "build/release", "data"})
    fs::create_directories(folder + "/" + part);
  fs::copy(source + "/launch/quickstart", folder + "/launch/quickstart");
  fs::copy(source + "/launch/environment", folder + "/launch/environment");
  fs::copy(source + "/configs/quickstart.ini", folder + "/configs/quickstart.ini");
  fs::create_symlink(test::program(), folder + "/build/release/dpmpi");
  for (const char* step : {"setup", "build"}) {
    std::ofstream(folder + "/launch/" + step) << "#!/bin/sh\n";
    fs::permissions(folder + "/launch/" + step, fs::perms::owner_all);
  }
  const test::Outcome outcome = test::run_command(folder + "/launch/quickstart", 120);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::istringstream lines(outcome.output);
  constexpr std::size_t width = 100, height = 40;
  std::size_t shown = 0;  // a line that is longer than the screen is wide goes on in the next one
  for (std::string line; std::getline(lines, line);)
    shown += 1 + (std::max<std::size_t>(1, columns(line)) - 1) / width;
  EXPECT_LE(shown, height) << outcome.output;
  for (const char* part : {"(1, 1e-05)-differentially", "eval.accuracy", "runs/quickstart/report.html",
                           "docs/guide/tutorial.md", "(accountant", "everything fits together"})
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
  EXPECT_TRUE(fs::exists(folder + "/runs/quickstart/report.html"));
}

}  // namespace
}  // namespace dpmpi::quickstart_test
