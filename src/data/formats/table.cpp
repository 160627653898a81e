#include "data/formats/table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/text_lines.hpp"

namespace dpmpi {
namespace {

const char* skip_blanks(const char* p, const char* end) {
  while (p != end && *p == ' ') ++p;
  return p;
}

/// Reads the field at p into `field` (which may point into `scratch`); returns its delimiter or `end`.
const char* next_field(const char* p, const char* end, char delimiter, std::string& scratch,
                       std::string_view& field) {
  p = skip_blanks(p, end);
  if (p == end || *p != '"') {
    const char* const stop = std::find(p, end, delimiter);
    field = trim({p, static_cast<std::size_t>(stop - p)});
    return stop;
  }
  scratch.clear();
  for (const char* from = p + 1;;) {
    const char* const quote = std::find(from, end, '"');
    if (quote == end) throw Malformed("a quoted field is not closed: it begins on this line", Malformed::quotes);
    scratch.append(from, quote);
    from = quote + 1;
    if (from == end || *from != '"') {
      p = skip_blanks(from, end);
      break;
    }
    scratch += '"';
    ++from;
  }
  if (p != end && *p != delimiter) throw Malformed("text follows a quoted field", Malformed::quotes);
  field = scratch;
  return p;
}

/// The lines of a piece, each column by column from the left.
class RowParser {
 public:
  RowParser(const Piece& piece, const TableSchema& schema, char delimiter, bool decimal_comma,
            const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out)
      : piece_(piece),
        schema_(schema),
        delimiter_(delimiter),
        decimal_comma_(decimal_comma),
        map_(map),
        labels_(labels),
        out_(out) {
    if (piece.faults.empty()) return;
    skipped_.resize(schema.columns.size());
    for (std::size_t c = 0; c < skipped_.size(); ++c) skipped_[c] = piece.faults.knows(kind_of(c));
  }

  void parse(std::string_view line, std::uint64_t global_index) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const char* p = line.data();
    const char* const end = p + line.size();
    wrong_.clear();
    std::size_t label = 0;
    for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
      if (c > 0 && p++ == end) wrong_width(line);
      if (schema_.columns[c].use == TableColumn::Use::label) label = c;
      p = column(c, p, end);
    }
    if (p != end) wrong_width(line);
    float y = labels_.label_of_none();
    if (!labels_.unlabelled()) use(label, [&] { y = labels_.decode(label_, global_index); });
    if (!wrong_.empty()) return tell_wrong();
    out_.finish_row(y);
  }

 private:
  static std::uint64_t kind_of(std::size_t column) { return Malformed::kinds + column; }

  const char* column(std::size_t c, const char* p, const char* end) {
    const TableColumn& column = schema_.columns[c];
    const bool is_number = column.use == TableColumn::Use::number;
    if (is_number && !decimal_comma_) {
      double x = 0;
      const char* stop = scan_number(skip_blanks(p, end), end, x);
      if (stop != nullptr) stop = skip_blanks(stop, end);
      if (stop != nullptr && (stop == end || *stop == delimiter_)) {
        use(c, [&] { out_.put(column.feature, mapped(column, x)); });
        return stop;
      }
    }
    std::string_view field;
    p = next_field(p, end, delimiter_, scratch_, field);
    if (is_number) use(c, [&] { out_.put(column.feature, number(column, field)); });
    if (column.use == TableColumn::Use::label) take_label(field);
    if (column.use == TableColumn::Use::person) use(c, [&] { take_person(column, field); });
    if (column.use == TableColumn::Use::coded) use(c, [&] { coded(column, field); });
    if (column.use == TableColumn::Use::weight || column.use == TableColumn::Use::exposure)
      use(c, [&] { factor(column, field); });
    if (column.use == TableColumn::Use::one_hot) use(c, [&] { one_hot(column, field); });
    return p;
  }

  /// What is wrong with a column is told once, if the line has all of them: else they may be others than they seem.
  template <class Work>
  void use(std::size_t c, Work&& work) {
    if (!skipped_.empty() && skipped_[c]) return;
    try {
      work();
    } catch (const Malformed& problem) {
      wrong_.emplace_back(c, problem.what());
    }
  }

  void tell_wrong() {
    skipped_.resize(schema_.columns.size());
    for (const auto& [column, what] : wrong_) {
      add_fault(piece_, kind_of(column), what.c_str());
      skipped_[column] = true;
    }
  }

  float number(const TableColumn& column, std::string_view field) const {
    double x = 0;
    if (is_missing(field)) {
      if (schema_.missing) return mapped(column, *schema_.missing);
      throw Malformed(
          fmt::format("column {}: missing value {}: set data.missing to a public number that replaces it",
                      show(column.name), show_field(field)));
    }
    if (!to_number(field, decimal_comma_, x))
      throw Malformed(fmt::format(
          "column {}: {} is not a finite number (data.one_hot takes text columns, data.drop leaves columns out)",
          show(column.name), show_field(field)));
    return mapped(column, x);
  }

  float mapped(const TableColumn& column, double x) const {
    try {
      return map_(column.feature, x);
    } catch (const Malformed& problem) {
      throw Malformed(fmt::format("column {}: {}", show(column.name), problem.what()));
    }
  }

  /// Features that are 0 are not set: a row begins with zeros.
  void coded(const TableColumn& column, std::string_view field) {
    by_code(column, field, [&](std::size_t feature, double x) {
      const std::size_t at = column.feature + feature;
      out_.put(at, map_(at, x));
    });
  }

  void factor(const TableColumn& column, std::string_view field) {
    by_code(column, field, [&](std::size_t, double x) {
      if (column.use == TableColumn::Use::weight)
        out_.set_weight(static_cast<float>(x));
      else
        out_.set_offset(static_cast<float>(std::log(x)));
    });
  }

  template <class Set>
  void by_code(const TableColumn& column, std::string_view field, const Set& set) {
    try {
      column.code->read(field, set);
    } catch (const Malformed& problem) {
      throw Malformed(fmt::format("column {}: {}", show(column.name), problem.what()));
    }
  }

  /// A label that is a number is told to others with a point.
  void take_label(std::string_view field) {
    label_.assign(field);
    double x = 0;
    if (decimal_comma_ && to_number(field, true, x)) std::ranges::replace(label_, ',', '.');
  }

  /// Records of a person often follow one another.
  void take_person(const TableColumn& column, std::string_view field) {
    const bool listed = std::ranges::find(column.nobody, field) != column.nobody.end();
    if (column.nobody.empty() ? names_nobody(field) : listed)
      throw Malformed(fmt::format("column {}: missing value {}: every record needs the person whose it is",
                                  show(column.name), show_field(field)));
    if (field != person_) person_.assign(field), tag_ = person_tag(field);
    out_.set_person(tag_);
  }

  void one_hot(const TableColumn& column, std::string_view field) {
    const auto word = std::find(column.words.begin(), column.words.end(), field);
    if (word == column.words.end() && !schema_.zero_if_unknown)
      throw Malformed(
          fmt::format("column {}: {} is not in its vocabulary in data.one_hot: add it, or set data.unknown = zero",
                      show(column.name), show_field(field)));
    const auto chosen = static_cast<std::size_t>(word - column.words.begin());
    for (std::size_t w = 0; w < column.words.size(); ++w)
      out_.put(column.feature + w, map_(column.feature + w, w == chosen ? 1 : 0));
  }

  [[noreturn]] void wrong_width(std::string_view line) const {
    throw Malformed(fmt::format("{} columns where {} are expected", split_fields(line, delimiter_).size(),
                                schema_.columns.size()),
                    Malformed::width);
  }

  const Piece& piece_;
  const TableSchema& schema_;
  char delimiter_;
  bool decimal_comma_;
  const FeatureMap& map_;
  const LabelRule& labels_;
  RecordsBuilder& out_;
  std::string scratch_, label_, person_;
  PersonTag tag_;                                           // of person_
  std::vector<char> skipped_;                               // columns that are known to be wrong; empty: none is
  std::vector<std::pair<std::size_t, std::string>> wrong_;  // in this line
};

}  // namespace

char delimiter_by(const std::string& separator, char otherwise) {
  for (const auto& [name, delimiter] :
       {std::pair{"comma", ','}, std::pair{"tab", '\t'}, std::pair{"semicolon", ';'}, std::pair{"bar", '|'}})
    if (separator == name) return delimiter;
  return otherwise;
}

Table::Table(const ReadingRules& options, char delimiter)
    : Format(options), delimiter_(delimiter_by(options.separator, delimiter)) {
  if (options.decimal == "comma" && delimiter_ == ',')
    throw ConfigError(
        "data.decimal = comma: a comma separates the fields of this table: set data.separator (semicolon, tab, bar)");
}

std::vector<std::string> split_fields(std::string_view line, char delimiter) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  std::vector<std::string> fields;
  std::string scratch;
  const char* const end = line.data() + line.size();
  for (const char* p = line.data();; ++p) {
    std::string_view field;
    p = next_field(p, end, delimiter, scratch, field);
    fields.emplace_back(field);
    if (p == end) return fields;
  }
}

void Table::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const {
  RowParser parser(piece, schema_, delimiter_, options_.decimal == "comma", map, labels, out);
  for_each_record(piece,
                  [&](std::string_view line, std::uint64_t global_index) { parser.parse(line, global_index); });
}

}  // namespace dpmpi
