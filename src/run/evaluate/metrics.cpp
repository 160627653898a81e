#include "run/evaluate/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/evaluate/metric_families.hpp"

namespace dpmpi {
namespace {

std::optional<double> known(double value) {
  if (std::isnan(value)) return {};
  return value;
}

/// All metrics of the families, one after the other.
std::vector<Metric> metric_values(const MetricFamilies& families, std::size_t records, std::int64_t resamples) {
  std::vector<Metric> all;
  std::vector<std::size_t> begins;
  for (const auto& family : families) {
    const auto names = family->names();
    const auto constants = family->of_constant();
    begins.push_back(all.size());
    for (std::size_t m = 0; m < names.size(); ++m) all.push_back({names[m], {}, {}, known(constants[m])});
  }
  const auto measure = [&](Weights weights, std::span<double> values) {
    for (std::size_t f = 0; f < families.size(); ++f) families[f]->measure(weights, values.subspan(begins[f]));
  };
  std::vector<double> values(all.size());
  measure(std::vector<std::uint8_t>(records, 1), values);
  for (std::size_t m = 0; m < all.size(); ++m) all[m].value = known(values[m]);
  if (resamples == 0) return all;
  const auto intervals = bootstrap_intervals(records, all.size(), resamples, measure);
  for (std::size_t m = 0; m < all.size(); ++m)
    if (all[m].value) all[m].interval = intervals[m];
  return all;
}

std::vector<std::uint64_t> confusion_by_class(const ScoredRecords& records) {
  std::vector<std::uint64_t> confusion(records.classes * records.classes);
  for (std::size_t i = 0; i < records.predicted.size() && records.classes > 0; ++i)
    ++confusion[static_cast<std::size_t>(records.label[i]) * records.classes +
                static_cast<std::size_t>(records.predicted[i])];
  return confusion;
}

ScoreCalibration calibration_of(const ScoredRecords& records) {
  ScoreCalibration c;
  std::array<double, std::tuple_size_v<decltype(c.bins)>> weights{};  // of the bins
  for (std::size_t i = 0; i < records.probability.size(); ++i) {
    const auto p = static_cast<double>(records.probability[i]);
    if (std::isnan(p)) continue;
    const std::size_t k =
        std::min(c.bins.size() - 1, static_cast<std::size_t>(p * static_cast<double>(c.bins.size())));
    const double weight = records.weight.empty() ? 1 : static_cast<double>(records.weight[i]);
    const bool found = records.ranked ? records.label[i] > 0 : records.label[i] == records.predicted[i];
    c.bins[k].records += 1, weights[k] += weight;
    c.bins[k].predicted += weight * p, c.bins[k].found += found ? weight : 0;
  }
  double counted = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    if (weights[k] == 0) continue;
    auto& bin = c.bins[k];
    c.error += std::abs(bin.predicted - bin.found), counted += weights[k];
    bin.predicted /= weights[k], bin.found /= weights[k];
  }
  if (counted > 0) c.error /= counted;
  return c;
}

/// Takes the metrics of the classes from the end of `all`.
std::vector<PartMetrics> take_classes(std::vector<Metric>& all, const Objective& objective,
                                      const std::vector<std::uint64_t>& confusion, std::size_t classes) {
  std::vector<PartMetrics> parts;
  const auto begin = all.end() - static_cast<std::ptrdiff_t>(metrics_of_class * classes);
  for (std::size_t k = 0; k < classes; ++k) {
    PartMetrics& part = parts.emplace_back();
    part.name = class_name(objective, k);
    for (std::size_t j = 0; j < classes; ++j) part.records += confusion[k * classes + j];
    const auto own = begin + static_cast<std::ptrdiff_t>(metrics_of_class * k);
    part.metrics.assign(own, own + static_cast<std::ptrdiff_t>(metrics_of_class));
  }
  all.erase(begin, all.end());
  return parts;
}

std::vector<PartMetrics> metrics_by_group(const ScoredRecords& records, const Grouping& grouping,
                                          const std::string& loss_name, std::int64_t resamples) {
  std::map<float, std::vector<std::uint32_t>> members;
  for (std::uint32_t i = 0; i < records.group.size(); ++i)
    if (!std::isnan(records.group[i])) members[records.group[i]].push_back(i);
  if (members.size() > grouping.most)
    throw ConfigError(fmt::format(
        "--by: the records are of more than {0} groups; name a column that has at most {0} values", grouping.most));
  std::vector<PartMetrics> parts;
  for (const auto& [group, rows] : members) {
    const ScoredRecords own = records.some(rows);
    MetricFamilies families = label_metrics(own);
    if (!loss_name.empty()) families.insert(families.begin(), mean_loss_metric(own, loss_name));
    parts.push_back({grouping.name(group), own.size(), metric_values(families, own.size(), resamples)});
  }
  return parts;
}

/// Root only.
void add_metrics(Assessment& a, const ScoredRecords& records, const Objective& objective,
                 const AssessmentRequest& request, const Grouping& grouping) {
  const std::string loss_name(objective.loss_name());
  // First, for it may refuse. The loss of a min-max problem weighs groups: its measures have that of each.
  a.by_group =
      metrics_by_group(records, grouping, objective.saddle() ? std::string() : loss_name, request.resamples);
  MetricFamilies families = label_metrics(records);
  families.insert(families.begin(), mean_loss_metric(records, loss_name));
  if (records.classes > 0) families.push_back(metrics_by_class(records));
  a.metrics = metric_values(families, records.size(), request.resamples);
  if (a.metrics[0].value) a.metrics[0].value = a.evaluation.loss;  // the exact sum's
  a.confusion = confusion_by_class(records);
  a.by_class = take_classes(a.metrics, objective, a.confusion, records.classes);
  if (objective.scores_are_logits()) a.calibration = calibration_of(records);
  if (a.calibration) a.metrics.push_back({"calibration_error", a.calibration->error, {}});
  for (const Measure& measure : a.evaluation.measures) a.metrics.push_back({measure.name, measure.value, {}});
}

/// {"metrics": ..., "intervals": ..., "constants": ...}, the last two if there are any.
nlohmann::ordered_json metrics_json(const std::vector<Metric>& metrics) {
  using Json = nlohmann::ordered_json;
  Json out{{"metrics", Json::object()}};
  for (const Metric& metric : metrics) {
    out["metrics"][metric.name] = metric.value ? Json(*metric.value) : Json();
    if (metric.interval) out["intervals"][metric.name] = {metric.interval->first, metric.interval->second};
    if (metric.constant) out["constants"][metric.name] = *metric.constant;
  }
  return out;
}

nlohmann::ordered_json parts_json(const char* key, const std::vector<PartMetrics>& parts) {
  auto out = nlohmann::ordered_json::array();
  for (const PartMetrics& part : parts) {
    out.push_back({{key, part.name}, {"records", part.records}});
    out.back().update(metrics_json(part.metrics));
  }
  return out;
}

}  // namespace

Assessment assess(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                  const AssessmentRequest& request) {
  Assessment result{evaluate(comm, objective, w, shard, request.with_roc), {}, {}, {}, {}, {}};
  const Grouping grouping = request.grouping.value_or(groups_of_objective(objective));
  const ScoredRecords records = score_records(comm, objective, w, shard, grouping.of);
  throw_on_all_ranks(comm, [&] {
    if (comm.is_root()) add_metrics(result, records, objective, request, grouping);
  });
  return result;
}

std::string class_name(const Objective& objective, std::size_t k) {
  return objective.label_kind() == LabelKind::sign ? (k == 1 ? "1" : "-1") : std::to_string(k);
}

nlohmann::ordered_json assessment_json(const Assessment& a) {
  nlohmann::ordered_json out{{"records", a.evaluation.records}};
  out.update(metrics_json(a.metrics));
  const std::size_t classes = a.classes();
  for (std::size_t k = 0; k < classes; ++k) {
    out["classes"].push_back(a.by_class[k].name);
    const auto row = a.confusion.begin() + static_cast<std::ptrdiff_t>(k * classes);
    out["confusion"].push_back(std::vector<std::uint64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  if (classes > 0) out["by_class"] = parts_json("class", a.by_class);
  if (!a.by_group.empty()) out["by_group"] = parts_json("group", a.by_group);
  if (a.calibration)
    for (const auto& bin : a.calibration->bins)
      out["calibration"].push_back({{"records", bin.records}, {"predicted", bin.predicted}, {"found", bin.found}});
  return out;
}

}  // namespace dpmpi
