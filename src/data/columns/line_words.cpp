#include "data/columns/line_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  /// Behind the blanks; false at the end or at a comment.
  bool more() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return !rest_.empty() && rest_.front() != '#';
  }

  /// A name or a kind: all up to a blank.
  std::string word() {
    return next([](char) { return false; });
  }

  ColumnAttribute attribute() {
    ColumnAttribute found{.key = next([](char c) { return c == '=' || c == ','; }), .values = {}};
    if (found.key.empty()) throw ConfigError("an attribute has no name before '=' or ','");
    if (rest_.empty() || is_blank(rest_.front())) return found;
    while (!rest_.empty() && (rest_.front() == ',' || found.values.empty())) {
      rest_.remove_prefix(1);
      if (!found.values.empty() && !more())  // behind the blanks after a comma
        throw ConfigError(fmt::format(
            "{}= ends in a comma: take it away, or write what it goes on with in the next line", found.key));
      found.values.push_back(value(found.key));
    }
    return found;
  }

 private:
  std::string value(const std::string& key) {
    const bool quoted = !rest_.empty() && rest_.front() == '"';
    std::string text = next([](char c) { return c == ','; });
    if (text.empty() && !quoted)
      throw ConfigError(
          fmt::format("{}= has nothing in the place of a value: write \"\" for an empty word, and no "
                      "blanks around =",
                      key));
    return text;
  }

  template <class Ends>
  std::string next(Ends&& ends) {
    if (!rest_.empty() && rest_.front() == '"') return quoted(ends);
    const auto* const stop = std::ranges::find_if(rest_, [&](char c) { return is_blank(c) || ends(c); });
    std::string text(rest_.begin(), stop);
    rest_.remove_prefix(text.size());
    if (text.find('"') != text.npos)
      throw ConfigError(
          fmt::format("{} has a quotation mark inside: put the whole word into quotation marks, and "
                      "double those in it",
                      show(text)));
    return text;
  }

  template <class Ends>
  std::string quoted(Ends&& ends) {
    std::string text;
    for (rest_.remove_prefix(1);; rest_.remove_prefix(1)) {
      const std::size_t quote = rest_.find('"');
      if (quote == rest_.npos) throw ConfigError("a quotation mark is not closed on its line");
      text += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (rest_.empty() || rest_.front() != '"') break;
      text += '"';
    }
    if (!rest_.empty() && !is_blank(rest_.front()) && !ends(rest_.front()))
      throw ConfigError(fmt::format("text follows the quoted word {}", show(text)));
    return text;
  }

  std::string_view rest_;
};

}  // namespace

bool read_column_line(std::string_view text, ColumnLine& line) {
  LineReader reader(text);
  if (!reader.more()) return false;
  line.name = reader.word();
  if (line.name.empty()) throw ConfigError("a column has no name");
  if (!reader.more())
    throw ConfigError(
        fmt::format("column {} has no kind: a line is NAME KIND ATTRIBUTES, with blanks between", show(line.name)));
  line.kind = reader.word();
  while (reader.more()) line.attributes.push_back(reader.attribute());
  return true;
}

bool goes_on(std::string_view text) {
  bool inside = false, blank = true;
  for (const char c : text) {
    if (c == '"') inside = !inside;
    if (c == '#' && blank && !inside) return false;
    blank = is_blank(c);
  }
  return !inside && trim(text).ends_with(',');
}

std::string written_word(std::string_view word) {
  const bool plain = !word.empty() && word.front() != '#' && word.find_first_of(" \t,\"") == word.npos;
  if (plain) return std::string(word);
  std::string text = "\"";
  for (const char c : word) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

}  // namespace dpmpi
