#include "objective/layers/augment_option.hpp"

namespace dpmpi {

void AugmentOption::declare_augmentation(Options& options) {
  options.add("augment", augment_,
              "how random copies of an image differ from it: shift N (rows and columns), flip (left and right)");
  options.add("augmentations", copies_,
              "copies of each record, of whose gradients the mean is clipped (objective.augment)",
              Range::closed(1, 1024));
}

void AugmentOption::check_augment_option(std::vector<std::string>& problems, bool any_layers) const {
  read_augmentation(augment_, problems);
  if (!any_layers && (!augment_.empty() || copies_ > 1))
    problems.emplace_back(
        "objective.augment and objective.augmentations make copies of images for a network of layers: set objective.layers, or leave them out");
}

Augmentation AugmentOption::augmentation() const {
  std::vector<std::string> none;
  Augmentation read = read_augmentation(augment_, none);
  read.copies = static_cast<std::size_t>(copies_);
  return read;
}

}  // namespace dpmpi
