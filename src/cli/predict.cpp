// What a finished run's model says of new records.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/formats/table.hpp"
#include "data/formats/write.hpp"
#include "data/records/text.hpp"
#include "run/evaluate/predictions.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {
namespace {

struct PredictionRequest {
  std::string run, data, output, keep;
  std::vector<std::string> overrides;
  PredictionFormat format;
  ModelToScore scored;
};

/// As a table writes its names.
std::vector<std::string> names_in(const std::string& keep) {
  try {
    return split_fields(keep, ',');
  } catch (const Malformed& fault) {
    throw ConfigError(fmt::format("--keep {}: {}", keep, fault.what()));
  }
}

void prepare(PredictionRequest& typed) {
  if (!typed.output.ends_with(".csv") && !typed.output.ends_with(".npy"))
    throw ConfigError(fmt::format("--output {}: its name must end with .csv or .npy", typed.output));
  if (typed.format.threshold && !(*typed.format.threshold > 0 && *typed.format.threshold < 1))
    throw ConfigError(fmt::format("--threshold is {}, allowed: numbers in (0, 1)", *typed.format.threshold));
  if (!typed.keep.empty()) typed.format.keep = names_in(typed.keep);
  if (typed.output.ends_with(".npy") && (typed.format.threshold || !typed.format.keep.empty()))
    throw ConfigError("--threshold and --keep are for OUT.csv: OUT.npy holds the scores");
  typed.scored = model_to_score(typed.run, typed.data, typed.overrides);
}

/// Collective; the root writes.
int run_predict(const Communicator& comm, const PredictionRequest& typed) {
  const auto& config = typed.scored.config;
  const DataFiles& files = typed.scored.files;
  refuse_part_of_run(typed.output);
  if (comm.is_root()) {
    keep_files(files.scored().paths(), typed.output);
    keep_inputs(*config, files, typed.output);
  }
  TrainedModel model = read_trained_model(comm, typed.scored);
  const std::uint64_t written = write_predictions(comm, model, files.scored(), typed.format, typed.output);
  if (comm.is_root()) print_at(LogLevel::info, "wrote predictions for {} records to {}\n", written, typed.output);
  return static_cast<int>(ExitCode::done);
}

}  // namespace

Command predict_command() {
  const auto typed = std::make_shared<PredictionRequest>();
  return {
      .name = "predict",
      .forms = {{"mpirun -n N dpmpi predict RUN --data FILE --output OUT.csv|.npy",
                 "what the model says of new records"}},
      .about =
          "What a finished run's model says of the records of FILE, read by the run's [data] options. For files without\n"
          "labels: --set data.label=none. One row a record, in the file's order: record (from 1), prediction, and a\n"
          "probability (of +1, or one for each class) for logistic and softmax losses, else the score. OUT.npy holds the\n"
          "scores as float32, records x outputs.\n\n"
          "With a column of exposures, predicted counts are those for the exposure of each record. Where FILE has neither\n"
          "labels nor the column, they are rates: counts for an exposure of 1.\n\n"
          "The predictions follow from the model and the records of FILE alone; the run's certificate covers the model.\n"
          "Who sees the predictions learns something about the records of FILE.\n\n"
          "In place of RUN a model file is enough. Nothing certifies it then.",
      .options =
          Options("")
              .add("run", typed->run, "the run directory, or its model.safetensors alone")
              .add("data", typed->data, "the records; a pattern such as visits-*.csv names the parts of a table")
              .add("output", typed->output, "the predictions: a name that ends with .csv or .npy")
              .add("threshold", typed->format.threshold,
                   "predict +1 where its probability is above this number in (0, 1); not set: above 1/2")
              .add(
                  "keep", typed->keep,
                  "columns of the table that are written in front of predictions, separated by commas; a name with a "
                  "comma stands in quotation marks, as in the table")
              .add_each("set", typed->overrides, set_help),
      .arguments = {"run"},
      .needed = {"run", "data", "output"},
      .on_all_ranks = [] { return true; },
      .prepare = [typed] { prepare(*typed); },
      .run = [typed](const Communicator& world) { return run_predict(world, *typed); }};
}

}  // namespace dpmpi
