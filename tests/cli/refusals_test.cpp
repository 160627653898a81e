// What is refused before anything is trained: configs, data and promises that cannot be, with a message that says
// what to do and quotes nobody's record.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/cli_folder.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

namespace dpmpi::refusals_test {
namespace {

namespace fs = std::filesystem;
using test::Cli;
using test::contains;
using test::Outcome;

TEST_F(Cli, AllConfigProblemsAreReportedAtOnce) {
  std::ofstream(folder() + "/bad.ini")
      << "[data]\ntrain = t.csv\nblocks = -3\n[objective]\nname = logistc\n[method]\nrate = fast\nclip = nan\n"
         "[privacy]\ndelta = 2\nadjacency = both\n[training]\nlr = 1\n";
  const Outcome outcome = dpmpi("--config " + folder() + "/bad.ini");
  EXPECT_EQ(outcome.code, 2);
  for (const char* part :
       {"bad.ini:3: data.blocks = -3", "bad.ini:5: objective.name = logistc is not known (did you mean logistic?)",
        "bad.ini:7: method.rate = fast", "bad.ini:8: method.clip = nan", "bad.ini:10: privacy.delta = 2",
        "bad.ini:11: privacy.adjacency = both", "needs privacy.epsilon",
        "bad.ini:13: unknown key training.lr; did you mean method.rate?"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
  std::ofstream(folder() + "/typo.ini")
      << read_file(folder() + "/base.ini") << "[method]\nlearning_rate = 3\nmomentun = 1\n";
  EXPECT_TRUE(contains(dpmpi("--config " + folder() + "/typo.ini").output,
                       "unknown key method.momentun; did you mean method.momentum?"));
}

TEST_F(Cli, KeysOfOtherProgramsMethodsAndSectionsAreToldByTheirNameHere) {
  const std::vector<std::pair<std::string, std::string>> meant{
      {"method.learning_rate", "did you mean method.rate?"},
      {"method.lr", "did you mean method.rate?"},
      {"method.max_grad_norm", "did you mean method.clip?"},
      {"method.weight_decay", "did you mean objective.l2?"},
      {"method.noise", "did you mean privacy.noise or privacy.noise_multiplier?"},
      {"objective.num_classes", "dpmpi help logistic lists what there is\n"},
      {"method.sigma", "did you mean privacy.noise_multiplier?"},
      {"method.epsilon", "did you mean privacy.epsilon?"},
      {"privacy.target", "did you mean privacy.epsilon?"},
      {"data.target", "did you mean data.label?"},
      {"data.path", "did you mean data.train?"},
      {"method.max_iter", "did you mean method.steps?"},
      {"method.b_max", "it is an option of gibo"},
      {"method.passes", "did you mean method.epochs?; it is an option of dp-ftrl, zo-naive, zo-o2nc"},
      {"objective.hidden", "it is an option of auc, mlp"},
      {"method.xyzxyzxyzxyz", "unknown key method.xyzxyzxyzxyz; dpmpi help dp-sgd lists what there is\n"},
      {"metod.rate", "did you mean method.rate?"},
      {"xx.y", "unknown key xx.y; sections are run, data, objective, method, privacy, report, audit, tune\n"},
      {"data.name", "did you mean objective.name or method.name?\n"},
      {"privacy.clip", "did you mean method.clip?\n"},
      {"data.csv", "did you mean data.train?\n"},
      {"method.points", "unknown key method.points; it is an option of random-search\n"}};
  std::string set;
  for (const auto& [key, hint] : meant) set += " --set " + key + "=1";
  const Outcome outcome = dpmpi(config() + set);
  EXPECT_EQ(outcome.code, 2);
  for (const auto& [key, hint] : meant) {
    const auto at = outcome.output.find("unknown key " + key);
    ASSERT_NE(at, std::string::npos) << key << "\n" << outcome.output;
    const std::string line = outcome.output.substr(at, outcome.output.find('\n', at) + 1 - at);
    EXPECT_TRUE(contains(line, hint)) << hint << "\n" << line;
  }
  EXPECT_TRUE(contains(dpmpi(config() + " --set method.name=zo-o2nc --set method.epochs=3").output,
                       "unknown key method.epochs; did you mean method.passes?; it is an option of"));
  EXPECT_TRUE(contains(dpmpi(config() + " --set method.name=ht-glm --set method.clip=1").output,
                       "unknown key method.clip; it is an option of"))
      << "and not of tune.clip";
}

TEST_F(Cli, TheNumberOfClassesIsAskedFor) {
  for (const char* objective : {"softmax", "mlp", "worst_group"}) {
    const std::string named = config() + " --set objective.name=" + objective;
    const Outcome outcome = dpmpi("plan " + named);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "objective.classes is not set")) << outcome.output;
    EXPECT_TRUE(contains(dpmpi("plan " + named + " --set objective.classes=0").output, "objective.classes = 0"));
  }
  EXPECT_EQ(dpmpi("plan " + config() + " --set objective.name=mlp --set objective.head=logistic").code, 0);
}

TEST_F(Cli, PositiveLabelsThatNoPublicRecordHasAreRefused) {
  const auto write = [&](const char* name, const char* negative, const char* positive, int from) {
    std::ofstream file(folder() + "/" + name);
    for (int i = 0; i < 100; ++i) file << (i % 2 == 0 ? negative : positive) << "," << from + i << ",1\n";
  };
  write("words.csv", "no", "yes", 0);
  write("words-eval.csv", "no", "yes", 100);
  write("no-eval.csv", "no", "no", 200);
  const auto with = [&](const std::string& more) {
    return dpmpi("-q " + config() + " --set data.train=words.csv --set data.label=first --set data.header=no " +
                 "--set method.batch=10 --set privacy.delta=1e-3 --set run.dir=" + folder() + "/words " + more);
  };
  for (const char* positive : {"Yes", "1"}) {
    const Outcome outcome = with(std::string("--set data.eval=words-eval.csv --set data.positive=") + positive);
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, std::string("data.positive = ") + positive + ": ")) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "public file data.eval")) << outcome.output;
  }
  EXPECT_EQ(with("--set data.eval=no-eval.csv --set data.positive=yes").code, 3);
  const Outcome warned = with("--set data.eval=no-eval.csv --set data.positive=no");
  EXPECT_EQ(warned.code, 0) << warned.output;
  EXPECT_TRUE(contains(warned.output, "all records of data.eval have the same label")) << warned.output;
  // Of private labels nothing is said.
  EXPECT_EQ(with("--set data.eval= --set data.positive=Yes --set run.dir=" + folder() + "/yes").code, 0);
}

TEST_F(Cli, ATakenFolderIsRefusedBeforeDataAreLookedFor) {
  const std::string run = folder() + "/taken";
  ASSERT_EQ(dpmpi("-q " + config() + " --set run.dir=" + run).code, 0);
  const Outcome outcome = dpmpi("-q " + config() + " --set data.train=absent.csv --set run.dir=" + run);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "already holds a finished run")) << outcome.output;
}

TEST_F(Cli, AFolderThatCannotBeIsRefusedBeforeDataAreLookedFor) {
  const std::string file = folder() + "/t.csv";
  for (const std::string& dir : {file, file + "/below/it"}) {
    const Outcome outcome = dpmpi("-q " + config() + " --set data.train=absent.csv --set run.dir=" + dir);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "config error: run.dir = " + dir + ": " + file + " is no folder"))
        << outcome.output;
  }
}

TEST_F(Cli, AnEpsilonThatLeavesNoNoiseIsNotBlamedOnDelta) {
  const Outcome outcome = dpmpi("plan " + config() + " --set privacy.epsilon=1000");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "Choose a smaller privacy.epsilon")) << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "delta")) << outcome.output;
}

TEST_F(Cli, RefusalsOfPrivacyExitWith4) {
  EXPECT_EQ(dpmpi(config() + " --set privacy.delta=0.01").code, 4);
  EXPECT_EQ(dpmpi(config() + " --set method.sampling=wor").code, 4);
  EXPECT_EQ(dpmpi(config() + " --set data.normalize=standard").code, 2);
}

TEST_F(Cli, TrainingRecordsAreNoEvaluationSet) {
  const Outcome outcome = dpmpi(config() + " --set data.eval=t.csv --set run.dir=" + folder() + "/same");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "is also a training file")) << outcome.output;
  fs::create_symlink(folder() + "/t.csv", folder() + "/link.csv");
  EXPECT_EQ(dpmpi(config() + " --set data.train= --set data.shards=t.csv,t-eval.csv --set data.eval=link.csv").code,
            4);
}

// A table that is not understood: its first line may be a private record.
TEST_F(Cli, NoMessageQuotesAPrivateRecord) {
  std::ofstream(folder() + "/odd.csv") << "SECRET;1;2\n3;4;5\n";
  for (const char* command : {"", "plan "}) {
    const Outcome outcome = dpmpi(command + config() + " --set data.train=odd.csv --set data.header=no");
    EXPECT_TRUE(outcome.code == 2 || outcome.code == 3) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "odd.csv")) << outcome.output;
    EXPECT_FALSE(contains(outcome.output, "SECRET")) << outcome.output;
  }
  EXPECT_TRUE(contains(
      dpmpi(config() + " --set data.train=odd.csv --set data.header=no --set data.show_values=true").output,
      "SECRET"));
}

TEST_F(Cli, DeltaBelowWhatTheSamplerCanKeepIsRefused) {
  const Outcome outcome = dpmpi("plan " + config() + " --set privacy.delta=1e-300");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "too small for noise that ends at 10.5")) << outcome.output;
  EXPECT_EQ(dpmpi("plan " + config() + " --set privacy.delta=1e-12").code, 0);
}

}  // namespace
}  // namespace dpmpi::refusals_test
