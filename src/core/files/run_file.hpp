#pragma once
// Files of a run directory, which may come from anybody: no symbolic link under a file's own name is followed, so
// that nothing outside of the directory is read as if it stood there. (DurableFile follows none for writing.)

#include <cstdint>
#include <string>

#include "core/files/file_reader.hpp"

namespace dpmpi {

/// Says of a file of a run directory that it is a link.
[[noreturn]] void refuse_link(const std::string& shown);

/// Says so if it is one. (If it cannot be looked at, whoever reads it says why.)
void check_no_link(const std::string& path);

/// Opens such a file; DataError if it is a link or is not there.
FileReader open_run_file(const std::string& path, const std::string& shown = {});

/// All of one that has at most `most` bytes.
std::string read_run_file(const std::string& path, std::uint64_t most, const std::string& shown = {});

}  // namespace dpmpi
