#include "objective/layers/layers_option.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"

namespace dpmpi {
namespace {

/// Runs what throws of layers, and says of which option it speaks.
template <class Check>
void naming_the_option(Check&& check) {
  try {
    check();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("objective.layers: {}", error.what()));
  }
}

}  // namespace

void LayersOption::declare_layers(Options& options, std::string_view part, std::string_view usual) {
  options.add(
      "layers", layers_,
      fmt::format(
          "layers{} one behind the other, separated by commas, as: conv 16 8x8 stride 2 pad 3, tanh, maxpool 2 stride 1, flatten, dense 10",
          part));
  options.add("input", input_,
              fmt::format("shape of a record's features, CHANNELSxHEIGHTxWIDTH as 1x28x28 (empty: {})", usual));
}

void LayersOption::check_layers_option(std::vector<std::string>& problems, std::string_view trained) const {
  const std::size_t before = problems.size();
  const LayerPlans plans = read_layers(layers_, problems);
  if (problems.size() == before) TrainedLayers(trained, plans.size(), problems);
  const std::optional<Volume> in = input_.empty() ? usual_input() : read_volume(input_, problems);
  if (problems.size() > before || !in) return;
  try {
    naming_the_option([&] { out_of(plans, *in); });
  } catch (const ConfigError& error) {
    problems.emplace_back(error.what());
  }
}

LayeredShape LayersOption::shape_for(std::size_t features, std::size_t outputs) const {
  std::vector<std::string> none;
  const Volume in = input_.empty() ? usual_input().value_or(Volume{features, 1, 1}) : read_volume(input_, none);
  if (in.size() != features)
    throw ConfigError(fmt::format("objective.input = {} has {} numbers, and the records have {} features", input_,
                                  in.size(), features));
  LayeredShape shape{read_layers(layers_, none), in};
  naming_the_option([&] { check_layers(shape, outputs); });
  return shape;
}

}  // namespace dpmpi
