// The objective `network` and its options.

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/layered.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/network/head_options.hpp"

namespace dpmpi {
namespace {

class LayeredBuilder : public HeadedBuilder {
 public:
  void declare(Options& options) override {
    options.add(
        "layers", layers_,
        "layers one behind the other, separated by commas, as: conv 16 8x8 stride 2 pad 3, tanh, maxpool 2 stride 1, flatten, dense 10");
    options.add("input", input_,
                "shape of a record's features, CHANNELSxHEIGHTxWIDTH as 1x28x28 (empty: a list of numbers)");
    declare_head(options);
  }

  void validate(std::vector<std::string>& problems) const override {
    HeadedBuilder::validate(problems);
    if (layers_.empty())
      problems.emplace_back("objective.layers is not set: the layers of the network, as dense 32, relu, dense 10");
    else
      check_layers(problems);
  }

  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    std::vector<std::string> none;
    const Volume in = input_.empty() ? Volume{facts.features, 1, 1} : read_volume(input_, none);
    if (in.size() != facts.features)
      throw ConfigError(fmt::format("objective.input = {} has {} numbers, and the records have {} features", input_,
                                    in.size(), facts.features));
    try {
      return make_layered(read_layers(layers_, none), in, head(), outputs(), class_weights());
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("objective.layers: {}", error.what()));
    }
  }

 private:
  /// Also that they fit to each other, if it is said what comes in.
  void check_layers(std::vector<std::string>& problems) const {
    const std::size_t before = problems.size();
    const LayerPlans plans = read_layers(layers_, problems);
    const Volume in = input_.empty() ? Volume() : read_volume(input_, problems);
    if (problems.size() > before || input_.empty()) return;
    try {
      out_of(plans, in);
    } catch (const ConfigError& error) {
      problems.push_back(fmt::format("objective.layers: {}", error.what()));
    }
  }

  std::string layers_, input_;
};

const ObjectiveRegistration layered{
    {"network", "network of layers: convolutions, pools, dense layers, normalisation, residual blocks",
     make_builder<LayeredBuilder>}};

}  // namespace
}  // namespace dpmpi
