#include "dpmpi/objective/objective.hpp"

namespace dpmpi {
namespace {

bool is_bias(const ParameterGroup& group) { return group.name == "bias" || group.name.ends_with(".bias"); }

}  // namespace

void Objective::add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const {
  if (l2 == 0) return;
  for (const ParameterGroup& group : groups()) {
    if (is_bias(group)) continue;
    for (std::size_t j = group.offset; j < group.offset + group.rows * group.cols; ++j)
      gradient[j] = static_cast<float>(gradient[j] + l2 * w[j]);
  }
}

double Objective::regularizer(std::span<const float> w) const {
  if (l2 == 0) return 0;
  double square = 0;
  for (const ParameterGroup& group : groups()) {
    if (is_bias(group)) continue;
    for (std::size_t j = group.offset; j < group.offset + group.rows * group.cols; ++j)
      square += static_cast<double>(w[j]) * w[j];
  }
  return l2 / 2 * square;
}

}  // namespace dpmpi
