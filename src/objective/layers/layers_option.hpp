#pragma once
// The options that say a network of layers.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "objective/layers/record_pass.hpp"

namespace dpmpi {

class LayersOption {
 public:
  /// Of a part of the model (" of the critic"), or of all; `usual`: what comes in where no option says it.
  void declare_layers(Options& options, std::string_view part = "", std::string_view usual = "a list of numbers");
  bool any_layers() const { return !layers_.empty(); }
  /// Appends what is wrong with the layers and with the list of those that are trained, and that they do not fit to
  /// each other if it is said what comes in.
  void check_layers_option(std::vector<std::string>& problems, std::string_view trained = {}) const;
  /// Throws ConfigError as check_layers().
  LayeredShape shape_for(std::size_t features, std::size_t outputs) const;

 protected:
  ~LayersOption() = default;

 private:
  /// The same as a shape; none: a list of as many numbers as there are features.
  virtual std::optional<Volume> usual_input() const { return {}; }

  std::string layers_, input_;
};

}  // namespace dpmpi
