#pragma once
// Names and keys that configs had once.

#include <string>

namespace dpmpi {

/// What to write in place of `key = value`, or of `key` with any value, in a config of this method; empty: neither
/// was removed.
std::string instead_of(const std::string& key, const std::string& value, const std::string& method = {});

}  // namespace dpmpi
