#include "run/onnx/export.hpp"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/config/recipe.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/evaluate/class_names.hpp"
#include "run/evaluate/population.hpp"
#include "run/onnx/score_nodes.hpp"

namespace dpmpi {
namespace {

// Versions that runtimes of 2021 and later read.
constexpr std::int64_t ir_version = 7, operators = 13, machine_learning_operators = 2;
constexpr std::uint64_t most_bytes = std::numeric_limits<std::int32_t>::max();  // of a protobuf message

namespace model_field {
constexpr std::uint32_t ir_version = 1, producer = 2, producer_version = 3, about = 6, graph = 7, operator_set = 8,
                        metadata = 14;
}

constexpr const char* about_the_file =
    "A model that dpmpi trained, with the preparation of its records. Nothing is certified by this file alone: the "
    "promise of differential privacy is that of the run whose certificate has the SHA-256 that the metadata name "
    "(certificate), and that certificate names the parameters (model_digest).";

WireMessage operator_set(const char* domain, std::int64_t version) {
  WireMessage set;
  return set.text(1, domain).whole(2, version);
}

WireMessage text_pair(std::string_view key, std::string_view value) {
  WireMessage pair;
  return pair.text(1, key).text(2, value);
}

/// What the model file says of the run, but not of how records are read: that is the graph.
void add_metadata(WireMessage& model, const std::string& file, const Objective& objective,
                  const std::vector<std::string>& classes) {
  for (const auto& [key, value] : read_metadata(file))
    if (key != "recipe" && key != "columns") model.message(model_field::metadata, text_pair(key, value));
  model.message(model_field::metadata, text_pair("model_digest", parameters_digest(file)));
  if (objective.label_kind() == LabelKind::class_)
    model.message(model_field::metadata, text_pair("classes", nlohmann::json(classes).dump()));
}

void refuse_what_has_no_graph(const RunConfig& config, const std::string& why) {
  throw ConfigError(fmt::format(
      "a model of objective.name = {} cannot be written as ONNX: {}. Linear models, perceptrons and networks of layers can",
      config.objective_name, why));
}

ScoreRecipe score_recipe_of(const RunConfig& config, const Objective& objective) {
  if (objective.outputs() == 0) refuse_what_has_no_graph(config, "it has no scores");
  ScoreRecipe recipe = objective.score_recipe();
  if (!recipe) refuse_what_has_no_graph(config, "its scores are not those of layers");
  return recipe;
}

/// The scores of the records as they are, of a model that was trained with class weights.
std::string without_class_weights(OnnxGraph& graph, const Objective& objective, const std::string& scores) {
  const std::vector<float> shift = shift_of_logits(objective);
  if (shift.empty()) return scores;
  return graph.node("Sub",
                    {scores, graph.constant("class_weights", {shift.size()}, std::span<const float>(shift))});
}

void write(const std::string& path, const WireMessage& head, const OnnxGraph& graph) {
  std::uint64_t bytes = 0;
  for (const std::string_view piece : graph.pieces()) bytes += piece.size();
  if (bytes + head.bytes().size() > most_bytes)
    throw DataError(fmt::format("{}: an ONNX file holds at most 2 GiB, and this model has {} bytes", path, bytes));
  WholeFile file(output_target(path));
  file.write(head.bytes());
  file.write(WireMessage().begin(model_field::graph, bytes).bytes());
  for (const std::string_view piece : graph.pieces()) file.write(piece);
  file.commit();
}

}  // namespace

OnnxNames write_onnx(const ModelToScore& scored, const std::string& path) {
  const RunConfig& config = *scored.config;
  if (needs_more_than_the_model(config))
    refuse_what_has_no_graph(config, "it needs more than the model (code in a library, or records)");
  if (!config.data.transform.empty())
    throw ConfigError(
        "data.transform cannot be written as ONNX: a graph would have to compute the wavelets of every image. Score with "
        "dpmpi predict");
  ModelAlone model = read_model_alone(scored);
  const ScoreRecipe recipe = score_recipe_of(config, *model.objective);
  const ModelInputs inputs = inputs_of(scored, model.features);
  const std::vector<std::string> classes = class_names(*model.objective, scored.files.scored().rules.label_map);

  OnnxGraph graph;
  const SeenInputs seen = add_features(graph, inputs);
  const std::string scores = without_class_weights(
      graph, *model.objective, add_scores(graph, *model.objective, recipe, model.parameters, seen));
  model.objective->at(model.parameters);  // a threshold may be a parameter
  const std::vector<std::string> outputs = add_outputs(graph, *model.objective, classes, scores);

  WireMessage head;
  head.whole(model_field::ir_version, ir_version)
      .text(model_field::producer, "dpmpi")
      .text(model_field::producer_version, DPMPI_VERSION)
      .text(model_field::about, about_the_file)
      .message(model_field::operator_set, operator_set("", operators))
      .message(model_field::operator_set, operator_set("ai.onnx.ml", machine_learning_operators));
  add_metadata(head, scored.file, *model.objective, classes);
  write(path, head, graph);
  return {inputs.together ? std::vector<std::string>{"features"} : inputs.order, outputs};
}

}  // namespace dpmpi
