#include "run/evaluate/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "run/evaluate/scores.hpp"

namespace dpmpi {
namespace {

constexpr double largest_error = 1e6;  // a non-finite or absurd one counts as this

/// Exact counts and sums, laid out in one array for one reduction.
class ResultTally {
 public:
  ResultTally(const Objective& objective, std::size_t classes, std::uint64_t records)
      : objective_(objective),
        classes_(classes),
        unit_(exact_unit(largest_error, records)),
        sums_(classes * classes + 3 * bins + 1) {}

  void add(std::span<const float> scores, float label) {
    if (classes_ == 0) {
      const double error = std::abs(static_cast<double>(scores[0]) - static_cast<double>(label));
      sums_.back() += units(std::isnan(error) ? largest_error : error);
      return;
    }
    const std::size_t truth = class_of(label), guess = predicted_class(objective_, scores);
    ++sums_[truth * classes_ + guess];
    if (!objective_.scores_are_logits()) return;
    const bool sign = objective_.label_kind() == LabelKind::sign;
    const double p = probability(scores, sign ? 1 : guess);
    if (std::isnan(p)) return;
    const std::size_t bin = std::min(bins - 1, static_cast<std::size_t>(p * bins));
    std::int64_t* const of_bin = &sums_[classes_ * classes_ + 3 * bin];
    of_bin[0] += 1;
    of_bin[1] += units(p);
    of_bin[2] += sign ? truth == 1 : truth == guess;
  }

  std::span<std::int64_t> sums() { return sums_; }

  std::vector<std::uint64_t> confusion() const {
    return {sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(classes_ * classes_)};
  }
  double absolute_error() const { return static_cast<double>(sums_.back()) * unit_; }

  ScoreCalibration calibration() const {
    ScoreCalibration c;
    std::uint64_t records = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      const std::int64_t* const of_bin = &sums_[classes_ * classes_ + 3 * b];
      if (of_bin[0] == 0) continue;
      const auto n = static_cast<double>(of_bin[0]);
      c.bins[b] = {static_cast<std::uint64_t>(of_bin[0]), static_cast<double>(of_bin[1]) * unit_ / n,
                   static_cast<double>(of_bin[2]) / n};
      c.error += n * std::abs(c.bins[b].predicted - c.bins[b].found);
      records += c.bins[b].records;
    }
    c.error /= static_cast<double>(std::max<std::uint64_t>(1, records));
    return c;
  }

 private:
  static constexpr std::size_t bins = std::tuple_size_v<decltype(ScoreCalibration::bins)>;

  std::size_t class_of(float label) const {
    return objective_.label_kind() == LabelKind::sign ? label > 0 : static_cast<std::size_t>(label);
  }

  // Sums of whole units: their order does not matter.
  std::int64_t units(double x) const { return std::llrint(std::clamp(x, 0.0, largest_error) / unit_); }

  const Objective& objective_;
  std::size_t classes_;
  double unit_;
  std::vector<std::int64_t> sums_;  // confusion, (records, predicted, found) of each bin, absolute errors
};

}  // namespace

std::size_t Assessment::classes() const {
  return static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(confusion.size()))));
}

Assessment assess(const Communicator& comm, Objective& objective, std::span<const float> w, const Shard& shard,
                  bool with_roc) {
  Assessment result{evaluate(comm, objective, w, shard, with_roc), {}, {}, {}};
  const LabelKind kind = objective.label_kind();
  const bool quantity = is_quantity(kind);
  if (objective.outputs() == 0 || !predicts_labels(objective)) return result;

  ResultTally tally(objective,
                    quantity                  ? 0
                    : kind == LabelKind::sign ? 2
                                              : objective.classes(),
                    shard.layout.records);
  for_each_score(objective, w, shard, [&](const Block& block, std::uint32_t row, std::span<const float> scores) {
    tally.add(scores, block.records.label[row]);
  });
  add_on_root(comm, tally.sums());
  if (!comm.is_root()) return result;
  if (quantity)
    result.absolute_error =
        tally.absolute_error() / static_cast<double>(std::max<std::uint64_t>(1, result.evaluation.records));
  else
    result.confusion = tally.confusion();
  if (objective.scores_are_logits()) result.calibration = tally.calibration();
  return result;
}

namespace {

/// The share of the largest class: the accuracy of who always says the same. By the rows of the confusion matrix.
std::optional<double> largest_class(const Assessment& a) {
  const std::size_t classes = a.classes();
  std::uint64_t most = 0, all = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    std::uint64_t of_class = 0;
    for (std::size_t j = 0; j < classes; ++j) of_class += a.confusion[k * classes + j];
    most = std::max(most, of_class), all += of_class;
  }
  if (all == 0) return {};
  return static_cast<double>(most) / static_cast<double>(all);
}

}  // namespace

std::vector<std::pair<std::string, double>> metrics_of(const Objective& objective, const Assessment& a) {
  std::vector<std::pair<std::string, double>> metrics{{std::string(objective.loss_name()), a.evaluation.loss}};
  if (a.evaluation.accuracy) metrics.emplace_back("accuracy", *a.evaluation.accuracy);
  if (const auto largest = largest_class(a); largest && a.evaluation.accuracy)
    metrics.emplace_back("largest_class", *largest);
  if (a.evaluation.auc) metrics.emplace_back("auc", *a.evaluation.auc);
  if (a.absolute_error) metrics.emplace_back("absolute_error", *a.absolute_error);
  if (a.calibration) metrics.emplace_back("calibration_error", a.calibration->error);
  for (const Measure& measure : a.evaluation.measures) metrics.emplace_back(measure.name, measure.value);
  return metrics;
}

std::string class_name(const Objective& objective, std::size_t k) {
  return objective.label_kind() == LabelKind::sign ? (k == 1 ? "1" : "-1") : std::to_string(k);
}

nlohmann::ordered_json assessment_json(const Objective& objective, const Assessment& a) {
  using Json = nlohmann::ordered_json;
  Json out{{"records", a.evaluation.records}, {"metrics", Json::object()}};
  for (const auto& [name, value] : metrics_of(objective, a)) out["metrics"][name] = value;
  const std::size_t classes = a.classes();
  for (std::size_t k = 0; k < classes; ++k) {
    out["classes"].push_back(class_name(objective, k));
    const auto row = a.confusion.begin() + static_cast<std::ptrdiff_t>(k * classes);
    out["confusion"].push_back(std::vector<std::uint64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  if (a.calibration)
    for (const auto& bin : a.calibration->bins)
      out["calibration"].push_back({{"records", bin.records}, {"predicted", bin.predicted}, {"found", bin.found}});
  return out;
}

}  // namespace dpmpi
