#include "data/inspect/inspected_table.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/joined_tables.hpp"
#include "data/formats/text_lines.hpp"
#include "data/inspect/proposed_line.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// The place of the label: of the column that data.label names, else of one that is called so, else the last. None
/// if the records have none. Throws ConfigError.
std::optional<std::size_t> place_of_label(const std::vector<std::string>& names, const ReadingRules& rules) {
  if (rules.label == no_label) return {};
  if (rules.label == "first") return 0;
  if (rules.label == "last") return names.size() - 1;
  if (rules.label != "auto") return place_of_column(names, rules.label, "data.label");
  const auto found = std::ranges::find_if(names, names_label);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const bool last_is_person = names.size() > 1 && names_a_person(names.back()) && rules.person.empty();
  return names.size() - (last_is_person ? 2 : 1);
}

/// Names that no columns file could have.
void check_names(const InspectedTable& table, const Head& head) {
  std::vector<std::string> problems;
  std::set<std::string_view> seen;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const std::string& name = table.names[c];
    if (name.empty()) problems.push_back(fmt::format("column {} has no name", c + 1));
    if (!name.empty() && !seen.insert(name).second)
      problems.push_back(fmt::format("two columns are called {}", show(name)));
  }
  if (!problems.empty())
    refuse_file(head.path,
                fmt::format("{}: give every column a name of its own, or have them called by their places: --set "
                            "data.header=no --set data.skip_lines={}",
                            fmt::join(problems, ", "), table.head.records.line - 1));
}

/// Calls visit(fields) for each record.
void for_each_row(InputFile& file, const Section& records, char delimiter, std::size_t width,
                  const std::function<void(const std::vector<std::string>&)>& visit) {
  for_each_record_of(file, records, [&](const Position& at, std::string_view text) {
    std::vector<std::string> fields;
    try {
      fields = split_fields(text, delimiter);
    } catch (const Malformed& problem) {
      refuse_file(at.file, fmt::format("line {}: {}", at.line_in_file() + lines_before_open_quote(text, delimiter),
                                       problem.what()));
    }
    if (fields.size() != width)
      refuse_file(at.file, fmt::format("line {} has {} columns where {} are expected", at.line_in_file(),
                                       fields.size(), width));
    visit(fields);
  });
}

/// Whether words could be the names of columns.
bool could_be_names(std::vector<std::string> words, const ReadingRules& rules) {
  double x = 0;
  if (std::ranges::any_of(words, [&](const std::string& word) {
        return is_usual_gap(word) || to_number(word, rules.decimal == "comma", x);
      }))
    return false;
  std::ranges::sort(words);
  return std::ranges::adjacent_find(words) == words.end();
}

bool is_known_name(const std::string& word, const ReadingRules& rules) {
  const bool names_place =
      rules.label == "auto" || rules.label == "first" || rules.label == "last" || rules.label == no_label;
  return (word.size() > 1 && names_label(word)) || (!names_place && word == rules.label) || word == rules.person;
}

/// Whether the first line of a table of words, which data.header = auto takes for a record, has names in it. It has
/// if one of them is known. It has if no other line has one of its words, where those of a record would return: of
/// a column of n + 1 words the first is one that stands there once with the chance (words that do + 1) / (n + 1).
bool has_names_in_words(InputFile& file, const InspectedTable& table, const ReadingRules& rules, char delimiter) {
  const std::vector<std::string>& first = table.head.fields;
  if (!could_be_names(first, rules)) return false;
  if (std::ranges::any_of(first, [&](const std::string& word) { return is_known_name(word, rules); })) return true;
  std::vector<ColumnFacts> columns(first.size());
  bool is_first = true;
  for_each_row(file, table.head.records, delimiter, first.size(), [&](const std::vector<std::string>& fields) {
    for (std::size_t c = 0; !is_first && c < fields.size(); ++c) columns[c].add(fields[c], false);
    is_first = false;
  });
  constexpr double unlikely = 0.01;
  double chance = 1;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto words = columns[c].words();
    if (std::ranges::find(words, first[c], [](const auto& w) { return w.first; }) != words.end()) return false;
    const auto once = std::ranges::count(words, std::size_t{1}, [](const auto& w) { return w.second; });
    if (columns[c].all_words_known())
      chance *= static_cast<double>(once + 1) / static_cast<double>(columns[c].values() + 1);
  }
  return chance < unlikely;
}

InspectedTable look_at(const Head& head, const ReadingRules& rules, char delimiter) {
  InspectedTable table;
  table.head = look_at_table(head, rules, delimiter);
  table.names = table.head.fields;
  for (std::size_t c = 0; !table.head.header && c < table.names.size(); ++c)
    table.names[c] = fmt::format("column{}", c + 1);
  return table;
}

}  // namespace

std::optional<std::size_t> place_of_person(const std::vector<std::string>& names, const ReadingRules& rules) {
  if (!rules.person.empty()) return place_of_column(names, rules.person, "data.person");
  const auto found = std::ranges::find_if(names, names_a_person);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

InspectedTable read_table(const std::string& name, const std::vector<std::string>& paths, ReadingRules rules,
                          char delimiter) {
  OpenedFile opened = open_joined(name, {paths.front()}, rules);
  InspectedTable table = look_at(opened.head, rules, delimiter);
  if (!table.head.header && rules.header == "auto" && has_names_in_words(*opened.file, table, rules, delimiter)) {
    rules.header = "yes";
    table = look_at(opened.head, rules, delimiter);
    table.guessed_header = true;
  }
  check_names(table, opened.head);
  table.label = place_of_label(table.names, rules);
  table.person = place_of_person(table.names, rules);
  for (std::size_t c = 0; c < table.names.size(); ++c) table.columns.emplace_back(c == table.label);
  if (paths.size() > 1) opened = open_joined(name, paths, rules);
  for_each_row(*opened.file, table.head.records, delimiter, table.columns.size(),
               [&](const std::vector<std::string>& fields) {
                 for (std::size_t c = 0; c < fields.size(); ++c)
                   table.columns[c].add(fields[c], rules.decimal == "comma");
                 ++table.records;
               });
  return table;
}

}  // namespace dpmpi
