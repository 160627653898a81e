#pragma once
// A record of a table, which gets its fields column by column: what each becomes, and what is wrong with it.

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/table.hpp"
#include "data/records/person_tag.hpp"
#include "data/records/text.hpp"

namespace dpmpi {

/// The records of a piece, one after the other: begin(), the fields in any order, finish(). Local.
class TableRow {
 public:
  TableRow(const Piece& piece, const TableSchema& schema, bool decimal_comma, const FeatureMap& map,
           const LabelRule& labels, RecordsBuilder& out);

  void begin() { wrong_.clear(); }
  /// The field of column c as text, without quotes and surrounding blanks.
  void take(std::size_t c, std::string_view field);
  /// The field of column c, which is a finite number: for numbers, and for what code->takes_numbers().
  void take_number(std::size_t c, double x) {
    const TableColumn& column = schema_.columns[c];
    if (column.use == TableColumn::Use::number) return use(c, [&] { out_.put(column.feature, mapped(column, x)); });
    use(c, [&] { set_by(column, column.code->of_number(x)); });
  }
  /// The label, where it is a number.
  void take_label(std::size_t c, double x) { label_column_ = c, label_number_ = x; }

  /// Ends the record, or calls tell(kind of fault, message) for what is wrong with it: of every column once.
  template <class Tell>
  void finish(std::uint64_t global_index, Tell&& tell) {
    float y = labels_.label_of_none();
    if (!labels_.unlabelled()) use(label_column_, [&] { y = label(global_index); });
    if (wrong_.empty()) return out_.finish_row(y);
    skipped_.resize(schema_.columns.size());
    for (const auto& [column, what] : wrong_) {
      tell(kind_of(column), what);
      skipped_[column] = true;
    }
  }

 private:
  static std::uint64_t kind_of(std::size_t column) { return Malformed::kinds + column; }

  /// What is wrong with a column is told once, if the record has all of them: else they may be others than they
  /// seem.
  template <class Work>
  void use(std::size_t c, Work&& work) {
    if (!skipped_.empty() && skipped_[c]) return;
    try {
      work();
    } catch (const Malformed& problem) {
      wrong_.emplace_back(c, problem.what());
    }
  }

  float label(std::uint64_t global_index) const;
  float number(const TableColumn& column, std::string_view field) const;
  float mapped(const TableColumn& column, double x) const;
  void coded(const TableColumn& column, std::string_view field);
  void set_by(const TableColumn& column, const CodedField& coded);
  void take_label(std::size_t c, std::string_view field);
  void take_person(const TableColumn& column, std::string_view field);
  void one_hot(const TableColumn& column, std::string_view field);

  const TableSchema& schema_;
  bool decimal_comma_;
  const FeatureMap& map_;
  const LabelRule& labels_;
  RecordsBuilder& out_;
  std::size_t label_column_ = 0;
  std::string label_, person_;
  std::optional<double> label_number_;                      // in the place of label_
  PersonTag tag_;                                           // of person_
  std::vector<char> skipped_;                               // columns that are known to be wrong; empty: none is
  std::vector<std::pair<std::size_t, std::string>> wrong_;  // in this record
};

}  // namespace dpmpi
