#pragma once
// What a killed run needs to go on. Nothing in it is indexed by rank. Two are kept, so that a crash while one is
// written leaves the other.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/files/archive.hpp"
#include "core/files/digest.hpp"
#include "core/numbers/random.hpp"
#include "run/directory/files.hpp"

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
  std::uint64_t trainings = 0;       ///< that were asked for, of a run with a training ledger
  std::uint64_t training_lines = 0;  ///< of that, which may be longer now; 0: none
  std::string training_line_hash;    ///< SHA-256 of the last of them
};

/// A checkpoint that was found whole. As a source it gives what was written behind the facts: the state.
class SavedCheckpoint final : public ByteSource {
 public:
  /// Checks all of the file, then reads the facts. `key` as for read_checkpoint.
  SavedCheckpoint(const std::string& path, const SecretKey* key);
  const Checkpoint& facts() const { return facts_; }
  void read(std::span<char> out) override;
  std::uint64_t left() const override { return file_.left(); }
  /// Throws DataError unless everything was read and is what was checked.
  void finish();

 private:
  void check(const SecretKey* key);
  std::string path_;
  FileReader file_;
  std::string checksum_;
  std::unique_ptr<Sha256> read_so_far_ = std::make_unique<Sha256>();
  Checkpoint facts_;
};

/// Writes checkpoint/latest, keeping the one before as checkpoint/previous (both 0600), with a MAC under the run's
/// key. `state` names the fields of the state behind the facts; they go to the file as they are named, without a
/// copy in memory. Throws DataError; one of the two is then still whole. Root only.
void write_checkpoint(const std::string& run_directory, const SecretKey& key, const Checkpoint& checkpoint,
                      const std::function<void(Archive&)>& state);
/// The newest readable checkpoint. Throws DataError if there is none or both are damaged, PrivacyError if it was
/// written under another key. Without a key (null: a check by somebody who does not hold it) whose it is stays
/// open.
SavedCheckpoint read_checkpoint(const std::string& run_directory, const SecretKey* key);
/// True if a checkpoint of any age is there, readable or not.
bool has_checkpoint(const std::string& run_directory);
void remove_checkpoints(const std::string& run_directory);

}  // namespace dpmpi
