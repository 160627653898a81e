#pragma once
// Section [data]: where the records are and how a file's rows become features and labels. Every setting is public,
// and none is estimated from the records: a statistic of private data (mean, maximum, vocabulary) would be an
// unaccounted release.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/records/unit.hpp"

namespace dpmpi {

struct ColumnsFile;

/// How the rows of a file become features and labels.
struct ReadingRules {
  std::string format = "auto";
  std::int64_t features = 0;

  // Text tables, LIBSVM and HDF5.
  std::string storage = "auto";
  std::string header = "auto", label = "auto", comment, missing, unknown = "error";
  std::int64_t skip_lines = 0, index_base = 1;
  std::vector<std::string> one_hot, drop, datasets;
  bool densify = false, show_values = false;
  std::string separator = "auto", decimal = "point";
  std::shared_ptr<const ColumnsFile> columns_file;  ///< of data.columns (set by read_columns, not declared)
  std::string person;                               ///< column whose text says whose a record is; empty: none
  /// What is read of that column, which is never a feature (set by Dataset, not declared).
  enum class Persons { nothing, with_records, alone } persons = Persons::nothing;
  bool more_columns = false;  ///< a table may have columns that data.columns does not name (set by Dataset)

  // Images, of which other features are computed (transform/image_transform.hpp).
  std::string image;
  std::vector<std::string> transform;

  // Features.
  double scale = 1, bias = 1;
  std::string normalize = "none";
  std::vector<std::string> mean, deviation;

  // Labels.
  std::vector<std::string> positive, label_map, only_labels, keep_one_in;
};

/// All of the section: these rules, which files there are, and what is declared of them.
struct DataOptions : ReadingRules {
  std::string train, eval, root, columns, columns_digest, person_sampling = "persons", memory = "load";
  std::vector<std::string> shards;
  std::vector<std::int64_t> shard_records;
  std::int64_t blocks = 0, records = 0, person_records = 0;
  double test_share = 0;

  /// Folder of the config file (set by whoever read it, not declared); empty: the working directory.
  std::string config_folder;
  /// The copy of data.columns in the run directory that the config stands in, likewise; empty: in none.
  std::string columns_copy;
  /// The text of data.columns where a model file holds it, likewise; then no file is looked for.
  std::string columns_text;

  bool mapped() const { return memory == "map"; }  ///< rows of the training data stay in their file
  /// The unit of privacy is a person, and not a record.
  bool by_person() const { return !person.empty(); }
  Unit unit() const { return by_person() ? Unit::person : Unit::record; }
  /// Steps draw records, each by itself, and a person is bounded by how many records are used.
  bool samples_records() const { return by_person() && person_sampling == "records"; }
  /// What a slot of the data holds, and how many slots a unit may fill.
  Unit slot_unit() const { return samples_records() ? Unit::record : unit(); }
  std::uint64_t slots_of_unit() const { return samples_records() ? static_cast<std::uint64_t>(person_records) : 1; }

  /// Declares all of the above as data.*. Local.
  void declare(Options& options);
  /// Appends one message for every combination that makes no sense or would need statistics of private data. Local.
  void validate(std::vector<std::string>& problems) const;
};

/// What data.format may be besides auto: the names in the table of formats (formats/format.cpp), in its order.
std::vector<std::string> format_names();

/// One `NAME:VALUE` entry of a list option, split at the last colon; the name may hold colons. Throws ConfigError
/// (naming `key`) if there is no colon or one side is empty.
struct NamedValue {
  std::string name, value;
};
NamedValue split_entry(const std::string& entry, const std::string& key);

/// A finite number, or ConfigError naming `key`.
double option_number(const std::string& text, const std::string& key);

}  // namespace dpmpi
