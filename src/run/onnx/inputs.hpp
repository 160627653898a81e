#pragma once
// Which inputs a model has for whoever gives it values and no file, and what its records' features are made of.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "run/evaluate/trained_model.hpp"

namespace dpmpi {

/// A column of numbers, of which a missing one is NaN. It becomes a feature, and perhaps one that says whether it
/// is missing.
struct NumberInput {
  std::string name, about;
  std::size_t feature = 0;
  /// (clamp(x, low, high) * scale - center) / width.
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  double center = 0, width = 1;
  double missing = std::numeric_limits<double>::quiet_NaN();  ///< the feature where x is NaN
  std::optional<std::size_t> indicator = {};                  ///< the feature that is 1 there
};

/// A column of words. Each has its row of features.
struct WordInput {
  std::string name;
  std::size_t feature = 0, width = 0;  ///< the first feature, and how many there are
  std::vector<std::string> words;
  std::vector<double> rows;  ///< (words + 1) x width; the last row is that of all other words
};

struct ModelInputs {
  std::vector<NumberInput> numbers = {};
  std::vector<WordInput> words = {};
  std::optional<NumberInput> exposure = {};  ///< which is no feature: its logarithm is added to the score
  std::vector<std::string> order = {};       ///< names, as the columns stand in the table
  /// The names of columns are not known and all of them hold numbers, which one input has side by side.
  bool together = false;
  double scale = 1;
  std::size_t features = 0;
  bool unit_norm = false;  ///< every record is divided by its norm
};

/// Of a model whose records have so many features. Names of columns without a columns file come from the file of
/// --data, else from data.eval or the training file, if one of them is here; only its first lines are read. Local.
/// Throws ConfigError (with what to do) if the columns cannot be known, DataError if the file of --data does not
/// fit.
ModelInputs inputs_of(const ModelToScore& model, std::uint64_t features);

}  // namespace dpmpi
