#pragma once
// CSV and TSV: one record a line, fields optionally "quoted" (quotes doubled inside; no line ends inside).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/format.hpp"

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
  TableSchema() = default;
  /// What the config makes of columns with these names. Throws ConfigError for settings that do not fit them.
  TableSchema(const std::vector<std::string>& names, const ReadingRules& options);

  std::vector<TableColumn> columns;
  std::size_t features = 0;
  bool zero_if_unknown = false;   ///< data.unknown = zero
  std::optional<double> missing;  ///< data.missing

  /// Feature of a number column, by name or number from 1. Throws ConfigError.
  std::size_t feature_of(const std::string& column) const;
  /// Names and uses of all columns as text: equal for files whose rows mean the same.
  std::string signature() const;
  /// Names of the columns that become features, a line for each: they may hold commas.
  std::string feature_names() const;
};

/// Whether data.label = auto takes a column of this name for the label.
bool names_label(std::string name);

class Table final : public Format {
 public:
  Table(const ReadingRules& options, char delimiter) : Format(options), delimiter_(delimiter) {}
  Layout inspect(const std::vector<Head>& files) override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
  void archive(Archive& archive) override;
  std::size_t feature_of(const std::string& name, std::size_t) const override { return schema_.feature_of(name); }
  std::vector<std::string> supposed_names(const Head& head) const override;

 private:
  char delimiter_;
  TableSchema schema_;
};

/// Splits a line into fields, without quotes and surrounding blanks. Throws Malformed for a broken quote.
std::vector<std::string> split_fields(std::string_view line, char delimiter);

}  // namespace dpmpi
