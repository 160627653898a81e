#include "dpmpi/objective/mlp_shape.hpp"

#include <utility>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::pair<const char*, Activation> activations[] = {{"relu", Activation::relu},
                                                              {"leaky_relu", Activation::leaky_relu},
                                                              {"tanh", Activation::tanh},
                                                              {"softplus", Activation::softplus}};

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& [name, activation] : activations) names.emplace_back(name);
  return names;
}

Activation activation_named(std::string_view name) {
  for (const auto& [known, activation] : activations)
    if (known == name) return activation;
  throw BugError("options allow known activations only");
}

std::size_t MlpShape::weight_offset(std::size_t l) const {
  std::size_t offset = 0;
  for (std::size_t k = 0; k < l; ++k) offset += parameters(k);
  return offset;
}

}  // namespace dpmpi
