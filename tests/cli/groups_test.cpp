// Runs of `worst_group` as users meet them: the column that holds the group is no input of what they train.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::groups_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class Groups : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    for (const bool other : {false, true}) {
      write_records(other ? "other.csv" : "train.csv", 300, 0, other);
      write_records(other ? "other-eval.csv" : "eval.csv", 90, 1, other);
    }
    std::ofstream(path("t.ini"))
        << "[data]\ntrain = train.csv\neval = eval.csv\nheader = yes\nblocks = 4\n[objective]\nname = worst_group\n"
           "head = logistic\ngroup_sizes = 200,100\ngroup_feature = 2\n[method]\nname = dp-sgda\nbatch = 50\n"
           "epochs = 3\nclip = 2\ndual_clip = 3\n[privacy]\nepsilon = 5\ndelta = 1e-3\n";
    const Outcome trained = dpmpi("--quiet --config t.ini --set run.dir=run");
    ASSERT_EQ(trained.code, 0) << trained.output;
  }
  /// One record in three is in group 1, where the label follows the other feature. `other`: all change their group.
  static void write_records(const std::string& name, int count, int shift, bool other) {
    std::ofstream file(path(name));
    file << "label,age,group,pay\n";
    for (int i = 0; i < count; ++i) {
      const int group = i % 3 == 0 ? 1 : 0;
      const double age = 0.1 * ((7 * i + shift) % 13 - 6), pay = 0.1 * ((5 * i + shift) % 11 - 5);
      file << ((group ? pay : age) > 0 ? 1 : -1) << ',' << age << ',' << (other ? 1 - group : group) << ',' << pay
           << '\n';
    }
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Groups"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }
};

TEST_F(Groups, NoWeightIsPublishedForTheGroupsColumn) {
  const auto weight = read_tensor(path("run/model.safetensors"), "weight", 100);
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->values.size(), 2U) << "age and pay";
  EXPECT_EQ(json::parse(read_file(path("run/plan.json")))["dim"], 2 + 1 + 2);
  EXPECT_EQ(json::parse(read_file(path("run/assessment.json")))["features"], json({"age", "pay"}));
  EXPECT_EQ(dpmpi("verify run").code, 0);
  EXPECT_EQ(dpmpi("report run --output page.html").code, 0);
  const std::string page = read_file(path("page.html"));
  for (const char* name : {"<td>age</td>", "<td>pay</td>"}) EXPECT_TRUE(contains(page, name)) << name;
  EXPECT_FALSE(contains(page, "<td>group</td>"));
}

TEST_F(Groups, WeightsOfFilesWithoutNamesKeepTheNumbersOfTheirFeatures) {
  for (const char* name : {"train.csv", "eval.csv"}) {
    const std::string text = read_file(path(name));
    std::ofstream(path(std::string("bare-") + name)) << text.substr(text.find('\n') + 1);
  }
  const Outcome trained = dpmpi(
      "--quiet --config t.ini --set run.dir=bare --set data.train=bare-train.csv --set data.eval=bare-eval.csv "
      "--set data.header=no --set data.label=first");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_EQ(dpmpi("report bare --output page.html").code, 0);
  const std::string page = read_file(path("page.html"));
  for (const char* name : {"<td>feature 1</td>", "<td>feature 3</td>"}) EXPECT_TRUE(contains(page, name)) << name;
  EXPECT_FALSE(contains(page, "<td>feature 2</td>"));
}

TEST_F(Groups, AFinishedRunSaysHowEveryGroupFares) {
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi("evaluate run --json", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const json said = json::parse(outcome.output)["metrics"];
    const std::string metrics = read_file(path("run/metrics.jsonl"));
    const json last = json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
    for (const char* name : {"group_0.accuracy", "group_1.loss", "worst_group.loss", "worst_group.accuracy"})
      EXPECT_EQ(said[name], last[fmt::format("eval.{}", name)]) << name;
    const json groups = json::parse(outcome.output)["by_group"];
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[1]["group"], "1");
    EXPECT_EQ(groups[1]["records"], 30);
    EXPECT_EQ(groups[1]["metrics"]["accuracy"], said["group_1.accuracy"]);
    EXPECT_EQ(groups[1]["intervals"]["balanced_accuracy"].size(), 2U);
    EXPECT_FALSE(groups[1]["metrics"].contains("loss")) << "which the objective measures";
  }
}

TEST_F(Groups, PredictionsDoNotFollowTheGroup) {
  for (const int ranks : {1, 3})
    for (const char* name : {"eval.csv", "other-eval.csv"}) {
      const Outcome outcome = dpmpi(fmt::format("predict run --data {1} --output {0}-{1}", ranks, name), ranks);
      ASSERT_EQ(outcome.code, 0) << outcome.output;
    }
  const std::string predicted = read_file(path("1-eval.csv"));
  EXPECT_GT(predicted.size(), 90U);
  for (const char* same : {"1-other-eval.csv", "3-eval.csv", "3-other-eval.csv"})
    EXPECT_EQ(read_file(path(same)), predicted) << same;
}

TEST_F(Groups, AGroupsColumnThatThereIsNotIsNamed) {
  for (const int ranks : {1, 3})
    for (const char* command : {"check t.ini", "plan --config t.ini", "--config t.ini"}) {
      const Outcome outcome = dpmpi(fmt::format("{} --set objective.group_feature=4", command), ranks);
      EXPECT_EQ(outcome.code, 2) << outcome.output;
      EXPECT_TRUE(contains(outcome.output, "objective.group_feature = 4, allowed: a feature, 1 to 3, or 0"))
          << outcome.output;
    }
}

// Its options are not those of this version, and its model has a weight more.
TEST_F(Groups, ARunWhoseModelSawTheGroupIsRefusedInOneLine) {
  fs::copy(path("run"), path("old"), fs::copy_options::recursive);
  std::string config = read_file(path("old/config.ini"));
  const std::size_t at = config.find("group_input = ");
  ASSERT_NE(at, config.npos);
  config.erase(at, config.find('\n', at) + 1 - at);
  config.insert(at, "group_input = true\n");
  std::ofstream(path("old/config.ini")) << config;
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi("evaluate old", ranks);
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "is not the config of this run, or a version of dpmpi with other options"))
        << outcome.output;
  }
}

}  // namespace
}  // namespace dpmpi::groups_test
