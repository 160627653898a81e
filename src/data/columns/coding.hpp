#pragma once
// What a field of a column becomes: its features, by the rule of the columns file. A function of the field alone.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"

namespace dpmpi {

/// The one feature of a column (from 0) that is not 0.
struct CodedField {
  std::size_t feature = 0;
  double value = 0;
};

/// One kind of columns.
class ColumnCoding {
 public:
  virtual ~ColumnCoding() = default;
  /// Throws Malformed for what it does not know: "is not a date ...", behind the field.
  virtual CodedField code(std::string_view field) const = 0;
  /// The same of a finite number, which only numbers know.
  virtual CodedField of_number(double) const { throw BugError("a column of numbers is asked for a number"); }
};

class ColumnCode {
 public:
  /// For a column that becomes features. `place` of the rule, for messages. Throws ConfigError if a word of the
  /// rule does not fit its kind.
  ColumnCode(const ColumnRule& rule, std::string place, bool decimal_comma);

  std::size_t width() const { return names_.size(); }
  /// Features that are not 0 at once, at most.
  std::size_t entries() const { return rule_.indicator && imputed_ ? 2 : 1; }
  const std::vector<std::string>& feature_names() const { return names_; }

  /// Whether every finite number is a value, and none a word of its own: then of_number() says what it becomes.
  bool takes_numbers() const { return takes_numbers_; }
  CodedField of_number(double x) const { return coding_->of_number(x); }

  /// Calls set(feature, value) for the features that are not 0. Throws Malformed.
  template <class Set>
  void read(std::string_view field, Set&& set) const {
    std::optional<CodedField> coded = imputed_;
    if (!rule_.is_missing_word(field))
      coded = code(field);
    else if (rule_.indicator)
      set(width() - 1, 1.0);
    else if (!coded)
      refuse_missing(field);
    if (coded) set(coded->feature, coded->value);
  }

 private:
  CodedField code(std::string_view field) const;
  [[noreturn]] void refuse_missing(std::string_view field) const;

  ColumnRule rule_;
  std::string place_;
  std::shared_ptr<const ColumnCoding> coding_;
  std::vector<std::string> names_;
  std::optional<CodedField> imputed_;
  bool takes_numbers_;
};

/// Features of a column, counted from 1.
struct FeatureRange {
  std::size_t first = 1, last = 0;
  bool has(std::size_t feature) const { return first <= feature && feature <= last; }
};
/// Of each column of the file, in its order; nothing (last < first) of one that makes none. Throws ConfigError as
/// ColumnCode does.
std::vector<FeatureRange> features_of_columns(const ColumnsFile& file);

}  // namespace dpmpi
