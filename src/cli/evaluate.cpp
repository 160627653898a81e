#include "cli/evaluate.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "data/load/load.hpp"
#include "data/records/labels.hpp"
#include "run/evaluate/metrics.hpp"
#include "run/evaluate/scores.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

std::string class_name(const Objective& objective, std::size_t k) {
  return objective.label_kind() == LabelKind::sign ? (k == 1 ? "1" : "-1") : std::to_string(k);
}

/// Name and value of every metric, in the order in which they are shown.
std::vector<std::pair<std::string, double>> metrics_of(const Objective& objective, const Assessment& a) {
  std::vector<std::pair<std::string, double>> metrics{{std::string(objective.loss_name()), a.evaluation.loss}};
  if (a.evaluation.accuracy) metrics.emplace_back("accuracy", *a.evaluation.accuracy);
  if (a.evaluation.auc) metrics.emplace_back("auc", *a.evaluation.auc);
  if (a.absolute_error) metrics.emplace_back("absolute_error", *a.absolute_error);
  if (a.calibration) metrics.emplace_back("calibration_error", a.calibration->error);
  for (const Measure& measure : a.evaluation.measures) metrics.emplace_back(measure.name, measure.value);
  return metrics;
}

void print_confusion(const Objective& objective, const Assessment& a) {
  const std::size_t classes = a.classes();
  constexpr std::size_t most = 20;  // columns that a screen shows
  if (classes > most) {
    fmt::print("\n{} classes: --json gives the confusion matrix\n", classes);
    return;
  }
  const std::uint64_t largest = *std::max_element(a.confusion.begin(), a.confusion.end());
  const std::size_t width = std::max<std::size_t>(2, std::to_string(largest).size());
  fmt::print("\nrecords of each class (rows) that were taken for a class (columns)\n{:>6}", "");
  for (std::size_t k = 0; k < classes; ++k) fmt::print("  {:>{}}", class_name(objective, k), width);
  for (std::size_t k = 0; k < classes; ++k) {
    fmt::print("\n{:>6}", class_name(objective, k));
    for (std::size_t j = 0; j < classes; ++j) fmt::print("  {:>{}}", a.confusion[k * classes + j], width);
  }
  fmt::print("\n");
}

void print_calibration(const Objective& objective, const ScoreCalibration& c) {
  fmt::print("\nprobabilities of {}: predicted, and the share that was\n",
             objective.label_kind() == LabelKind::sign ? "+1" : "the predicted class");
  for (const auto& bin : c.bins) {
    if (bin.records == 0) continue;
    fmt::print("  {:.3f}  {:.3f}  {:<40}  {} records\n", bin.predicted, bin.found,
               std::string(static_cast<std::size_t>(40 * bin.found + 0.5), '#'), bin.records);
  }
}

Json json_of(const Objective& objective, const Assessment& a, const std::string& run, const std::string& data) {
  Json out{{"run", run}, {"data", data}, {"records", a.evaluation.records}, {"metrics", Json::object()}};
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

}  // namespace

int show_evaluation(const Communicator& comm, const CommandLine& line, const RunConfig& config) {
  const std::string& run = line.arguments[0];
  if (config.data.label == no_label) throw ConfigError("dpmpi evaluate needs labels: data.label = none has none");
  if (config.is_private()) refuse_private_evaluation(config.data);
  const DataRole role = scored_role(config.data);
  // What td says of records beyond means are exact sums and largest values over all of them, on every rank.
  if (role == DataRole::given && config.objective_name == "td" && comm.size() > 1)
    throw ConfigError(
        "dpmpi evaluate: every rank would see exact sums over the records of --data, by which td measures: start it "
        "on one rank, without mpirun");
  const std::string& data = file_of(config.data, role);
  TrainedModel model = read_trained_model(comm, run, config);
  const Assessment a = assess(comm, model);
  if (!comm.is_root()) return static_cast<int>(ExitCode::done);
  const Objective& objective = *model.objective;
  if (line.json) {
    fmt::print("{}\n", json_of(objective, a, run, data).dump(2, ' ', false, Json::error_handler_t::replace));
    return static_cast<int>(ExitCode::done);
  }
  fmt::print("{} on {} records of {}\n", run, a.evaluation.records, data);
  for (const auto& [name, value] : metrics_of(objective, a)) fmt::print("  {:<18} {:.6g}\n", name, value);
  if (!a.confusion.empty()) print_confusion(objective, a);
  if (a.calibration) print_calibration(objective, *a.calibration);
  return static_cast<int>(ExitCode::done);
}

int run_predict(const Communicator& comm, const CommandLine& line, const RunConfig& config) {
  const std::string& run = line.arguments[0];
  refuse_part_of_run(line.output);
  if (comm.is_root()) {
    keep_files(config.data, file_of(config.data, scored_role(config.data)), line.output);
    keep_inputs(config, line.output);
  }
  TrainedModel model = read_trained_model(comm, run, config);
  const std::uint64_t written = write_predictions(comm, model, line.output);
  if (comm.is_root()) print_at(LogLevel::info, "wrote predictions for {} records to {}\n", written, line.output);
  return static_cast<int>(ExitCode::done);
}

std::string evaluate_help() {
  return "mpirun -n N dpmpi evaluate RUN [--data FILE] [--set data.key=value]... [--json]\n\n"
         "How good a finished run's model is on labelled records: those of the run's data.eval, or of FILE, read by the\n"
         "run's [data] options (data.label_map, data.scale, ...). Loss, accuracy, exact area under the ROC curve, the\n"
         "confusion matrix, and, for logistic and softmax losses, predicted probabilities against what was found. The\n"
         "same numbers on any number of ranks.\n\n"
         "The numbers are not noised. Of records that are private they are a release that no certificate covers: use\n"
         "public ones. The run's own training file is refused. Of a plugin's run, name the library yourself: --set\n"
         "objective.library=FILE; the directory has to verify before it is loaded.\n";
}

std::string predict_help() {
  return "mpirun -n N dpmpi predict RUN --data FILE --output OUT.csv|OUT.npy [--set data.key=value]...\n\n"
         "What a finished run's model says of the records of FILE, read by the run's [data] options. For files without\n"
         "labels: --set data.label=none. One row a record, in the file's order: record (from 1), prediction, and a\n"
         "probability (of +1, or one for each class) for logistic and softmax losses, else the score. OUT.npy holds the\n"
         "scores as float32, records x outputs.\n\n"
         "The predictions follow from the model and the records of FILE alone; the run's certificate covers the model.\n"
         "Who sees the predictions learns something about the records of FILE.\n";
}

}  // namespace dpmpi
