// Rows in memory are a NumPy file that has no name: so they are read and prepared as those of a file are.
#include "dpmpi/dpmpi.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "comm/communicator.hpp"
#include "core/files/durable.hpp"
#include "data/formats/arrays.hpp"
#include "library/guarded.hpp"
#include "run/evaluate/scores.hpp"
#include "run/evaluate/trained_model.hpp"

namespace dpmpi {
namespace {

library::Predicted predicted(const std::string& place, std::span<const float> rows, std::size_t features) {
  if (features == 0 || rows.size() % features != 0)
    throw ConfigError(fmt::format("{} numbers are no rows of {} features", rows.size(), features));
  if (rows.empty()) throw ConfigError("there are no rows to predict");
  DurableFile file = DurableFile::in_memory("rows to predict");
  file.write(npy_header(rows.size() / features, features));
  file.write({reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
  const ModelToScore scored = model_to_score(place, file.path(), {"data.format=npy", "data.label=none"});
  TrainedModel model = read_trained_model(Communicator::alone(), scored);
  library::Predicted out;
  out.outputs = model.objective->outputs();
  if (out.outputs == 0) throw ConfigError("the objective of this model has losses alone, no scores");
  out.scores.reserve(rows.size() / features * out.outputs);
  for_each_score(*model.objective, model.parameters, model.records,
                 [&](const Block&, std::uint32_t, std::span<const float> scores) {
                   out.scores.insert(out.scores.end(), scores.begin(), scores.end());
                 });
  verify(out.scores.size() == rows.size() / features * out.outputs, "every row has its scores");
  return out;
}

}  // namespace

namespace library {

Predicted predict(const std::string& model, std::span<const float> rows, std::size_t features) {
  return guarded([&] { return predicted(model, rows, features); });
}

}  // namespace library
}  // namespace dpmpi
