#include "run/evaluate/metrics.hpp"

#include <algorithm>
#include <cmath>

#include "run/evaluate/scores.hpp"

namespace dpmpi {
namespace {

constexpr double largest_error = 1e6;  // a non-finite or absurd one counts as this

/// Exact counts and sums, laid out in one array for one reduction.
class Tally {
 public:
  Tally(const Objective& objective, std::size_t classes, std::uint64_t records)
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

Assessment assess(const Communicator& comm, TrainedModel& model) {
  const Objective& objective = *model.objective;
  Assessment result{evaluate(comm, *model.objective, model.parameters, model.records), {}, {}, {}};
  const LabelKind kind = objective.label_kind();
  const bool quantity = is_quantity(kind);
  if (quantity && !predicts_labels(objective)) return result;

  Tally tally(objective,
              quantity                  ? 0
              : kind == LabelKind::sign ? 2
                                        : objective.classes(),
              model.records.layout.records);
  for_each_score(model, [&](const Block& block, std::uint32_t row, std::span<const float> scores) {
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

}  // namespace dpmpi
