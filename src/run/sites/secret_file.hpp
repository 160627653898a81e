#pragma once
// The secret key of a site, or of the coordinator, in a file that its owner alone may read.

#include <string>
#include <vector>

#include "core/numbers/random.hpp"

namespace dpmpi {

/// Throws ConfigError if there is a file of this name.
void write_secret(const std::string& path, const SecretKey& key);
/// Throws DataError if it is no such file, PrivacyError if others may read it.
SecretKey read_secret(const std::string& path);
/// Throws ConfigError if `output` is this key's file, one of `others`, or any key's: writing there would lose it.
void check_output(const std::string& output, const std::string& key, const std::vector<std::string>& others);
/// Overwrites and removes it, if it is there.
void wipe_secret(const std::string& path);

}  // namespace dpmpi
