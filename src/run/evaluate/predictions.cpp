#include "run/evaluate/predictions.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/line_words.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/table_fields.hpp"
#include "data/formats/write.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/class_names.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/scores.hpp"

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
  RowText(const Objective& objective, const ReadingRules& rules, std::optional<double> threshold)
      : objective_(objective),
        sign_(objective.label_kind() == LabelKind::sign),
        named_(!is_quantity(objective.label_kind())),
        threshold_(threshold),
        names_(class_names(objective, rules.label_map)) {
    if (threshold && !(sign_ && objective.scores_are_logits()))
      throw ConfigError("--threshold is for probabilities of +1, and this model has none");
  }

  std::string header() const {
    if (!named_ && predicts_labels(objective_)) return "prediction";
    if (!named_) return objective_.outputs() == 1 ? "score" : columns("score");
    if (objective_.scores_are_logits()) return "prediction," + (sign_ ? "probability" : columns("probability"));
    return "prediction," + (objective_.outputs() == 1 ? "score" : columns("score"));
  }

  std::string operator()(std::span<const float> scores) const {
    if (!named_ && predicts_labels(objective_))
      return std::isnan(scores[0]) ? "nan" : fmt::format("{}", predicted_quantity(objective_, scores[0]));
    if (!named_) return numbers(scores);
    if (std::any_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); })) return nothing();
    const bool above = threshold_ && probability(scores, 1) > *threshold_;
    const std::size_t guess = threshold_ ? (above ? 1 : 0) : predicted_class(objective_, scores);
    std::string text = sign_ ? (guess == 1 ? "1," : "-1,") : written_word(name_of(guess)) + ",";
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
      text += (k > 0 ? "," : "") + written_word(fmt::format("{}_{}", name, name_of(k)));
    return text;
  }
  std::string name_of(std::size_t k) const { return k < names_.size() ? names_[k] : fmt::format("{}", k); }
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
  std::optional<double> threshold_;
  std::vector<std::string> names_;
};

/// The names of the columns that are kept, and those of every record; without any one empty text.
std::vector<std::string> kept_columns(const Dataset& scored, const std::vector<std::string>& names,
                                      std::uint64_t records) {
  if (names.empty()) return {""};
  std::vector<std::string> rows = fields_of_table(scored.first().names, scored.paths(), scored.rules, names);
  verify(rows.size() == records + 1, "the table has a row for every record");
  return rows;
}

}  // namespace

std::uint64_t write_predictions(const Communicator& comm, TrainedModel& model, const Dataset& scored,
                                const PredictionFormat& format, const std::string& path) {
  const std::size_t outputs = model.objective->outputs();
  if (outputs == 0)
    throw ConfigError("the objective of this run has losses alone, no scores: there is nothing to predict");
  const std::vector<float> mine = all_scores(model);
  const auto parts = comm.gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(float)});
  const std::uint64_t records = model.records.layout.records;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const bool numpy = path.ends_with(".npy");
    const RowText row_text(*model.objective, scored.rules, format.threshold);
    const std::vector<std::string> kept = kept_columns(scored, format.keep, records);
    WholeFile file(output_target(path));
    file.write(numpy ? npy_header(records, outputs)
                     : fmt::format("record,{}{}\n", kept.front(), row_text.header()));
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
        ++record;
        text += fmt::format("{},{}{}\n", record, kept[kept.size() > 1 ? record : 0], row_text(scores));
      }
      file.write(text);
    }
    file.commit();
  });
  return records;
}

}  // namespace dpmpi
