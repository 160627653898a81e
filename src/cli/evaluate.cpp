// How good a finished run's model is on labelled records.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/evaluation_text.hpp"
#include "cli/look.hpp"
#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/records/labels.hpp"
#include "data/records/text.hpp"
#include "run/evaluate/metrics.hpp"
#include "run/evaluate/scores.hpp"
#include "run/train/input_checks.hpp"
#include "run/warnings/constant_predictor.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

struct EvaluationRequest {
  std::string run, data, by;
  std::vector<std::string> overrides;
  std::int64_t resamples = 1000;
  bool json = false;
  LookTyped look;
  ModelToScore scored;
};

void prepare_evaluation(EvaluationRequest& typed) {
  check_look(typed.look);
  if (typed.look.asked()) {
    if (!typed.data.empty() || !typed.by.empty() || typed.resamples != EvaluationRequest().resamples)
      throw ConfigError(
          "--private: a look counts these people alone, with noise: leave out --data, --by and --bootstrap");
    typed.scored = model_to_look_at(typed.run, typed.look.people, typed.overrides, typed.look.request);
    return;
  }
  if (typed.resamples > 0 && typed.resamples < fewest_resamples)
    throw ConfigError(
        fmt::format("--bootstrap = {}, allowed: 0, or at least {}", typed.resamples, fewest_resamples));
  typed.scored = model_to_score(typed.run, typed.data, typed.overrides);
}

void refuse_to_evaluate(const Communicator& comm, const ModelToScore& scored) {
  const RunConfig& config = *scored.config;
  if (config.data.label == no_label) throw ConfigError("dpmpi evaluate needs labels: data.label = none has none");
  // What td says of records beyond means are exact sums and largest values over all of them, on every rank.
  if (scored.files.scored().role == DataRole::given && config.objective_name == "td" && comm.size() > 1)
    throw ConfigError(
        "dpmpi evaluate: every rank would see exact sums over the records of --data, by which td measures: start it "
        "on one rank, without mpirun");
  if (config.is_private()) {
    if (!scored.run.empty()) refuse_renamed_training_files(comm, scored.run, scored.files.training);
    refuse_private_evaluation(scored.files);
    refuse_private_evaluation(scored.trained_on, scored.files.scored());
  }
}

/// With the loss of the best constant, where it is known. Collective; valid on the root.
Assessment assessed(const Communicator& comm, TrainedModel& model, const EvaluationRequest& typed) {
  AssessmentRequest request{.resamples = typed.resamples};
  if (!typed.by.empty()) {
    DatasetFacts facts = model.records.facts;
    comm.broadcast(facts.feature_names);  // which the root alone has read
    request.grouping = groups_by_column(typed.by, facts, typed.scored.files.scored().rules);
  }
  Assessment a = assess(comm, *model.objective, model.parameters, model.records, request);
  const ConstantPredictor constant = best_constant(comm, *model.objective, model.records);
  if (comm.is_root()) a.metrics.front().constant = constant.loss;
  return a;
}

/// The column by which records count; empty: each counts once.
std::string weighing_column(const EvaluationRequest& typed) {
  const auto& file = typed.scored.files.scored().rules.columns_file;
  const ColumnRule* const weight = file ? file->of_kind(ColumnKind::weight) : nullptr;
  return weight ? weight->name : "";
}

Json json_of(const Assessment& a, const EvaluationRequest& typed, const std::string& data) {
  Json out{{"run", typed.run}, {"data", data}, {"bootstrap", typed.resamples}};
  if (const std::string weight = weighing_column(typed); !weight.empty()) out["weighted_by"] = weight;
  if (!typed.by.empty()) out["by"] = typed.by;
  out.update(assessment_json(a));
  return out;
}

std::string remark_on_weights(const EvaluationRequest& typed) {
  const std::string weight = weighing_column(typed);
  return weight.empty() ? "" : fmt::format(", weighted by {}", show(weight));
}

/// Collective; the root prints.
int show_evaluation(const Communicator& comm, const EvaluationRequest& typed) {
  if (typed.look.asked()) return show_look(comm, typed.scored, typed.look.request, typed.json);
  refuse_to_evaluate(comm, typed.scored);
  TrainedModel model = read_trained_model(comm, typed.scored);
  const Assessment a = assessed(comm, model, typed);
  if (!comm.is_root()) return printed();
  const std::string& data = typed.scored.files.scored().first().names;
  if (typed.json)
    fmt::print("{}\n", json_of(a, typed, data).dump(2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("{} on {} records of {}{}\n{}", typed.run, a.evaluation.records, data, remark_on_weights(typed),
               evaluation_text(*model.objective, a, typed.resamples, typed.by));
  return printed();
}

}  // namespace

Command evaluate_command() {
  const auto typed = std::make_shared<EvaluationRequest>();
  return {
      .name = "evaluate",
      .forms = {{"mpirun -n N dpmpi evaluate RUN [--data FILE] [--by FEATURE]",
                 "how good the model is on labelled records (default: data.eval)"},
                {"mpirun -n N dpmpi evaluate RUN --private FILE --epsilon E",
                 "the same on private records, by noisy counts with a promise"}},
      .about =
          "How good a finished run's model is on labelled records: those of the run's data.eval, or of FILE, read by the\n"
          "run's [data] options (data.label_map, data.scale, ...). The loss and, of classes, accuracy, balanced accuracy,\n"
          "precision, recall and F1; with two classes the areas under the ROC curve (auc) and under precision over recall\n"
          "(average_precision); of numbers, RMSE, MAE and R2. Each has a 95 % interval and, beside it, what the best\n"
          "constant reaches. Then come the confusion matrix and, for logistic and softmax losses, predicted probabilities\n"
          "against what was found. The same numbers on any number of ranks.\n\n"
          "With a column of weights all of these are weighted by it, but numbers of records are not. Predicted counts are\n"
          "those for the exposure of each record.\n\n"
          "Intervals are by the bootstrap: the records are drawn again, with public draws that are the same every time.\n\n"
          "The numbers are not noised. Of records that are private they are a release that no certificate covers: use\n"
          "public ones, or --private. The run's own training file is refused. Of a plugin's run, name the library\n"
          "yourself: --set objective.library=FILE; the directory has to verify before it is loaded.\n\n"
          "In place of RUN a model file is enough. Nothing certifies it then, and no training file is known.\n\n"
          "With --private the records are counted with noise, which keeps a promise for whose they are. Looks at the same\n"
          "people add up: their ledger stands beside FILE, and says what all of them cost. What was found goes to a folder\n"
          "in RUN/looks.",
      .options = options_of_looks(
          Options("")
              .add("run", typed->run, "the run directory, or its model.safetensors alone")
              .add(
                  "data", typed->data,
                  "labelled records in place of data.eval; a pattern such as visits-*.csv names the parts of a table")
              .add_each("set", typed->overrides, set_help)
              .add("by", typed->by, "metrics by group, too: a feature, by its name or its number from 1")
              .add("bootstrap", typed->resamples, "resamples for the intervals, 100 or more; 0: no intervals",
                   Range::closed(0, 1e6))
              .add("json", typed->json, "print JSON"),
          typed->look),
      .arguments = {"run"},
      .needed = {"run"},
      .on_all_ranks = [] { return true; },
      .prepare = [typed] { prepare_evaluation(*typed); },
      .run = [typed](const Communicator& world) { return show_evaluation(world, *typed); }};
}

}  // namespace dpmpi
