#pragma once
// checkpoint/key: the secret key of an unfinished run, bound to what it may be used for. Root only.

#include <string>

#include "core/numbers/random.hpp"

namespace dpmpi {

struct KeyRecord {
  SecretKey key;
  std::string config_digest, commitment;  ///< the config and the data whose noise this key draws
};

/// Throws PrivacyError if something waits under the name that write_key first writes to and is not what a killed
/// write_key of this user left: another's file, a link, one that others may use.
void refuse_prepared_key(const std::string& run_directory);

/// Writes the file (0600) with a MAC of the binding under the key itself. Throws DataError.
void write_key(const std::string& run_directory, const KeyRecord& record);

/// Reads it back. Throws PrivacyError if others may read the file (chmod is no cure for what they have seen), if it
/// has a second name in a hard-linked copy of the run, or if key and binding do not belong together; DataError if
/// it is absent or damaged.
KeyRecord read_key(const std::string& run_directory);

/// Overwrites the key where it stands and removes it, and what an interrupted write_key left. One that has a second
/// name is removed only, with a warning: the copy may be a run that needs it. Throws DataError if that fails; does
/// nothing if there is none.
void wipe_key(const std::string& run_directory);

}  // namespace dpmpi
