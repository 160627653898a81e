#include "objective/objective.hpp"

namespace dpmpi {

const ScalarLoss* Objective::scalar_loss() const {
  const LossForm of = form();
  const auto* scalar = std::get_if<ScalarForm>(&of);
  return scalar ? scalar->phi : nullptr;
}

void Objective::add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const {
  if (l2 == 0) return;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      gradient[j] = static_cast<float>(gradient[j] + l2 * w[j]);
  }
}

double Objective::regularizer(std::span<const float> w) const {
  if (l2 == 0) return 0;
  double square = 0;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      square += static_cast<double>(w[j]) * w[j];
  }
  return l2 / 2 * square;
}

}  // namespace dpmpi
