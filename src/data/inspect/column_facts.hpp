#pragma once
// What stands in one column of a public table.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

class ColumnFacts {
 public:
  /// `is_label`: fewer words mean that a value is missing, for "-" may be the label of a class, and blanks around a
  /// word say nothing.
  explicit ColumnFacts(bool is_label = false);
  void add(std::string_view field, bool decimal_comma);

  std::size_t values() const { return values_; }  ///< that are not missing
  const std::vector<std::string>& missing_words() const { return missing_words_; }
  bool has_line_ends() const { return line_ends_; }
  bool is_numeric() const { return values_ > 0 && numbers_.size() == values_; }
  /// How all of its values are written if they are dates; empty: they are not.
  std::string date_format() const;
  /// If they are dates: the day in the middle, in days since 1970-01-01.
  double middle_day() const;
  /// Its words with how often they stand there, the most frequent first; not all if they are very many.
  std::vector<std::pair<std::string, std::size_t>> words() const;
  std::size_t distinct() const { return words_.size(); }  ///< how many words() are
  /// Which share of its values the first `most` of words() are.
  double share_of_words(std::size_t most) const;
  bool all_words_known() const { return words_.size() < most_words; }
  /// The number below which this share of its numbers lies.
  double quantile(double share) const;

  static constexpr std::size_t most_words = 20000;

 private:
  bool is_label_, line_ends_ = false;
  std::size_t values_ = 0;
  std::vector<std::string> missing_words_, formats_;
  mutable std::vector<double> numbers_;
  std::map<std::string, std::size_t, std::less<>> words_;
};

}  // namespace dpmpi
