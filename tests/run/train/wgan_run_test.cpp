// Whole runs of a generator and a critic: what they leave, and what they refuse.
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/png_reader.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::wgan_run_test {
namespace {

class WganRun : public test::RunFolder {
 protected:
  std::string with(const std::string& run, const std::string& more = "") const {
    return fmt::format(
        "{} run.dir={} objective.name=wgan objective.image_rows=1 objective.image_columns=5 objective.latent=2 "
        "objective.generator=4 objective.critic=6 objective.fakes=16 objective.dual_radius=2 "
        "method.name=private-diff "
        "method.momentum=0 method.steps=40 method.rate=0.5 method.dual_clip=1 method.dual_rate=0.1 privacy.seed=5 {}",
        config_, run, more);
  }
};

// A killed run goes on to the same sheet, metrics and model as a whole one.
TEST_F(WganRun, LeavesASheetOfSamplesAndTheEstimate) {
  const std::string whole = folder_ + "/whole", killed = folder_ + "/killed";
  const auto outcome = alone("none", with(whole));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const GreyImage sheet = test::read_png(read_file(whole + "/samples.png"));
  EXPECT_EQ(sheet.width, 8 * 6 - 1U);
  EXPECT_EQ(sheet.height, 8 * 2 - 1U);
  EXPECT_GT(std::set<std::uint8_t>(sheet.pixels.begin(), sheet.pixels.end()).size(), 20U);
  std::istringstream metrics(read_file(whole + "/metrics.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    const auto metric = nlohmann::json::parse(line);
    EXPECT_TRUE(metric["eval.wasserstein"].is_number());
    EXPECT_FALSE(metric.contains("eval.loss"));
  }
  EXPECT_EQ(lines, 3) << "of the start point, too";

  ASSERT_EQ(alone("step@0#36=kill", with(killed)).code, 137);
  ASSERT_EQ(alone("none", killed).code, 0);
  for (const char* name : {"samples.png", "metrics.jsonl", "model.safetensors", "ledger.jsonl", "certificate.json"})
    EXPECT_EQ(read_file(whole + "/" + name), read_file(killed + "/" + name)) << name;
}

TEST_F(WganRun, OfClassesEndsWithTheSameBytesOnOtherRanksAndAfterAKill) {
  const std::string whole = folder_ + "/whole", ranks = folder_ + "/ranks", killed = folder_ + "/killed";
  const std::string classes = "objective.classes=2 data.label_map=-1:0,1:1";
  ASSERT_EQ(alone("none", with(whole, classes)).code, 0);
  ASSERT_EQ(launch(3, "none", with(ranks, classes)).code, 0);
  ASSERT_EQ(launch(2, "step@0#36=kill", with(killed, classes)).code, 137);
  ASSERT_EQ(launch_when_free(3, "none", killed).code, 0);
  for (const std::string& other : {ranks, killed}) {
    expect_same_bytes(whole, other);
    EXPECT_EQ(read_file(whole + "/samples.png"), read_file(other + "/samples.png"));
  }
}

TEST_F(WganRun, WithACriticOfLayersEndsWithTheSameBytesOnOtherRanksAndAfterAKill) {
  const std::string whole = folder_ + "/whole", ranks = folder_ + "/ranks", killed = folder_ + "/killed";
  const std::string layers = "objective.critic=64 \"objective.layers=conv 3 1x2, leaky_relu, flatten, dense 1\"";
  ASSERT_EQ(alone("none", with(whole, layers)).code, 0);
  ASSERT_EQ(launch(3, "none", with(ranks, layers)).code, 0);
  ASSERT_EQ(launch(2, "step@0#36=kill", with(killed, layers)).code, 137);
  ASSERT_EQ(launch_when_free(3, "none", killed).code, 0);
  for (const std::string& other : {ranks, killed}) {
    expect_same_bytes(whole, other);
    EXPECT_EQ(read_file(whole + "/samples.png"), read_file(other + "/samples.png"));
  }
}

TEST_F(WganRun, WithAGeneratorOfLayersEndsWithTheSameBytesOnOtherRanksAndAfterAKill) {
  const std::string whole = folder_ + "/whole", ranks = folder_ + "/ranks", killed = folder_ + "/killed";
  const std::string layers =
      "objective.generator=128,256 \"objective.generator_layers=dense 6, unflatten 2x1x3, tanh, upsample 2, conv 1 2\"";
  ASSERT_EQ(alone("none", with(whole, layers)).code, 0);
  ASSERT_EQ(launch(3, "none", with(ranks, layers)).code, 0);
  ASSERT_EQ(launch(2, "step@0#36=kill", with(killed, layers)).code, 137);
  ASSERT_EQ(launch_when_free(3, "none", killed).code, 0);
  for (const std::string& other : {ranks, killed}) {
    expect_same_bytes(whole, other);
    EXPECT_EQ(read_file(whole + "/samples.png"), read_file(other + "/samples.png"));
  }
}

TEST_F(WganRun, RefusesWhatDoesNotFit) {
  for (const char* more : {"objective.image_columns=4", "objective.image_rows=5", "method.name=dp-sgd"}) {
    const auto outcome = alone("none", with(folder_ + "/refused", more));
    EXPECT_EQ(outcome.code, 2) << more << "\n" << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/refused/ledger.jsonl"));
  }
}

}  // namespace
}  // namespace dpmpi::wgan_run_test
