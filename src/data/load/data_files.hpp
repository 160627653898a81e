#pragma once
// Which files a command reads. Names are looked up here and nowhere else, once, when the command begins; whoever
// reads, compares or watches a file is handed what was found. All local: another rank may see other files.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/records/options.hpp"

namespace dpmpi {

/// What a dataset is for. Only that of evaluation is public: of the others messages quote no value unless
/// data.show_values is set. data.keep_one_in applies to the one of training alone.
enum class DataRole { training, evaluation, given };

/// Where this rank sees a file.
class FoundFile {
 public:
  /// `name` itself if absolute, else the first that exists of data.root, $DPMPI_DATA and the config file's folder
  /// (the working directory if there is none) joined with it.
  FoundFile(const DataOptions& options, const std::string& name);
  /// A file of this path.
  explicit FoundFile(std::string path) : path_(std::move(path)) {}
  /// One that is not there, as path() will say.
  static FoundFile missing(std::string message);
  bool found() const { return missing_.empty(); }
  /// Throws DataError that lists all places tried, if there is none.
  const std::string& path() const;

 private:
  std::string path_, missing_;
};

/// The files whose paths match `pattern` (*, ?, [...]), in the bytewise order of their paths; where relative ones
/// are looked up, the first folder counts in which one matches. Empty if none does. Local.
std::vector<FoundFile> matching_files(const DataOptions& options, const std::string& pattern);

/// What an option names: a file, a pair images,labels, or a pattern that several files match.
struct NamedFiles {
  NamedFiles(const DataOptions& options, std::string names, std::int64_t declared = 0);
  std::string names;  ///< as the option has them
  std::vector<FoundFile> files;
  std::int64_t declared;  ///< public number of slots; 0: they are counted
  bool pattern = false;   ///< `names` is a pattern, and the files those that match it
  bool joined = false;    ///< the files are read as one table, one behind the other
};

/// A dataset: which files, and how they are read.
struct Dataset {
  DataRole role = DataRole::training;
  std::string key;                   ///< the option that names it
  std::vector<NamedFiles> parts;     ///< one, or one of each site; none: the option is not set
  bool by_site = false;              ///< of data.shards: a rank need not see the files of other sites
  bool counted = true;               ///< how many records there are is public
  bool mapped = false;               ///< dense rows stay in their files (data.memory = map)
  std::uint64_t person_records = 0;  ///< of a person at most; 0: all
  std::uint64_t slots_of_unit = 1;   ///< DatasetFacts::slots_of_unit
  ReadingRules rules;
  std::string public_names;  ///< data.eval, whose header may confirm that column names are public; empty: not here

  bool empty() const { return parts.empty(); }
  bool shows_values() const { return rules.show_values || role == DataRole::evaluation; }
  /// The first of the parts. Throws ConfigError if the option is not set.
  const NamedFiles& first() const;
  /// The files that this rank sees.
  std::vector<std::string> seen() const;
  /// All files; of sites' those that this rank sees. Throws DataError if another is missing.
  std::vector<std::string> paths() const;
  /// SHA-256 of what a pattern leaves open in the paths of the files that match it; empty: there is none. Local.
  std::string digest_of_matches() const;
};

/// The same dataset as one of people whom a promise covers: counted by person where data.person says whose records
/// are whose. `declared`: the public number of their slots; 0: they are counted. Local.
Dataset of_people(Dataset dataset, const DataOptions& options, std::int64_t declared);

/// The datasets of a config. A name that is empty has none.
struct DataFiles {
  DataFiles() = default;
  /// `models`: the value of objective.train. `given`: the file of a command line.
  explicit DataFiles(const DataOptions& options, const std::string& models = {}, const std::string& given = {});

  Dataset training;    ///< of data.train or data.shards
  Dataset evaluation;  ///< of data.eval
  Dataset models;      ///< of objective.train, public records that models are trained on
  Dataset given;       ///< which a command line names in place of data.eval; nobody said that it is public
  /// What evaluate and predict read.
  const Dataset& scored() const { return given.empty() ? evaluation : given; }
};

}  // namespace dpmpi
