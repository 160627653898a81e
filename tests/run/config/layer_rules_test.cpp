// Layers and the settings that they do not go together with.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::layer_rules_test {
namespace {

class LayerRules : public ::testing::Test {
 protected:
  LayerRules() {
    folder_.write("config.ini",
                  "[data]\ntrain = a.csv\n[privacy]\nepsilon = 1\n[objective]\nname = network\nclasses = 3\n");
  }
  std::string refusal(const std::string& method, const std::string& layers,
                      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> settings{"method.name=" + method, "objective.layers=" + layers};
    settings.insert(settings.end(), more.begin(), more.end());
    try {
      RunConfig(folder_.file("config.ini"), settings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const Folder folder_;
};

TEST_F(LayerRules, DropoutIsForGradientDescent) {
  for (const char* const layers : {"dense 4, dropout 0.1, dense 3", "residual(tanh,dropout 0.5 ), dense 3"}) {
    EXPECT_EQ(refusal("dp-sgd", layers).find("dropout"), std::string::npos);
    EXPECT_EQ(refusal("dp-ftrl", layers).find("dropout"), std::string::npos);
    EXPECT_MENTIONS(refusal("zo-o2nc", layers),
                    "objective.layers: dropout changes gradients and no losses; method.name = zo-o2nc takes");
  }
  EXPECT_EQ(refusal("zo-o2nc", "dense 4, tanh, dense 3").find("dropout"), std::string::npos);
}

}  // namespace
}  // namespace dpmpi::test::layer_rules_test
