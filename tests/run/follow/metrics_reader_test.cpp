#include "run/follow/metrics_reader.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "run/directory/files.hpp"

namespace dpmpi::metrics_reader_test {
namespace {

namespace fs = std::filesystem;

class Metrics : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file(folder_ + "/plan.json", "{}");
  }
  void write(const std::string& text) const { write_file(folder_ + "/metrics.jsonl", text); }
  static std::vector<std::uint64_t> steps(MetricsReader& reader) {
    std::vector<std::uint64_t> seen;
    reader.read([&](std::uint64_t step, const MetricsLine&) { seen.push_back(step); });
    return seen;
  }
  std::string folder_ = ::testing::TempDir() + "dpmpi_Metrics";
};
using Steps = std::vector<std::uint64_t>;

TEST_F(Metrics, EachWholeLineIsReadOnceThoughItComesInPieces) {
  MetricsReader reader(folder_);
  EXPECT_EQ(steps(reader), Steps()) << "no file yet";
  write("{\"step\":0}\n{\"st");
  EXPECT_EQ(steps(reader), Steps{0});
  EXPECT_EQ(steps(reader), Steps());
  write("{\"step\":0}\n{\"step\":5}\n{\"step\":9}");
  EXPECT_EQ(steps(reader), Steps{5});
  write("{\"step\":0}\n{\"step\":5}\n{\"step\":9}\n");
  EXPECT_EQ(steps(reader), Steps{9});
}

// A run that goes on from a checkpoint writes the lines behind it again.
TEST_F(Metrics, LinesThatAreWrittenAgainAreLeftOut) {
  MetricsReader reader(folder_);
  write("{\"step\":0}\n{\"step\":5}\n{\"step\":10}\n");
  EXPECT_EQ(steps(reader), (Steps{0, 5, 10}));
  write("{\"step\":0}\n{\"step\":5}\n");
  EXPECT_EQ(steps(reader), Steps());
  write("{\"step\":0}\n{\"step\":5}\n{\"step\":10}\n{\"step\":15}\n");
  EXPECT_EQ(steps(reader), Steps{15});
}

TEST_F(Metrics, WhatNoRunWritesIsRefusedWithItsLine) {
  for (const char* line : {"[]", "{}", "{\"step\":-1}", "{\"step\":\"3\"}", "nothing"}) {
    write(std::string("{\"step\":0}\n") + line + "\n");
    MetricsReader reader(folder_);
    try {
      steps(reader);
      ADD_FAILURE() << line;
    } catch (const DataError& e) {
      EXPECT_NE(std::string(e.what()).find("metrics.jsonl:2: "), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(MetricsReader(::testing::TempDir() + "nowhere"), ConfigError);
}

}  // namespace
}  // namespace dpmpi::metrics_reader_test
