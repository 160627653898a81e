#include "data/formats/table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/table_row.hpp"
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
        row_(piece, schema, decimal_comma, map, labels, out) {}

  void parse(std::string_view line, std::uint64_t global_index) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const char* p = line.data();
    const char* const end = p + line.size();
    row_.begin();
    for (std::size_t c = 0; c < schema_.columns.size(); ++c) {
      if (c > 0 && p++ == end) wrong_width(line);
      p = column(c, p, end);
    }
    if (p != end) wrong_width(line);
    row_.finish(global_index,
                [&](std::uint64_t kind, const std::string& what) { add_fault(piece_, kind, what.c_str()); });
  }

 private:
  const char* column(std::size_t c, const char* p, const char* end) {
    if (schema_.columns[c].use == TableColumn::Use::number && !decimal_comma_) {
      double x = 0;
      const char* stop = scan_number(skip_blanks(p, end), end, x);
      if (stop != nullptr) stop = skip_blanks(stop, end);
      if (stop != nullptr && (stop == end || *stop == delimiter_)) {
        row_.take_number(c, x);
        return stop;
      }
    }
    std::string_view field;
    p = next_field(p, end, delimiter_, scratch_, field);
    row_.take(c, field);
    return p;
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
  TableRow row_;
  std::string scratch_;
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
