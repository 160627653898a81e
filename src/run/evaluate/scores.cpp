#include "run/evaluate/scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/write.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/evaluate.hpp"

namespace dpmpi {
namespace {

/// This rank's scores, one row per slot of its blocks; NaN where a slot is empty.
std::vector<float> all_scores(TrainedModel& model) {
  const std::size_t outputs = model.objective->outputs();
  std::vector<float> scores(slots_of(model.records) * outputs, std::numeric_limits<float>::quiet_NaN());
  if (model.records.blocks.empty()) return scores;
  const std::uint64_t first = model.records.blocks.front().first_index;
  for_each_score(*model.objective, model.parameters, model.records,
                 [&](const Block& block, std::uint32_t row, std::span<const float> own) {
                   std::copy(
                       own.begin(), own.end(),
                       scores.begin() + static_cast<std::ptrdiff_t>((block.first_index - first + row) * outputs));
                 });
  return scores;
}

/// A row of the CSV file, after the record's number.
class RowText {
 public:
  explicit RowText(const Objective& objective)
      : objective_(objective),
        sign_(objective.label_kind() == LabelKind::sign),
        named_(!is_quantity(objective.label_kind())) {}

  std::string header() const {
    if (!named_ && predicts_labels(objective_)) return "prediction";
    if (!named_) return objective_.outputs() == 1 ? "score" : columns("score");
    if (objective_.scores_are_logits()) return "prediction," + (sign_ ? "probability" : columns("probability"));
    return "prediction," + (objective_.outputs() == 1 ? "score" : columns("score"));
  }

  std::string operator()(std::span<const float> scores) const {
    if (!named_) return numbers(scores);
    if (std::any_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); })) return nothing();
    const std::size_t guess = predicted_class(objective_, scores);
    std::string text = sign_ ? (guess == 1 ? "1," : "-1,") : fmt::format("{},", guess);
    if (!objective_.scores_are_logits()) return text + numbers(scores);
    if (sign_) return text + fmt::format("{:.6g}", probability(scores, 1));
    for (std::size_t k = 0; k < scores.size(); ++k)
      text += fmt::format("{}{:.6g}", k > 0 ? "," : "", probability(scores, k));
    return text;
  }

 private:
  std::string columns(const char* name) const {
    std::string text;
    for (std::size_t k = 0; k < objective_.outputs(); ++k)
      text += fmt::format("{}{}_{}", k > 0 ? "," : "", name, k);
    return text;
  }
  std::string nothing() const {
    std::string text = "nan";
    for (std::size_t k = 0; k < objective_.outputs(); ++k) text += ",nan";
    return text;
  }
  static std::string numbers(std::span<const float> scores) {
    std::string text;
    for (std::size_t k = 0; k < scores.size(); ++k) text += fmt::format("{}{}", k > 0 ? "," : "", scores[k]);
    return text;
  }

  const Objective& objective_;
  bool sign_, named_;
};

}  // namespace

void for_each_score(
    Objective& objective, std::span<const float> w, const Shard& shard,
    const std::function<void(const Block& block, std::uint32_t row, std::span<const float> scores)>& take) {
  const std::size_t outputs = objective.outputs();
  if (outputs == 0) return;
  const AtPoint at = objective.at(w);
  std::vector<float> scores;
  for_each_micro_batch(objective, shard, "scoring", [&](const Block& block, const Rows& rows) {
    scores.resize(rows.size() * outputs);
    at.scores(rows, scores);
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

std::uint64_t write_predictions(const Communicator& comm, TrainedModel& model, const std::string& path) {
  const std::size_t outputs = model.objective->outputs();
  if (outputs == 0)
    throw ConfigError("the objective of this run has losses alone, no scores: there is nothing to predict");
  const std::vector<float> mine = all_scores(model);
  const auto parts = comm.gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(float)});
  const std::uint64_t records = model.records.layout.records;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    WholeFile file(output_target(path));
    const bool numpy = path.ends_with(".npy");
    const RowText row_text(*model.objective);
    file.write(numpy ? npy_header(records, outputs) : "record," + row_text.header() + "\n");
    std::vector<float> scores(outputs);
    std::uint64_t record = 0;
    for (const std::string& part : parts) {
      if (numpy) {
        file.write(part);
        continue;
      }
      std::string text;
      for (std::size_t at = 0; at < part.size(); at += outputs * sizeof(float)) {
        std::memcpy(scores.data(), part.data() + at, outputs * sizeof(float));
        text += fmt::format("{},{}\n", ++record, row_text(scores));
      }
      file.write(text);
    }
    file.commit();
  });
  return records;
}

}  // namespace dpmpi
