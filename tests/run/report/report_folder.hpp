#pragma once
// A folder with three short runs, and how their reports are read.

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test {

class Report : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Report"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments) {
    return run_command(fmt::format("cd {} && {} {}", folder(), program(), arguments));
  }

  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(path(to));
    std::filesystem::copy(path(from), path(to));
  }

  static void SetUpTestSuite() {
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 500 --eval-records 100 --features 4").code, 0);
    std::ofstream(path("a.ini")) << "[data]\ntrain = t.csv\neval = t-eval.csv\n[method]\nbatch = 50\nsteps = 40\n"
                                    "[privacy]\nepsilon = 2\ndelta = 1e-4\n";
    std::ofstream(path("b.ini"))
        << "[data]\ntrain = t.csv\neval = t-eval.csv\n[privacy]\nepsilon = 2\ndelta = 1e-4\n";
    const std::string words = "--config a.ini --set report.progress=none --set run.dir=";
    ASSERT_EQ(dpmpi(words + "one").code, 0);
    ASSERT_EQ(dpmpi(words + "two --quiet --set method.rate=0.01").code, 0);
    ASSERT_EQ(dpmpi(words + "public --set privacy.noise=none").code, 0);
  }

  /// How often `part` stands in `text`.
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
    return found;
  }
  /// What people read: without markup, style and what stands between tags.
  static std::string words_of(const std::string& page) {
    std::string words;
    bool inside = false;
    for (const char c : page.substr(page.find("<body>"))) {
      if (c == '<') inside = true, words += ' ';
      if (!inside) words += c;
      if (c == '>') inside = false;
    }
    return words;
  }
};

}  // namespace dpmpi::test
