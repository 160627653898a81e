#pragma once
// Columns files proposed from what is public.

#include <string>

#include "data/records/options.hpp"

namespace dpmpi {

/// A columns file for the public table `input`, a text or an HDF5 file, read as `data` says; what that leaves open
/// (separator, decimal comma) is guessed, and said. Throws DataError, ConfigError. Local.
std::string propose_columns(const std::string& input, const DataOptions& data);

/// The same from a data dictionary: a CSV file with a line NAME,KIND or NAME,KIND,VALUES for each column. What
/// stands in further columns that its head names becomes comments. Throws ConfigError with all lines that it does
/// not understand. Local.
std::string columns_of_dictionary(const std::string& input, const DataOptions& data);

}  // namespace dpmpi
