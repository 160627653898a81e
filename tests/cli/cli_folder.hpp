#pragma once
// A folder with generated data and a config, and the program as its users type it.

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test {

class Cli : public ::testing::Test {
 protected:
  static Outcome dpmpi(const std::string& arguments) {
    return run_command(fmt::format("{} {}", program(), arguments));
  }
  static void SetUpTestSuite() {
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --records 10 --output " + folder() + "/new/folder/t.csv").code, 0);
    ASSERT_TRUE(std::filesystem::exists(folder() + "/new/folder/t-eval.csv"));
    ASSERT_EQ(dpmpi("generate --output " + folder() + "/t.csv --records 2000 --eval-records 500").code, 0);
    std::ofstream(folder() + "/base.ini")
        << "[data]\ntrain = t.csv\neval = t-eval.csv\nblocks = 4\n[method]\nbatch = 100\nepochs = 5\nrate = 2\n"
           "[privacy]\nepsilon = 2\ndelta = 1e-5\n";
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_cli"; }
  static std::string config() { return "--config " + folder() + "/base.ini"; }
  static nlohmann::json file(const std::string& path) { return nlohmann::json::parse(dpmpi::read_file(path)); }
};

}  // namespace dpmpi::test
