#pragma once
// A model as an ONNX file, with which somebody predicts who has neither dpmpi nor the training file.

#include <string>
#include <vector>

#include "run/evaluate/trained_model.hpp"

namespace dpmpi {

/// Names of what the graph takes and gives.
struct OnnxNames {
  std::vector<std::string> inputs, outputs;
};
/// Writes the model to `path`, with the preparation of its records and all that predict says of them. Local. Throws
/// ConfigError if the model is not made of layers or its columns are not known, DataError or PrivacyError as
/// read_model_alone() does, DataError if the file cannot be written.
OnnxNames write_onnx(const ModelToScore& model, const std::string& path);

}  // namespace dpmpi
