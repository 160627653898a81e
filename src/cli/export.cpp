// A finished run's model, or any run's metrics, for those who have no dpmpi.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/follow/tensorboard.hpp"
#include "run/onnx/export.hpp"

namespace dpmpi {
namespace {

struct ExportRequest {
  std::string run, data, output, tensorboard;
  std::vector<std::string> overrides;
};

std::string shortened(std::vector<std::string> names) {
  constexpr std::size_t shown = 8;
  const std::size_t more = names.size() > shown ? names.size() - shown : 0;
  if (more > 0) names.resize(shown);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void check_typed(const ExportRequest& typed) {
  if (typed.output.empty() && typed.tensorboard.empty())
    throw ConfigError("dpmpi export needs --output MODEL.onnx or --tensorboard FOLDER");
  if (!typed.output.empty() && !typed.tensorboard.empty())
    throw ConfigError("--output and --tensorboard are two things: give one of them");
  if (typed.tensorboard.empty() && !typed.output.ends_with(".onnx"))
    throw ConfigError(fmt::format("--output {}: its name must end with .onnx", typed.output));
  if (!typed.tensorboard.empty() && !(typed.data.empty() && typed.overrides.empty()))
    throw ConfigError("--data and --set are for models: metrics are written as they are");
}

int export_metrics(const ExportRequest& typed) {
  print_at(LogLevel::info, "wrote {}\n", write_tensorboard(typed.run, typed.tensorboard));
  return printed();
}

int export_model(const ExportRequest& typed) {
  const ModelToScore model = model_at(typed.run, typed.data, typed.overrides);
  refuse_part_of_run(typed.output);
  keep_files(model.files.given.seen(), typed.output);
  keep_inputs(*model.config, model.files, typed.output);
  const OnnxNames names = write_onnx(model, typed.output);
  print_at(LogLevel::info, "wrote {}\n  inputs: {}\n  outputs: {}\n", typed.output, shortened(names.inputs),
           shortened(names.outputs));
  return printed();
}

}  // namespace

Command export_command() {
  const auto typed = std::make_shared<ExportRequest>();
  return {
      .name = "export",
      .forms = {{"dpmpi export RUN --output MODEL.onnx [--data FILE]", "the model for programs without dpmpi"},
                {"dpmpi export RUN --tensorboard FOLDER", "the metrics so far as an event file of TensorBoard"}},
      .about =
          "A finished run's model as an ONNX file, which other programs read. It takes the columns of a table as they\n"
          "are, prepares them as [data] or the columns file says, and gives what dpmpi predict writes: labels,\n"
          "probabilities, scores, counts. Each column is an input: words as text, numbers and dates (days since\n"
          "1970-01-01) as float64, NaN where there is none.\n\n"
          "Without a columns file the names of the columns are those of FILE, else of the run's data.eval or training\n"
          "file. Where there are none, numbers are one input `features`.\n\n"
          "In place of RUN a model file is enough. Nothing certifies the ONNX file by itself.\n\n"
          "For TensorBoard, the run may be going on. All numbers of metrics.jsonl, which are public, become scalars.",
      .options =
          Options("")
              .add("run", typed->run, "the run directory, or its model.safetensors alone")
              .add("data", typed->data, "a table with the names of the columns; only its first lines are read")
              .add("output", typed->output, "the model: a name that ends with .onnx")
              .add("tensorboard", typed->tensorboard, "the folder for an event file, in place of a model")
              .add_each("set", typed->overrides, set_help),
      .arguments = {"run"},
      .needed = {"run"},
      .prepare = [typed] { check_typed(*typed); },
      .run =
          [typed](const Communicator&) {
            return typed->output.empty() ? export_metrics(*typed) : export_model(*typed);
          }};
}

}  // namespace dpmpi
