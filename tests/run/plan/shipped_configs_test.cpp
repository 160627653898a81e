// Every config that is shipped can be read, and is planned where its data are.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "run/config/config.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi::shipped_configs_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> shipped_configs() {
  std::vector<std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(DPMPI_SOURCE_DIR "/configs"))
    if (entry.path().extension() == ".ini") all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

/// What a machine lacks on which the config itself is right.
bool lacks_files(const std::string& message) {
  return message.find("was not found") != message.npos || message.find("cannot load the plugin") != message.npos;
}

void plan_again(const std::string& path) {
  const RunConfig config(path, {});
  const DatasetFacts data = inspect(Communicator::alone(), config.find_files().training);
  const auto objective = make_objective(config, data);
  const PublicFacts facts = public_facts(config, data, *objective);
  EXPECT_GT(make_plan(config, facts).steps, 0U) << path;
}

TEST(ShippedConfigs, AllAreReadAndPlannedWhereTheirDataAre) {
  std::size_t planned = 0, skipped = 0;
  for (const std::string& path : shipped_configs()) try {
      plan_again(path);
      ++planned;
    } catch (const std::exception& e) {
      if (!lacks_files(e.what())) ADD_FAILURE() << path << ": " << e.what();
      std::cout << "not planned: " << path << ": " << e.what() << "\n";
      ++skipped;
    }
  std::cout << planned << " configs planned, " << skipped << " read only as far as their files are here\n";
  EXPECT_GT(planned + skipped, 0U);
}

}  // namespace
}  // namespace dpmpi::shipped_configs_test
