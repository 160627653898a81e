#include "cli/evaluation_text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dpmpi {
namespace {

constexpr std::size_t most_rows = 20;  // of classes or groups, that a screen shows

std::string number_or_nothing(const std::optional<double>& value, int digits, const char* nothing) {
  return value ? fmt::format("{:.{}g}", *value, digits) : nothing;
}

std::string interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.4g} to {:.4g}", interval->first, interval->second) : "";
}

std::string metrics_table(const std::vector<Metric>& metrics, std::int64_t resamples) {
  std::vector<std::vector<std::string>> rows{{"metric", "value", "95 % interval", "constant"}};
  for (const Metric& metric : metrics)
    rows.push_back({metric.name, number_or_nothing(metric.value, 6, "n/a"), interval_text(metric.interval),
                    number_or_nothing(metric.constant, 4, "")});
  if (resamples == 0)
    for (auto& row : rows) row.erase(row.begin() + 2);
  return aligned(rows);
}

/// A row a class or group: its records and the first few of its metrics, with their intervals.
std::string table_of_parts(const std::string& head, const std::vector<PartMetrics>& parts) {
  constexpr std::size_t most_columns = 4;
  if (parts.empty()) return "";
  if (parts.size() > most_rows)
    return fmt::format("\n{} of {}: --json gives the metrics of each\n", parts.size(), head);
  const std::size_t columns = std::min(most_columns, parts.front().metrics.size());
  std::vector<std::vector<std::string>> rows{{head, "records"}};
  for (std::size_t m = 0; m < columns; ++m) rows[0].push_back(parts.front().metrics[m].name);
  for (const PartMetrics& part : parts) {
    auto& row = rows.emplace_back(std::vector<std::string>{part.name, std::to_string(part.records)});
    for (std::size_t m = 0; m < columns; ++m) {
      const Metric& metric = part.metrics[m];
      row.push_back(number_or_nothing(metric.value, 3, "n/a"));
      if (metric.interval)
        row.back() += fmt::format(" ({:.3g} to {:.3g})", metric.interval->first, metric.interval->second);
    }
  }
  return "\n" + aligned(rows);
}

std::string confusion_text(const Objective& objective, const Assessment& a) {
  const std::size_t classes = a.classes();
  if (classes == 0) return "";
  if (classes > most_rows) return fmt::format("\n{} classes: --json gives the confusion matrix\n", classes);
  const std::uint64_t largest = *std::max_element(a.confusion.begin(), a.confusion.end());
  const std::size_t width = std::max<std::size_t>(2, std::to_string(largest).size());
  std::string text = fmt::format("\nrecords of each class (rows) that were taken for a class (columns)\n{:>6}", "");
  for (std::size_t k = 0; k < classes; ++k) text += fmt::format("  {:>{}}", class_name(objective, k), width);
  for (std::size_t k = 0; k < classes; ++k) {
    text += fmt::format("\n{:>6}", class_name(objective, k));
    for (std::size_t j = 0; j < classes; ++j) text += fmt::format("  {:>{}}", a.confusion[k * classes + j], width);
  }
  return text + "\n";
}

std::string calibration_text(const Objective& objective, const ScoreCalibration& c) {
  std::string text = fmt::format("\nprobabilities of {}: predicted, and the share that was\n",
                                 objective.label_kind() == LabelKind::sign ? "+1" : "the predicted class");
  for (const auto& bin : c.bins) {
    if (bin.records == 0) continue;
    text += fmt::format("  {:.3f}  {:.3f}  {:<40}  {} records\n", bin.predicted, bin.found,
                        std::string(static_cast<std::size_t>(40 * bin.found + 0.5), '#'), bin.records);
  }
  return text;
}

}  // namespace

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t j = 0; j < row.size(); ++j) width[j] = std::max(width[j], row[j].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("  {:<{}}", row[0], width[0]);
    for (std::size_t j = 1; j < row.size(); ++j) line += fmt::format("  {:>{}}", row[j], width[j]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string evaluation_text(const Objective& objective, const Assessment& a, std::int64_t resamples,
                            const std::string& grouped_by) {
  std::string text = metrics_table(a.metrics, resamples);
  text += table_of_parts("class", a.by_class);
  text += table_of_parts(grouped_by.empty() ? "group" : grouped_by, a.by_group);
  text += confusion_text(objective, a);
  if (a.calibration) text += calibration_text(objective, *a.calibration);
  return text;
}

}  // namespace dpmpi
