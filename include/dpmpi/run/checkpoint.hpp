#pragma once
// What a killed run needs to go on. Nothing in it is indexed by rank. Two are kept, so that a crash while one is
// written leaves the other.

#include <cstdint>
#include <optional>
#include <string>

#include "dpmpi/core/random.hpp"

namespace dpmpi {

struct Checkpoint {
  std::uint64_t step = 0;  ///< steps done
  std::string config_digest, commitment;
  std::string program;             ///< digest of the program and processor kind that began the run
  std::uint64_t ledger_lines = 0;  ///< the ledger may be longer (reserved since), never shorter
  std::string ledger_line_hash;    ///< SHA-256 of the last of them
  std::uint64_t metrics_bytes = 0;
  std::string method_state;  ///< Archive of the method
};

/// Writes checkpoint/latest, keeping the one before as checkpoint/previous (both 0600). Throws DataError. Root
/// only.
void write_checkpoint(const std::string& run_directory, const Checkpoint& checkpoint);
/// The newest readable checkpoint; DataError if there is none or both are damaged.
Checkpoint read_checkpoint(const std::string& run_directory);

/// The secret key of an unfinished run: checkpoint/key, 0600, overwritten and removed at the end.
void write_key(const std::string& run_directory, const SecretKey& key);
SecretKey read_key(const std::string& run_directory);
void wipe_key(const std::string& run_directory);

}  // namespace dpmpi
