#pragma once
// What a killed run needs to go on. Nothing in it is indexed by rank. Two are kept, so that a crash while one is
// written leaves the other.

#include <cstdint>
#include <string>

#include "dpmpi/core/random.hpp"

namespace dpmpi {

struct Checkpoint {
  std::uint64_t step = 0;  ///< steps done
  std::string config;      ///< the settings that the numbers depend on: RunConfig::essentials()
  std::string commitment;
  std::string program;             ///< ProgramIdentity::digest of the program that began the run
  std::string program_text;        ///< the same for people
  std::uint64_t ledger_lines = 0;  ///< the ledger may be longer (reserved since), never shorter
  std::string ledger_line_hash;    ///< SHA-256 of the last of them
  std::uint64_t ledger_inode = 0;  ///< the ledger's own file: a copied run directory has another
  std::uint64_t metrics_bytes = 0, timing_bytes = 0;
  std::string method_state;   ///< Archive of the method
  std::string curator_state;  ///< Archive of the curator: running sums, released values
};

/// Writes checkpoint/latest, keeping the one before as checkpoint/previous (both 0600), with a MAC under the run's
/// key. Throws DataError; one of the two is then still whole. Root only.
void write_checkpoint(const std::string& run_directory, const SecretKey& key, const Checkpoint& checkpoint);
/// The newest readable checkpoint. Throws DataError if there is none or both are damaged, PrivacyError if it was
/// written under another key. Without a key (null: a check by somebody who does not hold it) whose it is stays
/// open.
Checkpoint read_checkpoint(const std::string& run_directory, const SecretKey* key);
/// True if a checkpoint of any age is there, readable or not.
bool has_checkpoint(const std::string& run_directory);
void remove_checkpoints(const std::string& run_directory);

}  // namespace dpmpi
