#pragma once
// The options that say random copies of records.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "objective/layers/augmentation.hpp"

namespace dpmpi {

class AugmentOption {
 public:
  void declare_augmentation(Options& options);
  /// Appends what is wrong with them, and that there are any where no layers take images.
  void check_augment_option(std::vector<std::string>& problems, bool any_layers = true) const;
  Augmentation augmentation() const;

 protected:
  ~AugmentOption() = default;

 private:
  std::string augment_;
  std::int64_t copies_ = 1;
};

}  // namespace dpmpi
