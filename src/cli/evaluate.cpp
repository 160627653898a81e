// How good a finished run's model is on labelled records.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "data/records/labels.hpp"
#include "run/evaluate/metrics.hpp"
#include "run/evaluate/scores.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

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
  Json out{{"run", run}, {"data", data}};
  out.update(assessment_json(objective, a));
  return out;
}

struct EvaluationRequest {
  std::string run, data;
  std::vector<std::string> overrides;
  bool json = false;
  RunToScore scored;
};

/// Collective; the root prints.
int show_evaluation(const Communicator& comm, const EvaluationRequest& typed) {
  const RunConfig& config = *typed.scored.config;
  const Dataset& data = typed.scored.files.scored();
  const std::string& run = typed.run;
  if (config.data.label == no_label) throw ConfigError("dpmpi evaluate needs labels: data.label = none has none");
  if (config.is_private()) refuse_private_evaluation(typed.scored.files);
  // What td says of records beyond means are exact sums and largest values over all of them, on every rank.
  if (data.role == DataRole::given && config.objective_name == "td" && comm.size() > 1)
    throw ConfigError(
        "dpmpi evaluate: every rank would see exact sums over the records of --data, by which td measures: start it "
        "on one rank, without mpirun");
  TrainedModel model = read_trained_model(comm, run, typed.scored);
  const Assessment a = assess(comm, *model.objective, model.parameters, model.records);
  if (!comm.is_root()) return printed();
  const Objective& objective = *model.objective;
  if (typed.json) {
    fmt::print("{}\n",
               json_of(objective, a, run, data.first().names).dump(2, ' ', false, Json::error_handler_t::replace));
    return printed();
  }
  fmt::print("{} on {} records of {}\n", run, a.evaluation.records, data.first().names);
  for (const auto& [name, value] : metrics_of(objective, a)) fmt::print("  {:<18} {:.6g}\n", name, value);
  if (!a.confusion.empty()) print_confusion(objective, a);
  if (a.calibration) print_calibration(objective, *a.calibration);
  return printed();
}

}  // namespace

Command evaluate_command() {
  const auto typed = std::make_shared<EvaluationRequest>();
  return {
      .name = "evaluate",
      .forms = {{"mpirun -n N dpmpi evaluate RUN [--data FILE]",
                 "how good the model is on labelled records (default: data.eval)"}},
      .about =
          "How good a finished run's model is on labelled records: those of the run's data.eval, or of FILE, read by the\n"
          "run's [data] options (data.label_map, data.scale, ...). Loss, accuracy beside the share of the largest class,\n"
          "exact area under the ROC curve, the confusion matrix, and, for logistic and softmax losses, predicted\n"
          "probabilities against what was found. The same numbers on any number of ranks.\n\n"
          "The numbers are not noised. Of records that are private they are a release that no certificate covers: use\n"
          "public ones. The run's own training file is refused. Of a plugin's run, name the library yourself: --set\n"
          "objective.library=FILE; the directory has to verify before it is loaded.",
      .options = Options("")
                     .add("run", typed->run, "the run directory")
                     .add("data", typed->data, "labelled records in place of data.eval")
                     .add_each("set", typed->overrides, set_help)
                     .add("json", typed->json, "print JSON"),
      .arguments = {"run"},
      .needed = {"run"},
      .on_all_ranks = [] { return true; },
      .prepare = [typed] { typed->scored = run_to_score(typed->run, typed->data, typed->overrides); },
      .run = [typed](const Communicator& world) { return show_evaluation(world, *typed); }};
}

}  // namespace dpmpi
