#pragma once
#include <cstdint>
#include <string>

#include "data/records/options.hpp"

namespace dpmpi {

struct ConvertOptions {
  std::string input, output;
  std::int64_t episode_column = 0, episode_steps = 64;
  std::string as = "features";  ///< or table
  void declare(Options& options);
};

/// Reads a file as section [data] says (format, columns, vocabularies, label names, missing values) and writes it
/// in the native format, which loads by byte ranges without parsing, or as HDF5; as a table see convert_table.
/// Values that depend on the run stay out of the file: scale, mean, std, normalize, records, only_labels and
/// keep_one_in are refused with ConfigError, bias is ignored. episode_column > 0: a record of the file is an
/// episode (episodes.hpp). Local; returns the number of records.
std::uint64_t convert(const ConvertOptions& options, DataOptions data);

}  // namespace dpmpi
