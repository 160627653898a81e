#pragma once
// Files of other programs, which are told by their first bytes and not read.

#include <string>

namespace dpmpi {

/// Throws DataError if `bytes`, the first of the file `path`, are those of a format that is known and not read. It
/// says which, and how to write the same records as a table. Local.
void refuse_foreign(const std::string& path, const std::string& bytes);

}  // namespace dpmpi
