#pragma once
// A file with what a model says of records.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "data/load/data_files.hpp"
#include "run/evaluate/trained_model.hpp"

namespace dpmpi {

struct PredictionFormat {
  std::optional<double> threshold = {};  ///< in (0, 1): +1 is predicted where its probability is above; none: 1/2
  std::vector<std::string> keep = {};    ///< columns of the table that stand in front of the predictions
};

/// Writes one row per record of the file, in its order. CSV: `record` (from 1), the columns that are kept,
/// `prediction`, then `probability` (of +1, or one column a class) where scores are logits, else `score` where that
/// is not the prediction itself. Quantities are on their own scale (counts: the rate); classes have the names that
/// data.label_map or the columns file give them. NumPy (`path` ends with .npy): float32, records x outputs, the
/// scores. Records that data.only_labels leaves out have nan. Returns their number (all slots). Collective. Throws
/// on all ranks: ConfigError if the objective has no scores, or none that the format asks for, DataError if the
/// file cannot be written.
std::uint64_t write_predictions(const Communicator& comm, TrainedModel& model, const Dataset& scored,
                                const PredictionFormat& format, const std::string& path);

}  // namespace dpmpi
