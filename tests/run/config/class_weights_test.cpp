// Weights of classes by the words of labels: what they mean, and what is said of those that mean nothing.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/class_weights.hpp"
#include "run/config/config.hpp"
#include "run/config/recipe.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::class_weights_config_test {
namespace {

using Weights = std::vector<double>;

class ClassWeightsConfig : public ::testing::Test {
 protected:
  ClassWeightsConfig() { folder_.write("config.ini", "[data]\ntrain = a.csv\n[privacy]\nepsilon = 1\n"); }
  RunConfig with(const std::vector<std::string>& settings) const {
    return RunConfig(folder_.file("config.ini"), settings);
  }
  static Weights of(const RunConfig& config) {
    const auto objective = config.objective->make({3});
    const ClassWeights& weights = objective->class_weights();
    Weights all;
    for (std::size_t k = 0; k < weights.size(); ++k) all.push_back(weights[k]);
    return all;
  }
  Weights of(const std::vector<std::string>& settings) const { return of(with(settings)); }
  std::string refusal(const std::vector<std::string>& settings) const {
    return message_of<ConfigError>([&] { with(settings); });
  }

  const Folder folder_;
};

TEST_F(ClassWeightsConfig, LabelsMeanWhatTheyMeanInTheFile) {
  EXPECT_EQ(of({"objective.name=logistic"}), Weights());
  EXPECT_EQ(of({"objective.class_weights=1:13"}), (Weights{1.0 / 13, 1})) << "others weigh 1";
  EXPECT_EQ(of({"objective.class_weights=0:0.5, 1: 13"}), (Weights{0.5 / 13, 1}));
  EXPECT_EQ(of({"objective.class_weights=+1:13,-1:2"}), (Weights{2.0 / 13, 1}));
  EXPECT_EQ(of({"objective.class_weights=no: 1, yes: 13", "data.positive=yes"}), (Weights{1.0 / 13, 1}));
  EXPECT_EQ(of({"objective.class_weights=dead:13", "data.positive=ill,dead"}), (Weights{1.0 / 13, 1}));
  EXPECT_EQ(of({"objective.name=softmax", "objective.classes=3", "objective.class_weights=2:5"}),
            (Weights{0.2, 0.2, 1}));
  EXPECT_EQ(of({"objective.name=mlp", "objective.classes=2", "objective.class_weights=b:5,a:2",
                "data.label_map=a:0,b:1"}),
            (Weights{0.4, 1}));
  EXPECT_EQ(of({"objective.name=mlp", "objective.head=ramp", "objective.class_weights=1:5"}), (Weights{0.2, 1}));
}

// So that the clip leaves of them what it leaves of losses without weights.
TEST_F(ClassWeightsConfig, OnlyTheirRatiosMatter) {
  EXPECT_EQ(of({"objective.class_weights=0:1,1:8"}), (Weights{0.125, 1}));
  EXPECT_EQ(of({"objective.class_weights=0:0.125"}), (Weights{0.125, 1}));
  EXPECT_EQ(of({"objective.class_weights=0:1000,1:8000"}), (Weights{0.125, 1}));
}

TEST_F(ClassWeightsConfig, WordsOfAColumnsFileAreThoseOfItsLabel) {
  folder_.write("c.txt", "x number\ny label positive=sick\n");
  EXPECT_EQ(of({"data.columns=c.txt", "objective.class_weights=well:2,sick:13"}), (Weights{2.0 / 13, 1}));
  folder_.write("c.txt", "x number\ny label classes=small,big\n");
  EXPECT_EQ(
      of({"data.columns=c.txt", "objective.name=softmax", "objective.classes=2", "objective.class_weights=big:4"}),
      (Weights{0.25, 1}));
}

TEST_F(ClassWeightsConfig, EveryEntryThatIsWrongIsTold) {
  const std::string message =
      refusal({"objective.class_weights=1:0, 2:3, 0:nan, -1:1e7, yes, 1:x", "method.clip=-1"});
  EXPECT_MENTIONS(message, "the weight '0' is not allowed: a number from 1e-06 to 1000000 is (data.only_labels");
  EXPECT_MENTIONS(message, "'2' is no label; labels are -1 and +1 (or 0 and 1)");
  EXPECT_MENTIONS(message, "the weight 'nan' is not allowed");
  EXPECT_MENTIONS(message, "the weight '1e7' is not allowed");
  EXPECT_MENTIONS(message, "objective.class_weights = yes: entries are written name:value");
  EXPECT_MENTIONS(message, "the weight 'x' is not allowed");
  EXPECT_MENTIONS(message, "method.clip");
  EXPECT_MENTIONS(refusal({"objective.class_weights=0:1,-1:2"}), "'0' and '-1' are both of class -1");
  EXPECT_MENTIONS(refusal({"objective.class_weights=c:2", "objective.name=softmax", "objective.classes=2",
                           "data.label_map=a:0,b:1"}),
                  "'c' is no label; labels are a, b");
  EXPECT_MENTIONS(refusal({"objective.class_weights=3:2", "objective.name=softmax", "objective.classes=3"}),
                  "'3' is no label; labels are 0 to 2");
  EXPECT_MENTIONS(refusal({"objective.class_weights=0:2,1:3,2:4", "objective.name=softmax", "objective.classes=3",
                           "data.only_labels=0,1"}),
                  "data.only_labels leaves '2' out");
}

// Any word means the rest where positive labels are named; so a misspelt one would, too.
TEST_F(ClassWeightsConfig, AMisspeltPositiveLabelIsNotTakenForTheRest) {
  EXPECT_MENTIONS(
      refusal({"objective.class_weights=yse:13", "data.positive=yes"}),
      "'yse' is none of data.positive (yes), so it would mean all other labels: give the weight of yes too");
  EXPECT_MENTIONS(refusal({"objective.class_weights=no:1,yse:13", "data.positive=yes"}),
                  "'no' and 'yse' are both of class -1");
}

TEST_F(ClassWeightsConfig, LossesWithoutClassesRefuseThem) {
  const std::string message = refusal({"objective.name=squared", "objective.class_weights=1:13"});
  EXPECT_MENTIONS(message,
                  "unknown key objective.class_weights; it is an option of hinge, logistic, mlp, network, ramp, "
                  "sigmoid, smoothed_hinge, softmax");
  EXPECT_MENTIONS(refusal({"objective.name=mlp", "objective.head=squared", "objective.class_weights=1:13"}),
                  "objective.head = squared has no classes; softmax, logistic and ramp have");
}

TEST_F(ClassWeightsConfig, AreEssentialAndPartOfTheRecipe) {
  const RunConfig plain = with({}), weighted = with({"objective.class_weights=no:1,yes:13", "data.positive=yes"});
  EXPECT_NE(plain.digest(), with({"objective.class_weights=1:13"}).digest());
  const auto pairs = recipe_of(weighted, 3, "");
  const ReadRecipe read = read_recipe({pairs.begin(), pairs.end()}, "model.safetensors", {});
  EXPECT_EQ(of(*read.config), (Weights{1.0 / 13, 1}));
}

TEST_F(ClassWeightsConfig, ARunIsLookedAtWhereItsColumnsFileIsNot) {
  folder_.write("c.txt", "x number\ny label positive=sick\n");
  const RunConfig config = with({"data.columns=c.txt", "objective.class_weights=well:2,sick:13"});
  const Folder run;
  run.write("config.ini", config.resolved());
  std::filesystem::remove(folder_.file("c.txt"));
  const RunConfig again(run.file("config.ini"), {});
  EXPECT_EQ(again.digest(), config.digest());
  EXPECT_NO_THROW(again.objective->make({3}));
}

}  // namespace
}  // namespace dpmpi::test::class_weights_config_test
