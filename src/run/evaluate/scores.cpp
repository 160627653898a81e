#include "run/evaluate/scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/population.hpp"

namespace dpmpi {
void for_each_score(
    Objective& objective, std::span<const float> w, const Shard& shard,
    const std::function<void(const Block& block, std::uint32_t row, std::span<const float> scores)>& take) {
  const std::size_t outputs = objective.outputs();
  if (outputs == 0) return;
  const PopulationModel model(objective, w);
  std::vector<float> scores;
  for_each_micro_batch(objective, shard, "scoring", [&](const Block& block, const Rows& rows) {
    scores.resize(rows.size() * outputs);
    model.scores(rows, scores);
    for (std::size_t i = 0; i < rows.size(); ++i)
      take(block, rows.index[i], {scores.data() + i * outputs, outputs});
  });
}

bool predicts_labels(const Objective& objective) {
  if (!is_quantity(objective.label_kind())) return true;
  return objective.outputs() == 1 && !objective.saddle();
}

std::size_t predicted_class(const Objective& objective, std::span<const float> scores) {
  if (objective.label_kind() == LabelKind::sign) return scores[0] > objective.decision_threshold();
  return static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

float predicted_quantity(const Objective& objective, float score) {
  constexpr float largest = std::numeric_limits<float>::max();
  const float quantity = objective.label_kind() == LabelKind::count ? std::exp(score) : score;
  return std::isnan(quantity) ? largest : std::clamp(quantity, -largest, largest);
}

double probability(std::span<const float> logits, std::size_t k) {
  if (logits.size() == 1) {
    const double z = k == 1 ? static_cast<double>(logits[0]) : -static_cast<double>(logits[0]);
    return 1 / (1 + std::exp(-z));
  }
  const double most = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float z : logits) total += std::exp(static_cast<double>(z) - most);
  return std::exp(static_cast<double>(logits[k]) - most) / total;
}

}  // namespace dpmpi
