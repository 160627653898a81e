#pragma once
// What a run refuses before it begins or goes on, because the certificate would not be true.

#include <cstdint>
#include <string>
#include <vector>

#include "data/load/data_files.hpp"

namespace dpmpi {

/// Throws PrivacyError if data.eval, or the file given in its place, is also a training file, or has the same bytes
/// as one: metrics on private records would be releases that nobody accounts for. Local (a file that this rank
/// cannot see is not compared).
void refuse_private_evaluation(const DataFiles& files);
/// The same for a training set of which files may be missing here: those that are not compared.
void refuse_private_evaluation(const Dataset& training, const Dataset& scored);

/// For a look at the people of `looked_at` by a model that was trained on `training`: throws PrivacyError if they
/// were trained on, by the same file, and ConfigError if they are those of `evaluation`, which is public. Local (of
/// files that this rank cannot see nothing is known).
void refuse_known_files(const Dataset& training, const Dataset& evaluation, const Dataset& looked_at);

/// The same for the public data of objective.train that losses come from.
void refuse_private_models(const DataFiles& files);

/// The same for the private data of objective.trainer.
void refuse_private_trainer(const DataFiles& files, const Dataset& of_trainer);

/// The program that this process runs: its bytes, those of `code` that computes its losses (names of files; not
/// what they load in turn), those of public files that the losses depend on, the C library with the values of its
/// elementary functions, and the processor features that choose its arithmetic. A step that is replayed by another
/// program could round differently, and the same noise on two different sums gives their difference away.
struct ProgramIdentity {
  std::string digest;
  std::string text;  ///< for people
};
/// Local; throws DataError if the program's file cannot be read, ConfigError if code cannot be.
ProgramIdentity program_identity(const std::vector<std::string>& code = {},
                                 const std::vector<std::string>& public_files = {});

/// Size, time of change and number of files that this rank can see. A file that is written while it
/// is read gives neither the old nor the new data.
class FileStamps {
 public:
  explicit FileStamps(const std::vector<const Dataset*>& datasets);
  /// Throws DataError that names the first file that has changed since. Local.
  void check() const;

 private:
  struct Stamp {
    std::string path;
    std::uint64_t size, inode;
    std::int64_t seconds, nanoseconds;
  };
  static Stamp stamp(const std::string& path);
  std::vector<Stamp> stamps_;
};

}  // namespace dpmpi
