// An exception on one rank ends the whole job within seconds, with the right exit code and that rank's message.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/synthetic/generate.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::failure_test {
namespace {

namespace fs = std::filesystem;
using test::run_command;

class Failure : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    GenerateOptions options;
    options.records = 400, options.eval_records = 0, options.features = 5;
    options.output = folder_ + "/train.csv";
    generate(options);
    std::ofstream(config_) << "[run]\ndir = " << folder_
                           << "/run\ncheckpoint_every = 5\n[data]\nblocks = 4\ntrain = " << folder_
                           << "/train.csv\nheader = yes\n[method]\nbatch = 50\nsteps = "
                              "40\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\n";
  }
  std::string folder_ = ::testing::TempDir() + "dpmpi_failure", config_ = folder_ + "/run.ini";
};

TEST_F(Failure, AnyRankInAnyPhaseEndsTheJobInSecondsAndIsNamed) {
  int step = 3;  // other steps for other ranks
  for (const char* phase : {"load", "step", "save"})
    for (const int rank : {0, 1, 2}) {
      fs::remove_all(folder_ + "/run");
      step = (step * 7 + 4) % 31;
      const auto outcome = run_command(
          fmt::format("mpirun -n 3 {} {}@{}#{}=throw {}", test::fault_program(), phase, rank,
                      std::string(phase) == "load" ? 1 : 1 + step % (std::string(phase) == "save" ? 7 : 40),
                      config_),
          60);
      EXPECT_EQ(outcome.code, 70) << phase << " on rank " << rank << "\n" << outcome.output;
      EXPECT_LT(outcome.seconds, 20);
      EXPECT_NE(outcome.output.find(fmt::format("dpmpi: rank {}/3 on ", rank)), std::string::npos)
          << outcome.output;
      EXPECT_NE(outcome.output.find(fmt::format("injected fault in {}", phase)), std::string::npos)
          << outcome.output;
    }
}

TEST_F(Failure, WhatAllRanksSeeIsPrintedOnce) {
  const auto count = [](const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  // A config error, before MPI starts.
  auto outcome =
      run_command(fmt::format("mpirun -n 3 {} --config {} --set method.rate=-1", test::program(), config_));
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_EQ(count(outcome.output, "method.rate = -1 is not allowed; it must be > 0"), 1) << outcome.output;
  // A data error in one line of the file.
  std::ofstream(folder_ + "/train.csv", std::ios::app) << "1,2,3,oops,4,5\n";
  outcome = run_command(fmt::format("mpirun -n 3 {} --config {}", test::program(), config_));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_EQ(count(outcome.output, "train.csv:402"), 1) << outcome.output;
  EXPECT_EQ(count(outcome.output, "oops"), 0) << "a private value must not reach the log\n" << outcome.output;
  outcome =
      run_command(fmt::format("mpirun -n 3 {} --config {} --set data.show_values=true", test::program(), config_));
  EXPECT_EQ(count(outcome.output, "oops"), 1) << outcome.output;
  // More ranks than blocks.
  outcome = run_command(fmt::format("mpirun -n 5 {} --config {}", test::program(), config_));
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_EQ(count(outcome.output, "Set data.blocks = 5 or more"), 1) << outcome.output;
}

}  // namespace
}  // namespace dpmpi::failure_test
