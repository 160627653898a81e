#pragma once
// CSV and TSV: one record a line, fields optionally "quoted" (quotes doubled inside; no line ends inside).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/builder.hpp"
#include "data/records/labels.hpp"
#include "data/records/text_lines.hpp"

namespace dpmpi {

/// What a column of the file becomes.
struct TableColumn {
  enum class Use { number, one_hot, label, drop };
  Use use = Use::number;
  std::string name;                     ///< from the header, else the column's number from 1
  std::size_t feature = 0;              ///< number: its feature; one_hot: the first word's
  std::vector<std::string> words = {};  ///< one_hot
};

struct TableSchema {
  char delimiter = ',';
  char comment = '\0';
  std::vector<TableColumn> columns;
  std::size_t features = 0;
  bool zero_if_unknown = false;  ///< data.unknown = zero
  bool fill_missing = false;     ///< data.missing is set
  double missing = 0;

  /// Feature of a number column, by name or number from 1. Throws ConfigError.
  std::size_t feature_of(const std::string& column) const;
  /// Names and uses of all columns as text: equal for files whose rows mean the same.
  std::string signature() const;
};

/// The schema, and where the records begin.
struct TableLayout {
  TableSchema schema;
  std::uint64_t begin = 0;  ///< byte of the first line that may be a record
  std::uint64_t line = 1;   ///< number of that line
};

/// Reads the layout off the first lines of a file (`head` holds whole lines). Throws DataError for a head without
/// records, ConfigError for settings that do not fit it.
TableLayout table_layout(std::string_view head, const DataOptions& options, char delimiter,
                         const std::string& file);

/// The fields of the first line if data.header = auto takes them for column names; else none. Local.
std::vector<std::string> supposed_names(std::string_view head, const DataOptions& options, char delimiter,
                                        const std::string& file);
/// Whether data.label = auto takes a column of this name for the label.
bool names_label(std::string name);

/// Splits a line into fields, without quotes and surrounding blanks. Throws Malformed for a broken quote.
std::vector<std::string> split_fields(std::string_view line, char delimiter);

/// Appends all records of `text` (whole lines) to `out` (dense_f32) and moves `position` behind them. Throws
/// DataError with file, line, column, value and what is allowed. Local.
void parse_table(std::string_view text, TextPosition& position, const TableSchema& schema, const FeatureMap& map,
                 const LabelRule& labels, RecordsBuilder& out);

}  // namespace dpmpi
