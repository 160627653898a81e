#pragma once
// From a label as it stands in the file to Records::label.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/random.hpp"
#include "data/records/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// The value of data.label for files without labels, whose records a model is to score.
inline constexpr std::string_view no_label = "none";

/// Decodes labels by data.positive, data.label_map, data.only_labels and data.keep_one_in. A label of a config and
/// one of a file are the same if their texts are equal or both are numbers of equal value ("+1" and "1.0"), up to
/// distinct_up_to (text.hpp). Local; a function of label and index only.
class LabelRule {
 public:
  /// `classes` counts for class_ only. `thin`: apply data.keep_one_in (training data). Throws ConfigError if
  /// data.positive is set for labels that are not signs, an entry is malformed, or training data have no labels.
  LabelRule(const ReadingRules& options, LabelKind kind, std::size_t classes, bool thin);

  /// The label, or NaN if the record is left or thinned out. Throws Malformed naming the value and what is allowed.
  float decode(std::string_view raw, std::uint64_t global_index) const;
  float decode(double raw, std::uint64_t global_index) const;
  /// Of an integer all digits count.
  float decode(std::int64_t raw, std::uint64_t global_index) const;
  float decode(std::uint64_t raw, std::uint64_t global_index) const;

  /// Whether files hold no labels: decode() is not called, and all records have this one.
  bool unlabelled() const { return unlabelled_; }
  float label_of_none() const { return kind_ == LabelKind::sign ? -1.0F : 0.0F; }

 private:
  struct Name {
    std::string text;
    std::optional<double> number;
    bool operator==(const Name& other) const;
  };
  struct Thinning {
    Name name;
    std::uint64_t one_in;
  };
  static Name name_of(std::string_view text);
  /// Whether no entry of the config asks what a label is called.
  bool by_value() const { return positive_.empty() && only_.empty() && map_.empty() && thinning_.empty(); }
  float decode(const Name& raw, std::uint64_t global_index) const;
  template <class Number>
  float decode_number(Number raw, std::uint64_t global_index) const;
  template <class TextOf>
  float check(double value, TextOf&& raw_text) const;

  LabelKind kind_;
  std::size_t classes_;
  bool unlabelled_;
  std::vector<Name> positive_, only_;
  std::vector<std::pair<Name, double>> map_;
  std::vector<Thinning> thinning_;
  PublicStream thinning_stream_{0, "thin training records"};
};

}  // namespace dpmpi
