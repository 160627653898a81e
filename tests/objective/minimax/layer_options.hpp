#pragma once
// Networks of layers as options of min-max problems.

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/options.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/record_pass.hpp"
#include "objective/objective.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test {

inline LayeredShape shape_of(const std::string& layers, const Volume& in) {
  std::vector<std::string> problems;
  LayeredShape shape{read_layers(layers, problems), in};
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return shape;
}

using Choices = std::vector<std::pair<std::string, std::string>>;

/// What is said of the options of an objective: all problems before the data are known, or else what they are
/// refused for with so many features.
inline std::string refusal(const std::string& name, std::size_t features, const Choices& choices) {
  for (const ObjectiveEntry& entry : objectives()) {
    if (entry.name != name) continue;
    const auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    Settings settings;
    for (const auto& [key, value] : choices) settings["objective." + key] = {value, "test"};
    std::vector<std::string> problems;
    options.read(settings, problems);
    builder->validate(problems);
    if (problems.empty())
      return message_of<ConfigError>(
          [&] { builder->make({.features = features, .storage = Storage::dense_f32, .bias = 1}); });
    std::string all;
    for (const std::string& problem : problems) all += problem + "\n";
    return all;
  }
  return "no such objective";
}

}  // namespace dpmpi::test
