#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/records.hpp"

namespace dpmpi {

/// The file that writing to `path` creates or replaces: links are followed. Local. Throws DataError if that is no
/// regular file (a directory, pipe or device) or the link leads nowhere.
std::string output_target(const std::string& path);

/// Throws ConfigError if what is written to `output`, or to a temporary file beside it, would replace one of
/// `files`, under whatever name. Local. Errors as for output_target.
void keep_files(const std::vector<std::string>& files, const std::string& output);

/// Whether a new file of this name is to be HDF5.
bool names_hdf5(const std::string& path);

/// Writes what next(text) appends to `text`, as often as it returns true, to output_target(path), under a temporary
/// name until it is complete. Local. Throws DataError if it cannot be written.
void write_lines(const std::string& path, const std::function<bool(std::string& text)>& next);

/// Has write(path) write the file output_target(path) under a temporary name, which exists. Local. Throws DataError
/// if it cannot be written.
void write_by_library(const std::string& path, const std::function<void(const std::string& path)>& write);

/// Writes records to output_target(path), under a temporary name until it is complete. Features and labels are
/// written such that they read back to the same bits; norms, bias and row_scale are not (they come from the config
/// that loads the file). `format` is libsvm (indices from 1), csv (header `label,x1,...`), hdf5 (see write_hdf5) or
/// native (any storage), or mapped (native of dense rows that can stay in their file: data.memory = map). Local.
/// Throws DataError if it cannot be written, BugError for another format and for empty slots.
void write_records(const std::string& path, std::string_view format, const Records& records);

}  // namespace dpmpi
