#include "run/held_out/results.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "run/held_out/estimates.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

Json json_estimate(const Estimate& e) {
  return {{"value", e.value ? Json(*e.value) : Json()}, {"low", e.low}, {"high", e.high}};
}

/// Where bins begin and end: a probability of what their shares are of; else a score, and null for infinity.
Json json_end(const NoisyCounts& counts, std::size_t bin) {
  const double score = bin == 0 ? -std::numeric_limits<double>::infinity() : counts.edge(bin);
  if (counts.shape.logits) return 1 / (1 + std::exp(-score));
  return std::isinf(score) ? Json() : Json(score);
}

Json json_bins(const NoisyCounts& counts) {
  const auto shares = shares_of_bins(counts);
  auto bins = Json::array();
  for (std::size_t i = 0; i < counts.bins(); ++i) {
    bins.push_back({{"from", json_end(counts, i)},
                    {"to", json_end(counts, i + 1)},
                    {"counts", {counts.counts[i], counts.counts[counts.bins() + i]}},
                    {"share", json_estimate(shares[i])}});
  }
  return bins;
}

Json json_roc(const NoisyCounts& counts) {
  auto points = Json::array();
  for (const auto& [wrong, right] : roc_of(counts))
    points.push_back({{"false_positives", json_estimate(wrong)}, {"true_positives", json_estimate(right)}});
  return points;
}

Json json_confusion(const NoisyCounts& counts) {
  auto rows = Json::array();
  const std::size_t classes = counts.shape.classes;
  for (std::size_t k = 0; k < classes; ++k) {
    auto row = Json::array();
    for (std::size_t j = 0; j < classes; ++j) row.push_back(counts.classes[k * classes + j]);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json results_json(const NoisyCounts& counts, const EvaluationPlan& plan) {
  Json out{{"held_out", plan.data.units()}, {"rules", EarlierRules::in_force()}};
  out["metrics"] = Json::object();
  for (const Estimate& e : estimates_of(counts)) out["metrics"][e.name] = json_estimate(e);
  out["noise_std"] = {{"counts", counts.counts_std}};
  if (!counts.shape.signs) out["noise_std"]["confusion"] = counts.classes_std;
  if (counts.shape.logits) out["noise_std"]["loss"] = counts.loss_std, out["loss"] = counts.loss;
  out["ends"] = counts.shape.logits ? "probability" : "score";
  out["bins"] = json_bins(counts);
  if (counts.shape.signs)
    out["roc"] = json_roc(counts);
  else
    out["confusion"] = json_confusion(counts);
  return out;
}

void add_results(const Json& results, Json& line) {
  for (const auto& [name, estimate] : results.at("metrics").items()) {
    if (estimate.at("value").is_null()) continue;
    line["test." + name] = estimate["value"];
    line["test." + name + ".low"] = estimate["low"], line["test." + name + ".high"] = estimate["high"];
  }
}

std::string results_text(const Json& results) {
  static const std::set<std::string> shown{"accuracy", "balanced_accuracy", "auc", "average_precision", "log_loss"};
  std::string text;
  for (const auto& [name, estimate] : results.at("metrics").items()) {
    if (!shown.contains(name)) continue;
    if (!text.empty()) text += "  ";
    text += estimate.at("value").is_null()
                ? fmt::format("test.{} unknown (too much noise)", name)
                : fmt::format("test.{} {:.4f} ({:.4f} to {:.4f})", name, estimate["value"].get<double>(),
                              estimate["low"].get<double>(), estimate["high"].get<double>());
  }
  return text;
}

}  // namespace dpmpi
