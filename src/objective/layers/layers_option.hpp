#pragma once
// The options that say a network of layers.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/options.hpp"
#include "objective/layers/record_pass.hpp"

namespace dpmpi {

class LayersOption {
 public:
  /// `name`: of the option that holds the list.
  explicit LayersOption(std::string_view name = "layers") : name_(name) {}
  /// Of a part of the model (" of the critic"), or of all; `usual`: what comes in where no option says it.
  void declare_layers(Options& options, std::string_view part = "", std::string_view usual = "a list of numbers");
  /// The list alone: it is known what comes in.
  void declare_list(Options& options, std::string_view part, std::string_view example);
  bool any_layers() const { return !layers_.empty(); }
  /// Appends what is wrong with the layers and with the list of those that are trained, and that they do not fit to
  /// each other if it is said what comes in.
  void check_layers_option(std::vector<std::string>& problems, std::string_view trained = {}) const;
  /// Appends a problem for each layer, by its place, of which `why_not` gives a reason. For layers that can be
  /// read.
  void refuse_layers(std::vector<std::string>& problems,
                     const std::function<std::string(const LayerPlan&)>& why_not) const;
  /// `whose`: who has the features. Throws ConfigError as check_layers().
  LayeredShape shape_for(std::size_t features, std::size_t outputs, const LayerPasses& passes = {},
                         std::string_view whose = "the records have") const;
  /// For layers that make an image of their usual input. Throws ConfigError as check_layers_make().
  LayeredShape shape_that_makes(const Volume& image, const LayerPasses& passes) const;

 protected:
  ~LayersOption() = default;

 private:
  /// The same as a shape; none: a list of as many numbers as there are features.
  virtual std::optional<Volume> usual_input() const { return {}; }

  std::string_view name_;
  std::string layers_, input_;
};

}  // namespace dpmpi
