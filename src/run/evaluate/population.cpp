#include "run/evaluate/population.hpp"

#include <algorithm>
#include <cmath>

namespace dpmpi {

std::vector<float> shift_of_logits(const Objective& objective) {
  const ClassWeights& weights = objective.class_weights();
  if (weights.empty() || !objective.scores_are_logits()) return {};
  if (objective.label_kind() == LabelKind::sign) return {static_cast<float>(std::log(weights[1] / weights[0]))};
  std::vector<float> shift;
  for (std::size_t k = 0; k < weights.size(); ++k) shift.push_back(static_cast<float>(std::log(weights[k])));
  return shift;
}

namespace {

/// Minus the log-probability of the label, whose log-odds are the logits.
double cross_entropy_of(std::span<const float> logits, float label) {
  if (logits.size() == 1) {
    const double z = static_cast<double>(label) * static_cast<double>(logits[0]);
    return std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z)));
  }
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float z : logits) sum += std::exp(static_cast<double>(z) - most);
  return std::log(sum) + (most - static_cast<double>(logits[static_cast<std::size_t>(label)]));
}

}  // namespace

PopulationModel::PopulationModel(Objective& objective, std::span<const float> w)
    : objective_(objective),
      weights_(objective.class_weights()),
      shift_(shift_of_logits(objective)),
      at_(objective.at(w)) {}

void PopulationModel::scores(const Rows& rows, std::span<float> out) const {
  at_.scores(rows, out);
  if (shift_.empty()) return;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= shift_[i % shift_.size()];
}

void PopulationModel::evaluate(const Rows& rows, std::span<double> losses, std::span<float> scores) const {
  this->scores(rows, scores);
  if (shift_.empty()) at_.unweighted_losses(rows, losses);
  if (weights_.empty()) return;
  const std::size_t outputs = shift_.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float label = rows.records.label[rows.index[i]];
    if (outputs > 0)
      losses[i] = cross_entropy_of(scores.subspan(i * outputs, outputs), label);
    else
      losses[i] /= weights_.of(objective_.label_kind(), label);
  }
}

}  // namespace dpmpi
