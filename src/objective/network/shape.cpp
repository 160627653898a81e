#include "objective/network/shape.hpp"

#include <utility>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::pair<const char*, Activation> activations[] = {{"relu", Activation::relu},
                                                              {"leaky_relu", Activation::leaky_relu},
                                                              {"tanh", Activation::tanh},
                                                              {"softplus", Activation::softplus}};
constexpr std::pair<const char*, Head> heads[] = {{"softmax", Head::softmax},
                                                  {"logistic", Head::logistic},
                                                  {"squared", Head::squared},
                                                  {"absolute", Head::absolute},
                                                  {"ramp", Head::ramp}};

/// The value of that name, which options have checked.
template <class T, std::size_t count>
T named(const std::pair<const char*, T> (&known)[count], std::string_view name) {
  for (const auto& [text, value] : known)
    if (text == name) return value;
  throw BugError("options allow known names only");
}

}  // namespace

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const auto& [name, activation] : activations) names.emplace_back(name);
  return names;
}

Activation activation_named(std::string_view name) { return named(activations, name); }
Head head_named(std::string_view name) { return named(heads, name); }

LabelKind labels_of(Head head) {
  if (head == Head::softmax) return LabelKind::class_;
  return head == Head::logistic || head == Head::ramp ? LabelKind::sign : LabelKind::real;
}

std::size_t MlpShape::weight_offset(std::size_t l) const {
  std::size_t offset = 0;
  for (std::size_t k = 0; k < l; ++k) offset += parameters(k);
  return offset;
}

ScoreLayers score_layers_of(const MlpShape& shape) {
  ScoreLayers all{.layers = {}, .activation = shape.activation};
  for (std::size_t l = 0; l < shape.layers(); ++l)
    all.layers.push_back(
        {shape.inputs(l), shape.outputs(l), shape.weight_offset(l), shape.bias_offset(l), shape.bias(l)});
  return all;
}

std::vector<std::size_t> units_of(std::size_t features, const std::vector<std::int64_t>& hidden,
                                  std::size_t outputs) {
  std::vector<std::size_t> units{features};
  units.insert(units.end(), hidden.begin(), hidden.end());
  units.push_back(outputs);
  return units;
}

}  // namespace dpmpi
