// From the words of a line to the rule of its column: kinds, their attributes, and what these may be.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/columns/columns_file.hpp"
#include "data/columns/day.hpp"
#include "data/columns/line_words.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using WordList = std::vector<std::string>;

struct KindEntry {
  std::string_view name;
  std::string_view takes;  // its attributes
  std::string_view needs = {};
};

/// In the order of ColumnKind.
constexpr std::array<KindEntry, 10> column_kinds{
    {{"number", "range mean std missing impute indicator"},
     {"yes/no", "true false missing impute indicator"},
     {"category", "words other rare missing impute indicator", "words"},
     {"ordinal", "words missing impute indicator", "words"},
     {"date", "format from unit missing impute indicator", "format from"},
     {"ignore", ""},
     {"label", "positive classes"},
     {"person", "missing"},
     {"weight", "range missing impute", "range"},
     {"exposure", "range missing impute", "range"}}};

const KindEntry& entry_of_kind(ColumnKind kind) { return column_kinds.at(static_cast<std::size_t>(kind)); }

WordList attribute_names(std::string_view list) {
  WordList names;
  while (!list.empty()) {
    const std::size_t stop = std::min(list.find(' '), list.size());
    names.emplace_back(list.substr(0, stop));
    list.remove_prefix(std::min(stop + 1, list.size()));
  }
  return names;
}

std::string did_you_mean(const std::string& name, const WordList& known) {
  const std::string near = nearest_name(name, known);
  return near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
}

double one_number(const ColumnAttribute& a) {
  double x = 0;
  if (a.values.size() != 1 || !to_number(a.values[0], x))
    throw ConfigError(fmt::format("{}= takes one finite number, with a point for decimals", a.key));
  return x;
}

const std::string& one_word(const ColumnAttribute& a) {
  if (a.values.size() != 1) throw ConfigError(fmt::format("{}= takes one word", a.key));
  return a.values[0];
}

/// The words of `a`, each once.
WordList distinct_words(const ColumnAttribute& a) {
  if (a.values.empty()) throw ConfigError(fmt::format("{0} has no words: write {0}=WORD,WORD,...", a.key));
  WordList sorted = a.values;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw ConfigError(fmt::format("{}= has the word {} twice: give every word once", a.key, show(*twice)));
  return a.values;
}

/// The same for labels, of which blanks around them say nothing, and numbers are what they are worth.
WordList distinct_labels(const ColumnAttribute& a) {
  const WordList words = distinct_words(a);
  std::map<std::string, std::string> seen;
  for (const std::string& word : words)
    if (const auto [earlier, fresh] = seen.emplace(identity_of(trim(word)), word); !fresh)
      throw ConfigError(fmt::format("{}= has {} and {}, which are one label: give it once", a.key,
                                    show(earlier->second), show(word)));
  return words;
}

bool set_flag(const ColumnAttribute& a) {
  if (!a.values.empty()) throw ConfigError(fmt::format("{0} takes no value: write {0} alone", a.key));
  return true;
}

void set_range(ColumnRule& rule, const ColumnAttribute& a) {
  const std::string text = a.values.size() == 1 ? a.values[0] : "";
  const std::size_t dots = std::min(text.find(".."), text.size());
  double low = 0, high = 0;
  if (!to_number(text.substr(0, dots), low) || !to_number(text.substr(std::min(dots + 2, text.size())), high))
    throw ConfigError("range= takes two finite numbers: write range=LOW..HIGH");
  if (!(low < high)) throw ConfigError("range=: the lower end must be below the higher one");
  if (!std::isfinite(high - low)) throw ConfigError("range=: its ends are too far apart");
  rule.low = low;
  rule.high = high;
}

void set_deviation(ColumnRule& rule, const ColumnAttribute& a) {
  rule.width = one_number(a);
  if (!(rule.width > 0)) throw ConfigError("std= must be > 0");
}

void set_unit(ColumnRule& rule, const ColumnAttribute& a) {
  constexpr double year = 365.25;
  for (const auto& [name, days] : {std::pair{"days", 1.0}, {"weeks", 7.0}, {"months", year / 12}, {"years", year}})
    if (one_word(a) == name) return void(rule.unit_days = days);
  throw ConfigError(fmt::format("unit={} is not known: days, weeks, months and years are", one_word(a)));
}

void set_reference_day(ColumnRule& rule, const ColumnAttribute& a) {
  const auto day = DatePattern("%Y-%m-%d").days(one_word(a));
  if (!day) throw ConfigError("from= takes a day of the calendar, written like 2015-01-31");
  rule.from_day = *day;
}

struct AttributeEntry {
  std::string_view name;
  void (*set)(ColumnRule&, const ColumnAttribute&);
};

constexpr AttributeEntry column_attributes[] = {
    {"range", set_range},
    {"mean", [](ColumnRule& r, const ColumnAttribute& a) { r.center = one_number(a); }},
    {"std", set_deviation},
    {"words", [](ColumnRule& r, const ColumnAttribute& a) { r.words = distinct_words(a); }},
    {"classes", [](ColumnRule& r, const ColumnAttribute& a) { r.words = distinct_labels(a); }},
    {"other", [](ColumnRule& r, const ColumnAttribute& a) { r.other = set_flag(a); }},
    {"rare", [](ColumnRule& r, const ColumnAttribute& a) { r.rare = distinct_words(a); }},
    {"true", [](ColumnRule& r, const ColumnAttribute& a) { r.yes = distinct_words(a); }},
    {"false", [](ColumnRule& r, const ColumnAttribute& a) { r.no = distinct_words(a); }},
    {"positive", [](ColumnRule& r, const ColumnAttribute& a) { r.positive = distinct_labels(a); }},
    {"format", [](ColumnRule& r, const ColumnAttribute& a) { r.format = DatePattern(one_word(a)).text(); }},
    {"from", set_reference_day},
    {"unit", set_unit},
    {"missing", [](ColumnRule& r, const ColumnAttribute& a) { r.missing = distinct_words(a); }},
    {"impute", [](ColumnRule& r, const ColumnAttribute& a) { r.impute = one_word(a); }},
    {"indicator", [](ColumnRule& r, const ColumnAttribute& a) { r.indicator = set_flag(a); }}};

ColumnKind kind_called(const std::string& name) {
  const auto* const found = std::ranges::find(column_kinds, name, &KindEntry::name);
  if (found != column_kinds.end()) return static_cast<ColumnKind>(found - column_kinds.begin());
  throw ConfigError(fmt::format("kind {} is not known{}; kinds are {}", show(name),
                                did_you_mean(name, column_kind_names()), fmt::join(column_kind_names(), ", ")));
}

void set_attribute(ColumnRule& rule, const ColumnAttribute& a) {
  const KindEntry& kind = entry_of_kind(rule.kind);
  const WordList known = attribute_names(kind.takes);
  if (std::ranges::find(known, a.key) == known.end())
    throw ConfigError(fmt::format("{} has no attribute {}{}; it takes {}", kind.name, show(a.key),
                                  did_you_mean(a.key, known),
                                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
  std::ranges::find(column_attributes, a.key, &AttributeEntry::name)->set(rule, a);
}

/// Throws ConfigError if a word of one list is in the other.
void check_apart(const WordList& a, const WordList& b, const char* names) {
  for (const std::string& word : a)
    if (std::ranges::find(b, word) != b.end())
      throw ConfigError(fmt::format("the word {} stands in {}: it can mean one thing only", show(word), names));
}

/// A weight becomes a share of the highest one; an exposure stays what it is, and has a logarithm.
void check_factor(ColumnRule& rule) {
  if (rule.kind == ColumnKind::exposure && !(*rule.low > 0))
    throw ConfigError("range=: the lower end of an exposure must be above 0, for a rate is a count per exposure");
  if (*rule.low < 0) throw ConfigError("range=: the lower end of a weight must be 0 or above");
  if (rule.kind == ColumnKind::weight) rule.width = *rule.high;
}

/// What the attributes must be together.
void check_together(ColumnRule& rule, const WordList& given) {
  const auto has = [&](const char* key) { return std::ranges::find(given, key) != given.end(); };
  for (const std::string& key : attribute_names(entry_of_kind(rule.kind).needs))
    if (!has(key.c_str())) throw ConfigError(fmt::format("{} needs {}=", entry_of_kind(rule.kind).name, key));
  if (is_factor(rule.kind)) return check_factor(rule);
  rule.scaled = has("range") || has("mean") || has("std");
  if (has("range") && !has("mean") && !has("std")) rule.center = *rule.low, rule.width = *rule.high - *rule.low;
  if (has("positive") && has("classes"))
    throw ConfigError("positive= makes signs of the label and classes= numbers: give one of them");
  for (const WordList* names : {&rule.positive, &rule.words})
    if (rule.kind == ColumnKind::label && std::ranges::any_of(*names, is_missing))
      throw ConfigError("a label that is empty, ? or NA is a missing one, and has no meaning");
  if (rule.kind == ColumnKind::yes_no) {
    if (has("true") != has("false")) throw ConfigError("true= and false= go together: give both, or neither");
    if (!has("true")) rule.yes = {"yes", "true", "1"}, rule.no = {"no", "false", "0"};
    check_apart(rule.yes, rule.no, "true= and in false=");
  }
  if (rule.kind == ColumnKind::ordinal && rule.words.size() < 2)
    throw ConfigError("ordinal needs two words at least, the lowest first");
  for (const std::string& word : rule.rare)
    if (std::ranges::find(rule.words, word) == rule.words.end())
      throw ConfigError(
          fmt::format("rare= has {}, which is none of words=: a rare word keeps its place there", show(word)));
  if (!rule.missing) return;
  for (const WordList* words : {&rule.words, &rule.yes, &rule.no})
    check_apart(*rule.missing, *words, "missing= and among the column's words");
}

}  // namespace

std::vector<std::string> column_kind_names() {
  WordList names;
  for (const KindEntry& kind : column_kinds) names.emplace_back(kind.name);
  return names;
}

std::string column_kind_name(ColumnKind kind) { return std::string(entry_of_kind(kind).name); }

ColumnRule column_rule(const ColumnLine& line, std::size_t number) {
  ColumnRule rule;
  rule.name = line.name;
  rule.line = number;
  rule.kind = kind_called(line.kind);
  WordList given, problems;
  for (const ColumnAttribute& attribute : line.attributes) {
    try {
      if (std::ranges::find(given, attribute.key) != given.end())
        throw ConfigError(fmt::format("{} is given twice", attribute.key));
      given.push_back(attribute.key);
      set_attribute(rule, attribute);
    } catch (const ConfigError& problem) {
      problems.emplace_back(problem.what());
    }
  }
  if (problems.empty()) {
    check_together(rule, given);
    return rule;
  }
  throw ConfigError(fmt::format("{}", fmt::join(problems, "; ")));
}

}  // namespace dpmpi
