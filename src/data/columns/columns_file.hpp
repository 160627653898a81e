#pragma once
// The columns file (data.columns): what is public about every column of a table, a line for each.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

enum class ColumnKind { number, yes_no, category, ordinal, date, ignore, label, person, weight, exposure };

/// What a line says. Words are as they stand in the table, without quotation marks.
struct ColumnRule {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  std::size_t line = 0;

  // Numbers become (x - center) / width; with a range, values beyond it count as its nearer end, and without mean
  // and std its ends become 0 and 1. Weights are divided by the highest.
  double center = 0, width = 1;
  bool scaled = false;  ///< the line says a range, mean or std
  std::optional<double> low, high;

  std::vector<std::string> words;  ///< category, ordinal; label: the classes 0, 1, ...
  bool other = false;              ///< category: one more feature, for all other words
  std::vector<std::string> rare;   ///< category: those of its words that share one feature (rare_feature)
  std::vector<std::string> yes, no;
  std::vector<std::string> positive;  ///< label

  // Dates become the time since a day.
  std::string format;
  double from_day = 0, unit_days = 1;

  std::optional<std::vector<std::string>> missing;  ///< words that mean "missing"; none: those of is_missing
  std::optional<std::string> impute;                ///< the word that a missing value counts as
  bool indicator = false;                           ///< one more feature, which is 1 where the value is missing

  bool is_missing_word(std::string_view field) const;
  /// Of a category, from 0: that of other words, or without it that of the first word which is rare.
  std::size_t rare_feature() const;
};

bool makes_features(const ColumnRule& rule);

/// weight, exposure: what multiplies losses and rates, and is no feature.
bool is_factor(ColumnKind kind);
/// A table has one such column at most.
bool stands_once(ColumnKind kind);

struct ColumnsFile {
  /// Throws ConfigError that lists all problems with their lines.
  ColumnsFile(std::string text, std::string path);

  std::string path, text, digest;  ///< SHA-256 of the text
  std::vector<ColumnRule> columns;

  /// FILE:LINE, for messages.
  std::string place(const ColumnRule& column) const;
  const ColumnRule* find(std::string_view name) const;
  const ColumnRule* of_kind(ColumnKind kind) const;  ///< the first; null: there is none
  const ColumnRule* label() const { return of_kind(ColumnKind::label); }
  /// What records have by columns of these kinds.
  RecordFactors factors() const {
    return {.weight = of_kind(ColumnKind::weight) != nullptr, .exposure = of_kind(ColumnKind::exposure) != nullptr};
  }

  /// Appends a message for every setting that says something of a column, other than this file.
  void check_settings(const ReadingRules& rules, std::vector<std::string>& problems) const;
  /// Puts what the file says of the label into `rules`.
  void apply_to(ReadingRules& rules) const;

 private:
  void check_beside(const ColumnRule& rule) const;
  std::map<std::string, std::size_t, std::less<>> places_;  // of columns, by name
};

/// The names of the kinds, in the order of ColumnKind.
std::vector<std::string> column_kind_names();
/// What the file writes for a kind.
std::string column_kind_name(ColumnKind kind);

/// One line's rule. Throws ConfigError that says what is wrong, without the place.
struct ColumnLine;
ColumnRule column_rule(const ColumnLine& line, std::size_t number);

/// What records have beside features and label, as their columns file says, if there is one.
inline RecordFactors factors_of(const ReadingRules& rules) {
  return rules.columns_file ? rules.columns_file->factors() : RecordFactors{};
}

}  // namespace dpmpi
