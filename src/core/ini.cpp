#include "core/ini.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/trim.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view controls("\0\x01\x02\x03\x04\x05\x06\x07\x08\x1b", 10);

std::string_view without_comment(std::string_view s) { return trim(s.substr(0, s.find('#'))); }

// What stands between the quotation mark that `text` begins with and the next one that is not escaped; nothing but
// a comment may follow.
std::optional<std::string> unquoted(std::string_view text) {
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && (++i == text.size() || (text[i] != '"' && text[i] != '\\'))) return {};
    value += text[i];
  }
  if (i >= text.size() || !without_comment(text.substr(i + 1)).empty()) return {};
  return value;
}

// Far above what configs have. The file may come from anybody, and a message is for people.
constexpr std::size_t longest_key = 100, longest_shown = 100, most_entries = 2000, most_problems = 20;

std::string shown(std::string_view line) {
  return std::string(line.substr(0, longest_shown)) + (line.size() > longest_shown ? "..." : "");
}

class IniParser {
 public:
  explicit IniParser(const std::string& path) : path_(path) {}

  void take(std::string_view raw) {
    ++number_;
    const std::string_view line = without_comment(raw);
    const auto equals = line.find('=');
    if (line.empty()) return;
    const bool open = std::exchange(list_open_, false);
    if (line.front() == '[' && line.back() == ']')
      section_ = std::string(trim(line.substr(1, line.size() - 2))) + ".";
    else if (open && equals == line.npos)
      go_on(line);
    else if (equals == line.npos || trim(line.substr(0, equals)).empty())
      problem(fmt::format("{} is neither [section], key = value nor # comment", quoted(line)));
    else
      take_value(section_ + std::string(trim(line.substr(0, equals))), trim(raw.substr(raw.find('=') + 1)));
  }

  std::vector<IniEntry> entries() && {
    if (!problems_.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems_, "\n  ")));
    return std::move(entries_);
  }

 private:
  // Before its first section nothing tells a config from a file of records, which no message may quote.
  std::string quoted(std::string_view line) const {
    return section_.empty() ? "a line before the first [section]" : fmt::format("'{}'", shown(line));
  }

  void problem(const std::string& text) {
    if (problems_.size() == most_problems) return;
    problems_.push_back(fmt::format("{}:{}: {}", path_, number_, text));
  }

  // `text`: all behind the equals sign, with comment.
  void take_value(std::string name, std::string_view text) {
    if (name.size() > longest_key || entries_.size() == most_entries) {
      problem(
          fmt::format("a key is no longer than {} bytes, and a file has at most {}", longest_key, most_entries));
    } else if (!text.starts_with('"')) {
      entries_.push_back({std::move(name), std::string(without_comment(text)), number_});
      list_open_ = entries_.back().value.ends_with(',');
    } else if (auto value = unquoted(text)) {
      entries_.push_back({std::move(name), std::move(*value), number_});
    } else {
      problem(
          fmt::format("{}: a value that begins with a quotation mark ends with one, and holds \\\" and \\\\ for "
                      "marks and backslashes",
                      name));
    }
  }

  // A list whose line ends in a comma.
  void go_on(std::string_view line) {
    entries_.back().value += fmt::format(" {}", line);
    list_open_ = line.ends_with(',');
  }

  const std::string& path_;
  std::size_t number_ = 0;
  bool list_open_ = false;
  std::string section_;
  std::vector<IniEntry> entries_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<IniEntry> parse_ini(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (const auto odd = text.find_first_of(controls); odd != text.npos)
    throw ConfigError(fmt::format("{}: byte {} is a control character: not a text file", path, odd));
  IniParser parser(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    parser.take(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return std::move(parser).entries();
}

void refuse_unwritable(std::string_view value, std::string_view what) {
  const auto odd = value.find_first_of(controls);
  if (odd != value.npos || value.find('\n') != value.npos)
    throw ConfigError(
        fmt::format("{} holds a line break or a control character, which no config file can hold", what));
}

std::string ini_value(std::string_view value) {
  refuse_unwritable(value, "a value");
  if (trim(value) == value && !value.starts_with('"') && value.find('#') == value.npos) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace dpmpi
