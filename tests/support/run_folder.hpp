#pragma once
// A small training run in a folder of its own, started through mpirun with one injected fault.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/synthetic/generate.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test {

class RunFolder : public ::testing::Test {
 protected:
  /// 400 records, 4 blocks, 240 steps, a checkpoint every 30, in a folder named after the suite.
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    GenerateOptions options;
    options.records = 400, options.eval_records = 100, options.features = 5;
    options.output = folder_ + "/train.csv";
    generate(options);
    std::ofstream(config_) << "[run]\ndir = " << folder_
                           << "/run\ncheckpoint_every = 30\n[data]\nblocks = 4\ntrain = " << folder_
                           << "/train.csv\neval = " << folder_
                           << "/train-eval.csv\n[method]\nbatch = 50\nmomentum = 0.5\nsteps = 240\n[privacy]\n"
                              "noise_multiplier = 1\ndelta = 1e-4\n[report]\neval_every = 20\n";
  }

  /// `what`: a config or a run directory to go on with, and settings. See fault_program.cpp for `fault`.
  static Outcome launch(int ranks, const std::string& fault, const std::string& what) {
    if (ranks == 1) return alone(fault, what);
    return run_command(fmt::format("mpirun -n {} {} {} {}", ranks, test::fault_program(), fault, what), 60);
  }

  /// Ranks that outlive a killed one hold the directory for a moment.
  static Outcome launch_when_free(int ranks, const std::string& fault, const std::string& what) {
    Outcome outcome;
    for (int attempt = 0; attempt < 100; ++attempt) {
      outcome = launch(ranks, fault, what);
      if (!contains(outcome, "is in use by")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return outcome;
  }

  /// The same on one rank without mpirun, which takes a fraction of the time.
  static Outcome alone(const std::string& fault, const std::string& what) {
    return run_command(fmt::format("{} {} {}", test::fault_program(), fault, what), 60);
  }

  /// What two runs leave for their users is the same, byte for byte.
  static void expect_same_bytes(const std::string& whole, const std::string& other, const std::string& how = "") {
    for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json", "plan.json"})
      EXPECT_EQ(read_file(whole + "/" + name), read_file(other + "/" + name)) << name << " " << how;
  }
  static bool contains(const Outcome& outcome, const std::string& part) {
    return outcome.output.find(part) != std::string::npos;
  }

  std::string folder_ =
      ::testing::TempDir() + "dpmpi_" + ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  std::string config_ = folder_ + "/run.ini", run_ = folder_ + "/run";
};

}  // namespace dpmpi::test
