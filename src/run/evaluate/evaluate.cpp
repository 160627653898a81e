#include "run/evaluate/evaluate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "data/records/sampling.hpp"
#include "objective/weight_scale.hpp"
#include "run/evaluate/population.hpp"
#include "run/objective/on_ranks.hpp"

namespace dpmpi {
namespace {

constexpr double loss_cap = 1e6;  // a non-finite or absurd loss counts as this

bool is_right(LabelKind kind, std::span<const float> scores, float threshold, float label) {
  if (kind == LabelKind::sign) return (scores[0] > threshold) == (label > 0);
  const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
  return static_cast<float>(best) == label;
}

}  // namespace

std::vector<float> gathered(const Communicator& comm, const std::vector<float>& mine) {
  std::vector<float> all;
  for (const std::string& part :
       comm.gather({reinterpret_cast<const char*>(mine.data()), sizeof(float) * mine.size()})) {
    const std::size_t old = all.size();
    all.resize(old + part.size() / sizeof(float));
    if (!part.empty()) std::memcpy(all.data() + old, part.data(), part.size());
  }
  return all;
}

std::uint64_t slots_of(const Shard& shard) {
  std::uint64_t slots = 0;
  for (const Block& block : shard.blocks) slots += block.records.count;
  return slots;
}

void for_each_micro_batch(const Objective& objective, const Shard& shard, const std::string& doing,
                          const std::function<void(const Block& block, const Rows& rows)>& visit) {
  const MicroBatching batching = MicroBatching::plan(objective.micro_batch_rows(), shard.layout.largest(), 1.0);
  std::vector<std::uint32_t> filled;
  Progress progress(doing, slots_of(shard), "records");
  for (const Block& block : shard.blocks) {
    filled.clear();
    for (std::uint32_t i = 0; i < block.records.count; ++i)
      if (!std::isnan(block.records.label[i])) filled.push_back(i);
    batching.for_each(block.records, filled, [&](const Rows& rows) {
      visit(block, rows);
      progress.add(rows.size());
    });
  }
}

void add_on_root(const Communicator& comm, std::span<std::int64_t> values) {
  if (!comm.is_root()) return comm.send({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, 0);
  for (int rank = 1; rank < comm.size(); ++rank) {
    const std::string bytes = comm.receive(rank);
    verify(bytes.size() == values.size_bytes(), "all ranks add equally many numbers");
    for (std::size_t j = 0; j < values.size(); ++j) {
      std::int64_t other = 0;
      std::memcpy(&other, bytes.data() + j * sizeof other, sizeof other);
      values[j] += other;
    }
  }
}

double exact_unit(double largest, std::uint64_t records) {
  constexpr int finest = 24, room = 62;
  const int most = std::ilogb(largest * static_cast<double>(std::max<std::uint64_t>(1, records))) + 1;
  return std::ldexp(1.0, -std::min(finest, room - most));
}

namespace {

/// As weight_scale says. Collective; throws DataError if all weights are 0.
double scale_of_weights(const Communicator& comm, const Objective& objective, const Shard& shard) {
  if (!objective.record_factors.weight) return 1;
  if (const auto scale = weight_scale(TotalsOfRanks(comm), shard)) return *scale;
  throw DataError(fmt::format(
      "{} is of kind weight, and it is 0 in every record to evaluate on: no metric would say anything. Take records "
      "that count, or leave the column out (kind ignore)",
      objective.factor_columns.weight));
}

/// The weight of a record that may have none.
double weight_at(std::span<const float> weight, std::size_t i) {
  return weight.empty() ? 1 : static_cast<double>(weight[i]);
}

}  // namespace

std::optional<double> area_under_curve(std::span<const float> score, std::span<const float> label,
                                       std::span<const float> weight) {
  std::vector<std::uint32_t> order(score.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return score[a] < score[b]; });
  double positives = 0, negatives = 0, twice_right = 0;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    double tied_positive = 0, tied_negative = 0;
    for (; j < order.size() && score[order[j]] == score[order[i]]; ++j)
      (label[order[j]] > 0 ? tied_positive : tied_negative) += weight_at(weight, order[j]);
    twice_right += tied_positive * (2 * negatives + tied_negative);
    positives += tied_positive, negatives += tied_negative;
    i = j;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return twice_right / 2 / (positives * negatives);
}

RocCurve roc_curve(std::span<const float> score, std::span<const float> label, std::span<const float> weight) {
  constexpr double apart = 1.0 / 200;
  std::vector<std::uint32_t> order(score.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return score[a] > score[b]; });
  double positives = 0, negatives = 0;
  for (const std::uint32_t i : order) (label[i] > 0 ? positives : negatives) += weight_at(weight, i);
  if (positives == 0 || negatives == 0) return {};
  RocCurve curve{{0, 0}};
  double right = 0, wrong = 0;
  for (std::size_t i = 0; i < order.size();) {
    const float threshold = score[order[i]];
    for (; i < order.size() && score[order[i]] == threshold; ++i)
      (label[order[i]] > 0 ? right : wrong) += weight_at(weight, order[i]);
    const double x = wrong / negatives, y = right / positives;
    if (i == order.size() || x >= curve.back().first + apart || y >= curve.back().second + apart)
      curve.emplace_back(x, y);
  }
  return curve;
}

double bounded_loss(double loss) { return std::isfinite(loss) ? std::clamp(loss, -loss_cap, loss_cap) : loss_cap; }

Evaluation evaluate(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                    bool with_roc) {
  const LabelKind kind = objective.label_kind();
  const std::size_t outputs = objective.outputs();
  const bool says_labels = !is_quantity(kind) && outputs > 0, ranks = kind == LabelKind::sign && outputs == 1;
  const PopulationModel model(objective, w);
  // Sums of whole units: their order does not matter.
  const double unit = exact_unit(loss_cap, shard.layout.records), share = exact_unit(1, shard.layout.records);
  const double scale = scale_of_weights(comm, objective, shard);
  std::array<std::int64_t, 5> totals{};  // records, loss, weight that is right, losses that are not finite, weight
  std::vector<float> scores, ranked_scores, labels, weights;  // of a micro-batch; for the ROC curve
  std::vector<double> losses;
  for_each_micro_batch(objective, shard, "evaluating", [&](const Block& block, const Rows& rows) {
    losses.resize(rows.size()), scores.resize(rows.size() * outputs);
    model.evaluate(rows, losses, scores);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float truth = block.records.label[rows.index[i]];
      const std::span<const float> own(scores.data() + i * outputs, outputs);
      const double weight = scale * block.records.weight_of(rows.index[i]);
      const std::int64_t counted = std::llrint(weight / share);
      totals[0] += 1;
      totals[1] += std::llrint(weight * bounded_loss(losses[i]) / unit);
      totals[3] += !std::isfinite(losses[i]);
      totals[4] += counted;
      totals[2] += says_labels && is_right(kind, own, objective.decision_threshold(), truth) ? counted : 0;
      if (ranks && !block.records.weight.empty()) weights.push_back(static_cast<float>(weight));
      if (ranks) ranked_scores.push_back(std::isnan(own[0]) ? 0.0f : own[0]), labels.push_back(truth);
    }
  });
  add_on_root(comm, totals);

  Evaluation result;
  if (objective.set_measures()) result.measures = model.at().measures(TotalsOfRanks(comm), shard);
  if (ranks) {
    const std::vector<float> all_scores = gathered(comm, ranked_scores), all_labels = gathered(comm, labels),
                             all_weights = gathered(comm, weights);
    if (comm.is_root()) result.auc = area_under_curve(all_scores, all_labels, all_weights);
    if (comm.is_root() && with_roc) result.roc = roc_curve(all_scores, all_labels, all_weights);
  }
  const double weight = totals[4] > 0 ? static_cast<double>(totals[4]) * share : 1;
  result.records = static_cast<std::uint64_t>(totals[0]);
  result.loss = static_cast<double>(totals[1]) * unit / weight;
  result.not_finite = static_cast<std::uint64_t>(totals[3]);
  if (says_labels) result.accuracy = static_cast<double>(totals[2]) * share / weight;
  return result;
}

}  // namespace dpmpi
