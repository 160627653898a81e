#pragma once
// CSV and TSV: one record a line, fields optionally "quoted" (quotes doubled inside, where line ends may stand,
// too).

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/columns/coding.hpp"
#include "data/formats/format.hpp"

namespace dpmpi {

/// What a column of the file becomes.
struct TableColumn {
  enum class Use { number, one_hot, coded, label, person, weight, exposure, drop };
  Use use = Use::number;
  std::string name;                             ///< from the header, else the column's number from 1
  std::size_t feature = 0;                      ///< number: its feature; one_hot and coded: the first of them
  std::vector<std::string> words = {};          ///< one_hot
  std::vector<std::string> nobody = {};         ///< person: words that name nobody; none: the usual ones
  std::shared_ptr<const ColumnCode> code = {};  ///< coded, weight and exposure: by data.columns
};

struct TableSchema {
  TableSchema() = default;
  /// What the config makes of columns with these names. Throws ConfigError for settings that do not fit them.
  TableSchema(const std::vector<std::string>& names, const ReadingRules& options);

  std::vector<TableColumn> columns;
  std::size_t features = 0;
  std::uint64_t row_entries = 0;            ///< features of a record that are not 0, at most
  bool zero_if_unknown = false;             ///< data.unknown = zero
  std::optional<double> missing;            ///< data.missing
  std::shared_ptr<const ColumnsFile> file;  ///< data.columns, which says all of it

  /// How rows of such a table stand in memory: by data.storage, and by numbers of features alone.
  Storage storage(const ReadingRules& options) const;
  /// Feature of a number column, by name or number from 1. Throws ConfigError.
  std::size_t feature_of(const std::string& column) const;
  /// Names and uses of all columns as text: equal for files whose rows mean the same.
  std::string signature() const;
  /// Names of the columns that become features, a line for each: they may hold commas.
  std::string feature_names() const;

 private:
  void use_file(const std::vector<std::string>& names, const ReadingRules& options);
  void number_features(const ReadingRules& options);
  void leave_persons_alone();
};

/// Whether a table may lack the column of a line of data.columns: a file without labels theirs and what weighs
/// losses, and one that is not trained on that of the persons.
bool may_lack(const ColumnRule& rule, const ReadingRules& options);
/// Names of the columns of a table without a header of `width` columns, from data.columns, whose lines stand in the
/// order of the table. Throws ConfigError.
std::vector<std::string> names_by_file(const ReadingRules& options, std::size_t width);

/// The columns file's digest, if there is one. Throws ConfigError where another rank has another file.
void archive_columns_file(Archive& archive, const ReadingRules& options);

/// What the first lines of a table tell.
struct TableHead {
  bool header = false;
  std::vector<std::string> fields;  ///< of the first line that counts: names if there is a header
  std::string line, oddity;         ///< that line, and what is odd about it, for messages
  Section records = {};
};
/// Throws DataError if there is no record.
TableHead look_at_table(const Head& head, const ReadingRules& options, char delimiter);

/// Position of the column called `name`, else number `name` (from 1). Throws ConfigError that begins with `key`.
std::size_t place_of_column(std::vector<std::string> names, const std::string& name, const std::string& key);

/// Whether data.label = auto takes a column of this name for the label.
bool names_label(std::string name);

class Table final : public Format {
 public:
  /// `delimiter`: unless data.separator says another one. Throws ConfigError for a decimal comma that is a
  /// delimiter.
  Table(const ReadingRules& options, char delimiter);
  Layout inspect(const std::vector<Head>& files) override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
  void archive(Archive& archive) override;
  const TableSchema* schema() const override { return &schema_; }
  std::size_t feature_of(const std::string& name, std::size_t) const override { return schema_.feature_of(name); }
  std::vector<std::string> supposed_names(const Head& head) const override;

 private:
  char delimiter_;
  TableSchema schema_;
};

/// The delimiter that data.separator names; `otherwise` for auto.
char delimiter_by(const std::string& separator, char otherwise);

/// Splits a line into fields, without quotes and surrounding blanks. Throws Malformed for a broken quote.
std::vector<std::string> split_fields(std::string_view line, char delimiter);

}  // namespace dpmpi
