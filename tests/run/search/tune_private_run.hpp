#pragma once
// A run of a search whose models are trained on a second private set, its plan, and what ends it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "run/directory/files.hpp"
#include "run/search/tune_private.hpp"
#include "run/search/tuning_folder.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test {

class TunePrivateRun : public ::testing::Test {
 protected:
  using Settings = std::vector<std::string>;

  void SetUp() override { here_.make(); }

  ExitCode run(const std::string& directory, Settings settings = {}) const {
    settings.push_back("run.dir=" + directory);
    return train(alone_, RunConfig(here_.config(), settings), {.quiet = true});
  }
  ExitCode resume(const std::string& directory) const {
    return train(alone_, RunConfig(directory + "/config.ini", {"run.max_hours=0"}),
                 {.resume = directory, .quiet = true});
  }
  Outcome faulty(const std::string& fault, const std::string& what, int ranks = 1) const {
    return run_command(fmt::format("{}{} {} {}", ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "",
                                   fault_program(), fault, what),
                       60);
  }
  std::uint64_t trainings_paid(const std::string& directory) const {
    const std::string text = dpmpi::read_file(directory + "/training_ledger.jsonl");
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) - 1;
  }
  nlohmann::json read(const std::string& file) const {
    return nlohmann::json::parse(dpmpi::read_file(here_.path + "/" + file));
  }
  std::string whole() const { return here_.path + "/whole"; }

  /// Config and facts of the search, its objective, and the plan.
  struct Search {
    Search(const TuningFolder& here, const Settings& settings)
        : config(here.config(), settings), files(config.find_files()) {
      facts.data = inspect(Communicator::alone(), files.training);
      objective = dpmpi::make_objective(config, facts.data);
      facts = public_facts(config, facts.data, *objective);
      plan = make_plan(config, facts);
    }
    PrivateTuning& tuning() { return dynamic_cast<PrivateTuning&>(*objective); }
    RunConfig config;
    DataFiles files;
    PublicFacts facts;
    std::unique_ptr<Objective> objective;
    Plan plan;
  };
  /// The message of the error that planning ends with.
  std::string refusal(const Settings& settings) const {
    try {
      Search search(here_, settings);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  TuningFolder here_{::testing::TempDir() + "dpmpi_tune_private"};
  Communicator alone_ = Communicator::alone();
};

}  // namespace dpmpi::test
