#include "run/warnings/constant_predictor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "objective/class_weights.hpp"
#include "objective/math/losses.hpp"
#include "run/evaluate/evaluate.hpp"

namespace dpmpi {
namespace {

using Counts = std::vector<std::pair<float, double>>;  // what labels weigh, ascending

Counts counts_of(Counts labels) {
  std::ranges::sort(labels);
  Counts counts;
  for (const auto& [label, weight] : labels) {
    if (counts.empty() || counts.back().first != label) counts.emplace_back(label, 0);
    counts.back().second += weight;
  }
  std::erase_if(counts, [](const auto& of_label) { return of_label.second == 0; });
  return counts;
}

/// Of all ranks.
Counts weighted_labels(const Communicator& comm, const Shard& shard) {
  std::vector<float> labels, weights;
  for (const Block& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      if (std::isnan(block.records.label[i])) continue;
      labels.push_back(block.records.label[i]);
      weights.push_back(static_cast<float>(block.records.weight_of(i)));
    }
  Counts all;
  const std::vector<float> label = gathered(comm, labels), weight = gathered(comm, weights);
  for (std::size_t i = 0; i < label.size(); ++i) all.emplace_back(label[i], weight[i]);
  return all;
}

/// Of labels whose scores are log-odds: their frequencies are the best ones.
double entropy(const Counts& counts, double records) {
  double sum = 0;
  for (const auto& [label, count] : counts) sum -= count / records * std::log(count / records);
  return sum;
}

/// Mean loss of the score m, bounded as that of a model is.
double mean_loss(const ScalarLoss& phi, const Counts& counts, double records, double m) {
  std::array<double, tile_rows> margins{}, labels{}, values{};
  margins.fill(m);
  double sum = 0;
  for (auto next = counts.begin(); next != counts.end();) {
    std::array<double, tile_rows> weights{};
    for (std::size_t r = 0; r < tile_rows && next != counts.end(); ++r, ++next)
      labels[r] = static_cast<double>(next->first), weights[r] = next->second;
    phi.values(margins.data(), labels.data(), values.data());
    for (std::size_t r = 0; r < tile_rows; ++r)
      if (weights[r] > 0) sum += weights[r] * bounded_loss(values[r]);
  }
  return sum / records;
}

/// Scores between which the best one lies.
std::pair<double, double> range_of_scores(LabelKind kind, const Counts& counts) {
  const double least = counts.front().first, most = counts.back().first;
  if (kind == LabelKind::sign) return {-20, 20};
  if (kind == LabelKind::count) return {-20, std::log1p(most)};
  return {std::min(least, 0.0), std::max(most, 0.0)};
}

/// The smallest mean loss, found on grids that get finer: the loss need not be convex.
double smallest_loss(const ScalarLoss& phi, const Counts& counts, double records) {
  auto [low, high] = range_of_scores(phi.label_kind(), counts);
  constexpr int cells = 32, rounds = 8;
  double best = mean_loss(phi, counts, records, low);
  for (int round = 0; round < rounds; ++round) {
    const double width = (high - low) / cells;
    double at = low;
    for (int i = 0; i <= cells; ++i)
      if (const double loss = mean_loss(phi, counts, records, low + i * width); loss <= best)
        best = loss, at = low + i * width;
    low = at - width, high = at + width;
  }
  return best;
}

/// As if every class weighed 1: so are losses of evaluations.
Counts without_weights(Counts counts, const Objective& objective) {
  const ClassWeights& weights = objective.class_weights();
  for (auto& [label, count] : counts) count /= weights.of(objective.label_kind(), label);
  return counts;
}

bool has_accuracy(const Objective& objective) {
  return !is_quantity(objective.label_kind()) && objective.outputs() > 0;
}

Warning worse(std::string_view what, double model, double constant) {
  return {
      "constant",
      fmt::format(
          "the model is worse than a constant on data.eval: its {} is {:.3g}, and one score for all records "
          "has {:.3g}. Look at the labels of both files, at the sizes of features, at the rate, and at how much noise "
          "the epsilon asks for",
          what, model, constant),
      {{"model", three_digits(model)}, {"constant", three_digits(constant)}}};
}

Warning one_label() {
  return {
      "constant",
      "all records of data.eval have the same label: neither a loss nor an accuracy there tells whether a model is "
      "of any use. Take a public file that has the other labels, too",
      {{"constant", 1.0}}};
}

}  // namespace

std::vector<Measure> ConstantPredictor::measures() const {
  std::vector<Measure> all;
  if (loss) all.push_back({"constant.loss", three_digits(*loss)});
  if (accuracy) all.push_back({"constant.accuracy", three_digits(*accuracy)});
  return all;
}

std::optional<Warning> ConstantPredictor::warning(const Evaluation& model) const {
  constexpr double clearly = 0.005;  // of the constant's: what three digits show
  if (accuracy && *accuracy == 1) return one_label();
  if (loss) {
    if (model.loss > *loss + clearly * std::abs(*loss)) return worse("loss", model.loss, *loss);
  } else if (model.auc) {
    if (*model.auc < 0.5 - clearly) return worse("AUC", *model.auc, 0.5);
  } else if (accuracy && model.accuracy && *model.accuracy < *accuracy - clearly) {
    return worse("accuracy", *model.accuracy, *accuracy);
  }
  return {};
}

ConstantPredictor best_constant(const Communicator& comm, const Objective& objective, const Shard& shard) {
  const Counts counts = counts_of(weighted_labels(comm, shard));
  if (counts.empty()) return {};
  double records = 0, largest = 0;
  for (const auto& [label, count] : counts) records += count, largest = std::max(largest, count);
  ConstantPredictor constant;
  if (objective.record_factors.exposure) return constant;  // one score is another count for every exposure
  if (has_accuracy(objective)) constant.accuracy = largest / records;
  if (objective.scores_are_logits())
    constant.loss = entropy(counts, records);
  else if (const ScalarLoss* phi = objective.loss_of_score())
    constant.loss = smallest_loss(*phi, without_weights(counts, objective), records);
  return constant;
}

}  // namespace dpmpi
