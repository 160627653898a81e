// The objective `network` and its options.

#include "objective/layers/layered.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/network/head_options.hpp"

namespace dpmpi {
namespace {

class LayeredBuilder : public HeadedBuilder, public LayersOption {
 public:
  void declare(Options& options) override {
    declare_layers(options);
    declare_head(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    HeadedBuilder::validate(problems);
    if (any_layers())
      check_layers_option(problems);
    else
      problems.emplace_back("objective.layers is not set: the layers of the network, as dense 32, relu, dense 10");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return make_layered(shape_for(facts.features, outputs()), head(), outputs(), class_weights());
  }
};

const ObjectiveRegistration network_of_layers{
    {"network", "network of layers: convolutions, pools, dense layers, normalisation, residual blocks",
     make_builder<LayeredBuilder>}};

}  // namespace
}  // namespace dpmpi
