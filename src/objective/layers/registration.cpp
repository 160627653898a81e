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
    options.add(
        "train_layers", trained_,
        "numbers of the layers that are trained, as 8,10 or from 8; the others stay as objective.start_model has them (empty: all are trained)");
    options.add("augment", augment_,
                "how random copies of an image differ from it: shift N (rows and columns), flip (left and right)");
    options.add("augmentations", copies_,
                "copies of each record, of whose gradients the mean is clipped (objective.augment)",
                Range::closed(1, 1024));
    declare_head(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    HeadedBuilder::validate(problems);
    if (any_layers())
      check_layers_option(problems, trained_);
    else
      problems.emplace_back("objective.layers is not set: the layers of the network, as dense 32, relu, dense 10");
    read_augmentation(augment_, problems);
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    std::vector<std::string> none;
    Augmentation augmentation = read_augmentation(augment_, none);
    augmentation.copies = static_cast<std::size_t>(copies_);
    LayeredShape shape = shape_for(facts.features, outputs());
    shape.trained = TrainedLayers(trained_, shape.plans.size(), none);
    return make_layered(std::move(shape), head(), outputs(), class_weights(), augmentation);
  }

 private:
  std::string trained_, augment_;
  std::int64_t copies_ = 1;
};

const ObjectiveRegistration network_of_layers{
    {"network", "network of layers: convolutions, pools, dense layers, normalisation, residual blocks",
     make_builder<LayeredBuilder>}};

}  // namespace
}  // namespace dpmpi
