#include "objective/layers/layers_option.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"

namespace dpmpi {
namespace {

/// Runs what throws of layers, and says of which option it speaks.
template <class Check>
void naming_the_option(std::string_view name, Check&& check) {
  try {
    check();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("objective.{}: {}", name, error.what()));
  }
}

}  // namespace

void LayersOption::declare_layers(Options& options, std::string_view part, std::string_view usual) {
  declare_list(options, part, "conv 16 8x8 stride 2 pad 3, tanh, maxpool 2 stride 1, flatten, dense 10");
  options.add("input", input_,
              fmt::format("shape of a record's features, CHANNELSxHEIGHTxWIDTH as 1x28x28 (empty: {})", usual));
}

void LayersOption::declare_list(Options& options, std::string_view part, std::string_view example) {
  options.add(std::string(name_), layers_,
              fmt::format("layers{} one behind the other, separated by commas, as: {}", part, example));
}

void LayersOption::check_layers_option(std::vector<std::string>& problems, std::string_view trained) const {
  const std::size_t before = problems.size();
  const LayerPlans plans = read_layers(layers_, problems, name_);
  if (problems.size() == before) TrainedLayers(trained, plans.size(), problems);
  const std::optional<Volume> in = input_.empty() ? usual_input() : read_volume(input_, problems);
  if (problems.size() > before || !in) return;
  try {
    naming_the_option(name_, [&] { out_of(plans, *in); });
  } catch (const ConfigError& error) {
    problems.emplace_back(error.what());
  }
}

void LayersOption::refuse_layers(std::vector<std::string>& problems,
                                 const std::function<std::string(const LayerPlan&)>& why_not) const {
  std::vector<std::string> told;
  for_each_layer(read_layers(layers_, told, name_), [&](const std::string& place, const PlannedLayer& layer) {
    const std::string reason = why_not(*layer.plan);
    if (!reason.empty())
      problems.push_back(fmt::format("objective.{}: layer {} ({}): {}", name_, place, layer.text, reason));
  });
}

LayeredShape LayersOption::shape_for(std::size_t features, std::size_t outputs, const LayerPasses& passes,
                                     std::string_view whose) const {
  std::vector<std::string> none;
  const Volume in = input_.empty() ? usual_input().value_or(Volume{features, 1, 1}) : read_volume(input_, none);
  if (in.size() != features)
    throw ConfigError(
        fmt::format("objective.input = {} has {} numbers, and {} {} features", input_, in.size(), whose, features));
  LayeredShape shape{read_layers(layers_, none, name_), in};
  naming_the_option(name_, [&] { check_layers(shape, outputs, passes); });
  return shape;
}

LayeredShape LayersOption::shape_that_makes(const Volume& image, const LayerPasses& passes) const {
  std::vector<std::string> none;
  LayeredShape shape{read_layers(layers_, none, name_), usual_input().value()};
  naming_the_option(name_, [&] { check_layers_make(shape, image, passes); });
  return shape;
}

}  // namespace dpmpi
