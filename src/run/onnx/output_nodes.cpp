// From scores to what predict writes.

#include <limits>

#include "run/evaluate/scores.hpp"
#include "run/onnx/score_nodes.hpp"

namespace dpmpi {
namespace {

constexpr const char* not_a_score = "nan";

/// Whether a record has no score, as predict sees it: one of them is no number.
std::string no_score(OnnxGraph& graph, const std::string& scores, std::size_t outputs) {
  const std::string each = graph.node("IsNaN", {scores});
  if (outputs == 1) return each;
  const std::string most = graph.node("ReduceMax", {graph.cast(each, OnnxType::float32)},
                                      {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{1}}});
  return graph.cast(most, OnnxType::boolean);
}

std::string word(OnnxGraph& graph, const std::string& text) { return graph.constant("word", {1}, {text}); }

std::string sign_label(OnnxGraph& graph, float threshold, const std::string& scores) {
  const std::string limit = graph.constant("threshold", {1}, std::span<const float>(&threshold, 1));
  return graph.node("Where", {graph.node("Greater", {scores, limit}), word(graph, "1"), word(graph, "-1")});
}

std::string class_label(OnnxGraph& graph, const std::vector<std::string>& classes, const std::string& scores) {
  const std::string largest =
      graph.node("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{1}}});
  return graph.node("Gather", {graph.constant("classes", {classes.size()}, classes), largest});
}

/// exp of it, or float32's largest number, as predicted_quantity() has it.
std::string rate(OnnxGraph& graph, const std::string& score) {
  const std::string e = graph.node("Exp", {score});
  const std::string most = graph.number("largest", static_cast<double>(std::numeric_limits<float>::max()));
  return graph.node("Where", {graph.node("Greater", {e, most}), most, e});
}

}  // namespace

std::vector<std::string> add_outputs(OnnxGraph& graph, const Objective& objective,
                                     const std::vector<std::string>& classes, const std::string& scores) {
  const std::size_t outputs = objective.outputs();
  const std::string logits = graph.cast(scores, OnnxType::float64);
  std::vector<std::string> names;
  const auto add = [&](const std::string& value, const char* name, OnnxType type, std::size_t columns,
                       const char* about) { names.push_back(graph.output(value, name, type, columns, about)); };
  if (is_quantity(objective.label_kind())) {
    const bool count = objective.label_kind() == LabelKind::count;
    if (predicts_labels(objective))
      add(count ? rate(graph, logits) : logits, "prediction", OnnxType::float64, 1,
          count ? "the expected count" : "the predicted label");
    if (count || !predicts_labels(objective))
      add(scores, "score", OnnxType::float32, outputs, count ? "the logarithm of the prediction" : "");
    return names;
  }
  const bool sign = objective.label_kind() == LabelKind::sign;
  const std::string label =
      sign ? sign_label(graph, objective.decision_threshold(), scores) : class_label(graph, classes, scores);
  add(graph.node("Where", {no_score(graph, scores, outputs), word(graph, not_a_score), label}), "label",
      OnnxType::text, 1,
      sign ? "1, -1, or nan where there is no score" : "a class, or nan where there is no score");
  if (objective.scores_are_logits() && sign)
    add(graph.node("Sigmoid", {logits}), "probability", OnnxType::float64, 1, "of label 1");
  if (objective.scores_are_logits() && !sign)
    add(graph.node("Softmax", {logits}, {{"axis", std::int64_t{1}}}), "probabilities", OnnxType::float64, outputs,
        "one column for each class");
  add(scores, "score", OnnxType::float32, outputs,
      sign ? "labels are 1 above a threshold" : "one column for each class");
  return names;
}

}  // namespace dpmpi
