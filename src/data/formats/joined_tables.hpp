#pragma once
// Several tables as one: the records of each behind those of the one before.

#include <memory>
#include <string>
#include <vector>

#include "data/formats/format.hpp"

namespace dpmpi {

/// A file that was opened, and its first bytes; of several those of the first.
struct OpenedFile {
  std::unique_ptr<InputFile> file;
  Head head;
};

/// The table that `paths` hold together, in their order, called `name`; a path alone is opened as it is. Of all but
/// the first the byte order mark, skipped lines and the header are left out. Throws DataError that names the file
/// if one is no table, of another format than the first, or has another header, or is there twice. Local.
OpenedFile open_joined(const std::string& name, const std::vector<std::string>& paths, const ReadingRules& rules);

}  // namespace dpmpi
