// Whole runs of every registered method whose columns are prepared first: one promise for both, the planned events
// in the ledger, and the same bytes after kills in the preparation and behind it.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/certify/verify.hpp"
#include "run/preparation/prepared_runs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::test::every_method_prepares_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class EveryMethodPrepares : public RunFolder, public ::testing::WithParamInterface<PreparedRun> {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_prepared_data(folder_, folder_ + "/");
    config_ = folder_ + "/prepared.ini";
  }
  /// A run directory that verify finds nothing wrong with, and that has both parts in one promise.
  static void expect_one_promise(const std::string& run) {
    for (const VerifiedItem& item : verify_run(run))
      EXPECT_NE(item.state, VerifiedItem::State::bad) << item.place << ": " << item.detail;
    const json plan = json::parse(read_file(run + "/plan.json"));
    EXPECT_EQ(plan["events"], json::parse(read_file(run + "/certificate.json"))["events"]);
    std::size_t of_preparation = 0;
    for (const json& query : plan["noise"]) of_preparation += query["site"].get<std::string>().starts_with("col_");
    EXPECT_EQ(of_preparation, 4U);
    EXPECT_GT(plan["noise"].size(), of_preparation);
    EXPECT_FALSE(plan["noise"][0]["site"].get<std::string>().starts_with("col_"))
        << "those of the method come first";
  }
};

TEST_P(EveryMethodPrepares, AndGoesOnWhereItWasKilled) {
  const std::string settings = fmt::format("{} {}", config_, fmt::join(GetParam().settings, " "));
  const std::string whole = folder_ + "/whole";
  const Outcome left_alone = alone("none", fmt::format("{} run.dir={}", settings, whole));
  ASSERT_EQ(left_alone.code, 0) << left_alone.output;
  expect_one_promise(whole);
  std::string what = fmt::format("{} run.dir={}", settings, run_);
  int ranks = 2;
  for (const char* fault : {"release@0#2=kill", "release@0#5=kill", "prepared@0#1=killall", "release@0#3=kill"}) {
    ASSERT_NE(launch_when_free(ranks, fault, what).code, 0) << fault;
    ASSERT_FALSE(fs::exists(run_ + "/certificate.json")) << fault;
    ranks = ranks % 3 + 1;
    what = run_;
  }
  const Outcome resumed = launch_when_free(ranks, "none", run_);
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  expect_same_bytes(whole, run_);
  EXPECT_EQ(read_file(whole + "/preparation.json"), read_file(run_ + "/preparation.json"));
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryMethodPrepares, ::testing::ValuesIn(prepared_runs()), [](const auto& c) {
  std::string word = fmt::format("{}_{}", c.param.method, c.index);
  std::ranges::replace(word, '-', '_');
  return word;
});

}  // namespace
}  // namespace dpmpi::test::every_method_prepares_test
