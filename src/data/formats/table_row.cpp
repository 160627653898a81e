#include "data/formats/table_row.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dpmpi {

TableRow::TableRow(const Piece& piece, const TableSchema& schema, bool decimal_comma, const FeatureMap& map,
                   const LabelRule& labels, RecordsBuilder& out)
    : schema_(schema), decimal_comma_(decimal_comma), map_(map), labels_(labels), out_(out) {
  if (piece.faults.empty()) return;
  skipped_.resize(schema.columns.size());
  for (std::size_t c = 0; c < skipped_.size(); ++c) skipped_[c] = piece.faults.knows(kind_of(c));
}

void TableRow::take(std::size_t c, std::string_view field) {
  using Use = TableColumn::Use;
  const TableColumn& column = schema_.columns[c];
  switch (column.use) {
    case Use::number:
      return use(c, [&] { out_.put(column.feature, number(column, field)); });
    case Use::label:
      return take_label(c, field);
    case Use::person:
      return use(c, [&] { take_person(column, field); });
    case Use::coded:
    case Use::weight:
    case Use::exposure:
      return use(c, [&] { coded(column, field); });
    case Use::one_hot:
      return use(c, [&] { one_hot(column, field); });
    case Use::drop:
      return;
  }
}

float TableRow::label(std::uint64_t global_index) const {
  return label_number_ ? labels_.decode(*label_number_, global_index) : labels_.decode(label_, global_index);
}

float TableRow::number(const TableColumn& column, std::string_view field) const {
  double x = 0;
  if (is_missing(field)) {
    if (schema_.missing) return mapped(column, *schema_.missing);
    throw Malformed(fmt::format("column {}: missing value {}: set data.missing to a public number that replaces it",
                                show(column.name), show_field(field)));
  }
  if (!to_number(field, decimal_comma_, x))
    throw Malformed(fmt::format(
        "column {}: {} is not a finite number (data.one_hot takes text columns, data.drop leaves columns out)",
        show(column.name), show_field(field)));
  return mapped(column, x);
}

float TableRow::mapped(const TableColumn& column, double x) const {
  try {
    return map_(column.feature, x);
  } catch (const Malformed& problem) {
    throw Malformed(fmt::format("column {}: {}", show(column.name), problem.what()));
  }
}

void TableRow::coded(const TableColumn& column, std::string_view field) {
  try {
    column.code->read(field, [&](std::size_t feature, double x) { set_by(column, {feature, x}); });
  } catch (const Malformed& problem) {
    throw Malformed(fmt::format("column {}: {}", show(column.name), problem.what()));
  }
}

/// Features that are 0 are not set: a row begins with zeros.
void TableRow::set_by(const TableColumn& column, const CodedField& coded) {
  if (column.use == TableColumn::Use::weight) return out_.set_weight(static_cast<float>(coded.value));
  if (column.use == TableColumn::Use::exposure) return out_.set_offset(static_cast<float>(std::log(coded.value)));
  const std::size_t at = column.feature + coded.feature;
  out_.put(at, map_(at, coded.value));
}

/// A label that is a number is told to others with a point.
void TableRow::take_label(std::size_t c, std::string_view field) {
  label_column_ = c;
  label_number_.reset();
  label_.assign(field);
  double x = 0;
  if (decimal_comma_ && to_number(field, true, x)) std::ranges::replace(label_, ',', '.');
}

/// Records of a person often follow one another.
void TableRow::take_person(const TableColumn& column, std::string_view field) {
  const bool listed = std::ranges::find(column.nobody, field) != column.nobody.end();
  if (column.nobody.empty() ? names_nobody(field) : listed)
    throw Malformed(fmt::format("column {}: missing value {}: every record needs the person whose it is",
                                show(column.name), show_field(field)));
  if (field != person_) person_.assign(field), tag_ = person_tag(field);
  out_.set_person(tag_);
}

void TableRow::one_hot(const TableColumn& column, std::string_view field) {
  const auto word = std::find(column.words.begin(), column.words.end(), field);
  if (word == column.words.end() && !schema_.zero_if_unknown)
    throw Malformed(
        fmt::format("column {}: {} is not in its vocabulary in data.one_hot: add it, or set data.unknown = zero",
                    show(column.name), show_field(field)));
  const auto chosen = static_cast<std::size_t>(word - column.words.begin());
  for (std::size_t w = 0; w < column.words.size(); ++w)
    out_.put(column.feature + w, map_(column.feature + w, w == chosen ? 1 : 0));
}

}  // namespace dpmpi
