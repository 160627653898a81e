#include "data/columns/columns_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/trim.hpp"
#include "data/columns/coding.hpp"
#include "data/columns/line_words.hpp"
#include "data/records/labels.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// A line with those in which it goes on.
struct WholeLine {
  std::size_t first = 0, last = 0;  ///< numbers
  std::string text = {};
};

/// Whether the line is NAME KIND ..., which what goes on behind a comma cannot be.
bool begins_column(std::string_view text) {
  ColumnLine line;
  try {
    read_column_line(text, line);
  } catch (const ConfigError&) {  // of its attributes, perhaps
  }
  const std::vector<std::string> kinds = column_kind_names();
  return !line.name.ends_with(',') && std::ranges::find(kinds, line.kind) != kinds.end();
}

/// Calls visit for each line, those that go on in one piece. A line that must be that of another column ends a
/// piece: the comma before it is one too many.
template <class Visit>
void for_each_whole_line(std::string_view text, Visit&& visit) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  WholeLine whole;
  bool open = false;
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, stop - at);
    at = stop + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view words = trim(line);
    if (open && (words.empty() || words.front() == '#')) continue;
    if (open && begins_column(line)) visit(std::exchange(whole, {})), open = false;
    if (!open) whole.first = number;
    whole.last = number;
    whole.text += line;
    open = goes_on(line);
    if (!open) visit(std::exchange(whole, {}));
  }
  if (open) visit(whole);
}

/// What is wrong with a line behind "column NAME: ".
std::string in_column(const ColumnLine& line, const WholeLine& whole, const char* problem) {
  const std::string lines =
      whole.last > whole.first ? fmt::format(" (its line goes on to line {}, behind commas)", whole.last) : "";
  return line.name.empty() ? problem + lines : fmt::format("column {}: {}{}", show(line.name), problem, lines);
}

/// The name in an entry `name:...`.
std::string name_before_colon(const std::string& entry, bool last) {
  const std::size_t colon = last ? entry.rfind(':') : entry.find(':');
  return colon == entry.npos ? "" : std::string(trim(std::string_view(entry).substr(0, colon)));
}

std::vector<std::string> label_map_of(const ColumnRule& label) {
  std::vector<std::string> entries;
  for (std::size_t c = 0; c < label.words.size(); ++c) entries.push_back(fmt::format("{}:{}", label.words[c], c));
  return entries;
}

}  // namespace

bool makes_features(const ColumnRule& rule) { return rule.kind != ColumnKind::ignore && !stands_once(rule.kind); }

bool is_factor(ColumnKind kind) { return kind == ColumnKind::weight || kind == ColumnKind::exposure; }

bool stands_once(ColumnKind kind) {
  return kind == ColumnKind::label || kind == ColumnKind::person || is_factor(kind);
}

bool ColumnRule::is_missing_word(std::string_view field) const {
  if (missing) return std::ranges::find(*missing, field) != missing->end();
  if (!is_missing(field)) return false;
  const auto in = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, field) != list.end();
  };
  return !in(words) && !in(yes) && !in(no);
}

std::size_t ColumnRule::rare_feature() const {
  if (other) return words.size();
  const auto first = std::ranges::find_first_of(words, rare);
  return static_cast<std::size_t>(first - words.begin());
}

ColumnsFile::ColumnsFile(std::string content, std::string of)
    : path(std::move(of)), text(std::move(content)), digest(sha256(text)) {
  constexpr std::size_t most = 60;
  std::vector<std::string> problems;
  for_each_whole_line(text, [&](const WholeLine& whole) {
    ColumnLine line;
    try {
      if (!read_column_line(whole.text, line)) return;
      ColumnRule rule = column_rule(line, whole.first);
      check_beside(rule);
      if (makes_features(rule) || is_factor(rule.kind)) ColumnCode(rule, place(rule), false);
      places_.emplace(rule.name, columns.size());
      columns.push_back(std::move(rule));
    } catch (const ConfigError& problem) {
      problems.push_back(fmt::format("{}:{}: {}", path, whole.first, in_column(line, whole, problem.what())));
    }
  });
  if (problems.empty() && columns.empty()) problems.push_back(fmt::format("{} names no column", path));
  if (problems.empty() && std::ranges::none_of(columns, makes_features))
    problems.push_back(fmt::format(
        "{}: no column becomes a feature: all are ignored, the label, the person, a weight or an exposure", path));
  if (problems.size() > most) problems.resize(most), problems.emplace_back("and more");
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

/// Whether a line can stand in one file with those before it.
void ColumnsFile::check_beside(const ColumnRule& rule) const {
  if (const ColumnRule* const earlier = find(rule.name))
    throw ConfigError(fmt::format("column {} stands in line {}, too: give every column one line", show(rule.name),
                                  earlier->line));
  if (!stands_once(rule.kind)) return;
  if (const ColumnRule* const earlier = of_kind(rule.kind))
    throw ConfigError(fmt::format("column {0} is of kind {3}, and so is {1} in line {2}: a table has one {3}",
                                  show(rule.name), show(earlier->name), earlier->line,
                                  column_kind_name(rule.kind)));
}

std::string ColumnsFile::place(const ColumnRule& column) const { return fmt::format("{}:{}", path, column.line); }

const ColumnRule* ColumnsFile::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &columns[found->second];
}

const ColumnRule* ColumnsFile::of_kind(ColumnKind kind) const {
  const auto found = std::ranges::find(columns, kind, &ColumnRule::kind);
  return found == columns.end() ? nullptr : &*found;
}

void ColumnsFile::check_settings(const ReadingRules& rules, std::vector<std::string>& problems) const {
  const auto said_here = [&](const std::string& key, const std::string& value, const ColumnRule* column) {
    problems.push_back(
        fmt::format("{} = {}: data.columns says what columns are, and {} says it of {}: leave out {}", key, value,
                    column ? place(*column) : path, column ? "column " + show(column->name) : "all columns", key));
  };
  const auto lists = {std::tuple{"data.one_hot", &rules.one_hot, false},
                      {"data.mean", &rules.mean, true},
                      {"data.std", &rules.deviation, true}};
  for (const auto& [key, list, last] : lists)
    for (const std::string& entry : *list) said_here(key, entry, find(name_before_colon(entry, last)));
  for (const std::string& name : rules.drop) said_here("data.drop", name, find(name));
  if (!rules.missing.empty()) said_here("data.missing", rules.missing, nullptr);
  if (rules.unknown != "error") said_here("data.unknown", rules.unknown, nullptr);
  if (rules.scale != 1) said_here("data.scale", fmt::format("{}", rules.scale), nullptr);

  double number = 0;
  for (const ColumnRule& rule : columns)
    if (rules.header == "auto" && to_number(rule.name, number)) {
      problems.push_back(fmt::format(
          "data.header = auto: column {} is called by a number ({}), so names and a record may look alike: set "
          "data.header = yes or no",
          show(rule.name), place(rule)));
      break;
    }

  const ColumnRule* const person = of_kind(ColumnKind::person);
  if (!rules.person.empty() && (person == nullptr || person->name != rules.person))
    said_here("data.person", rules.person, person != nullptr ? person : find(rules.person));
  const ColumnRule* const known = label();
  const ColumnRule* const named = find(rules.label);
  if (rules.label != "auto" && rules.label != no_label && (named == nullptr || named != known))
    said_here("data.label", rules.label, named != nullptr ? named : known);
  if (known == nullptr) return;
  const bool mapped = !known->positive.empty() || !known->words.empty();
  if (mapped && !rules.positive.empty() && rules.positive != known->positive)
    said_here("data.positive", fmt::format("{}", fmt::join(rules.positive, ",")), known);
  if (mapped && !rules.label_map.empty() && rules.label_map != label_map_of(*known))
    said_here("data.label_map", fmt::format("{}", fmt::join(rules.label_map, ",")), known);
}

void ColumnsFile::apply_to(ReadingRules& rules) const {
  const ColumnRule* const known = label();
  if (known == nullptr) return;
  if (!known->positive.empty()) rules.positive = known->positive;
  if (!known->words.empty()) rules.label_map = label_map_of(*known);
}

}  // namespace dpmpi
