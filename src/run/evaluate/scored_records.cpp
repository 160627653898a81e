#include "run/evaluate/scored_records.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/population.hpp"
#include "run/evaluate/scores.hpp"

namespace dpmpi {
namespace {

constexpr std::array score_columns{&ScoredRecords::loss,  &ScoredRecords::label,       &ScoredRecords::predicted,
                                   &ScoredRecords::score, &ScoredRecords::probability, &ScoredRecords::group,
                                   &ScoredRecords::weight};

/// What there is to say of records, and none yet.
ScoredRecords no_records(const Objective& objective) {
  ScoredRecords none;
  if (objective.outputs() == 0 || !predicts_labels(objective)) return none;
  const LabelKind kind = objective.label_kind();
  none.quantities = is_quantity(kind);
  none.ranked = kind == LabelKind::sign && objective.outputs() == 1;
  if (!none.quantities) none.classes = kind == LabelKind::sign ? 2 : objective.classes();
  return none;
}

void add_record(ScoredRecords& all, const Objective& objective, std::span<const float> scores, float label) {
  const bool sign = objective.label_kind() == LabelKind::sign;
  if (all.ranked) all.score.push_back(std::isnan(scores[0]) ? 0.0F : scores[0]);
  if (all.quantities) {
    all.label.push_back(label);
    all.predicted.push_back(predicted_quantity(objective, scores[0]));
  } else if (all.classes > 0) {
    const std::size_t guess = predicted_class(objective, scores);
    all.label.push_back(sign ? (label > 0 ? 1.0F : 0.0F) : label);
    all.predicted.push_back(static_cast<float>(guess));
    if (objective.scores_are_logits())
      all.probability.push_back(static_cast<float>(probability(scores, sign ? 1 : guess)));
  }
}

/// Ties in the order of the file.
std::vector<std::uint32_t> by_falling(const std::vector<float>& score) {
  std::vector<std::uint32_t> order(score.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return score[a] > score[b]; });
  return order;
}

}  // namespace

ScoredRecords ScoredRecords::some(std::span<const std::uint32_t> chosen) const {
  ScoredRecords out;
  out.classes = classes, out.ranked = ranked, out.quantities = quantities;
  for (const auto column : score_columns) {
    const std::vector<float>& all = this->*column;
    if (all.empty()) continue;
    (out.*column).reserve(chosen.size());
    for (const std::uint32_t i : chosen) (out.*column).push_back(all[i]);
  }
  return out;
}

ScoredRecords score_records(const Communicator& comm, Objective& objective, std::span<const float> w,
                            const Shard& shard, const GroupRule& group) {
  ScoredRecords all = no_records(objective);
  const std::size_t outputs = objective.outputs();
  const PopulationModel model(objective, w);
  std::vector<double> losses;
  std::vector<float> scores;
  for_each_micro_batch(objective, shard, "scoring", [&](const Block& block, const Rows& rows) {
    losses.resize(rows.size()), scores.resize(rows.size() * outputs);
    model.evaluate(rows, losses, scores);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.loss.push_back(static_cast<float>(bounded_loss(losses[i])));
      all.group.push_back(group(block.records, rows.index[i]));
      if (!block.records.weight.empty()) all.weight.push_back(block.records.weight[rows.index[i]]);
      add_record(all, objective, {scores.data() + i * outputs, outputs}, block.records.label[rows.index[i]]);
    }
  });
  for (const auto column : score_columns) all.*column = gathered(comm, all.*column);
  return all.ranked ? all.some(by_falling(all.score)) : all;
}

}  // namespace dpmpi
