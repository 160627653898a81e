// The objective `network` and its options.

#include "objective/layers/augment_option.hpp"
#include "objective/layers/layered.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/network/head_options.hpp"

namespace dpmpi {
namespace {

class LayeredBuilder final : public HeadedBuilder, public LayersOption, public AugmentOption {
 public:
  void declare(Options& options) override {
    declare_layers(options);
    options.add(
        "train_layers", trained_,
        "numbers of the layers that are trained, as 8,10 or from 8; the others stay as objective.start_model has them (empty: all are trained)");
    declare_augmentation(options);
    declare_head(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    HeadedBuilder::validate(problems);
    if (any_layers())
      check_layers_option(problems, trained_);
    else
      problems.emplace_back("objective.layers is not set: the layers of the network, as dense 32, relu, dense 10");
    check_augment_option(problems);
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    std::vector<std::string> none;
    LayeredShape shape = shape_for(facts.features, outputs());
    shape.trained = TrainedLayers(trained_, shape.plans.size(), none);
    return make_layered(std::move(shape), head(), outputs(), class_weights(), augmentation());
  }

 private:
  std::string trained_;
};

const ObjectiveRegistration network_of_layers{
    {"network", "network of layers: convolutions, pools, dense layers, normalisation, residual blocks",
     make_builder<LayeredBuilder>}};

}  // namespace
}  // namespace dpmpi
