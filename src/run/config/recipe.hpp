#pragma once
// What a model file says of how its records are read, so that it can be used where neither config nor run directory
// is.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "run/config/config.hpp"

namespace dpmpi {

/// Code in a library, or records to train models on.
bool needs_more_than_the_model(const RunConfig& config);
/// Whether a JSON text can hold it.
bool is_utf8(const std::string& text);

/// The model file's text pairs for it: `recipe` (settings of [data] and [objective] as an INI file, without the
/// names of data files and what is declared of them), `features` (after preparation) and, of a run with one,
/// `columns`: the text `columns` of its columns file. Empty for objectives that need more than that: code in a
/// library, or records to train models on; and where the file could not hold them (text that is no UTF-8, or too
/// long).
std::vector<std::pair<std::string, std::string>> recipe_of(const RunConfig& config, std::uint64_t features,
                                                           const std::string& columns);

/// A config that reads records for such a model, and the number of their features. It has no training data and no
/// promise.
struct ReadRecipe {
  std::unique_ptr<const RunConfig> config;
  std::uint64_t features = 0;
};
/// From the text pairs of the model file `path`, which may come from anybody: settings that name files or code are
/// refused. Local. Throws ConfigError, DataError.
ReadRecipe read_recipe(const std::map<std::string, std::string>& pairs, const std::string& path,
                       const std::vector<std::string>& overrides);

}  // namespace dpmpi
