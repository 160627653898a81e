#include "data/inspect/proposed_line.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/columns/day.hpp"
#include "data/columns/line_words.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using Attributes = std::vector<std::string>;

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool means_yes(const std::string& word) {
  constexpr std::string_view known[] = {"yes", "y", "true", "t", "1", "ja", "j", "oui", "si", "positive", "high"};
  return std::ranges::find(known, lower_case(word)) != std::end(known);
}

/// A number that somebody can read, near enough to x for numbers that differ by `scale`.
std::string short_number(double x, double scale) {
  const double size = std::log10(std::abs(x) / scale);
  const int more = std::isfinite(size) ? std::clamp(static_cast<int>(std::ceil(size)), 0, 12) : 0;
  return fmt::format("{:.{}g}", x, 3 + more);
}

Attributes for_missing(const ColumnFacts& facts, const std::string& impute) {
  if (facts.missing_words().empty()) return {};
  Attributes all{written_words("missing", facts.missing_words())};
  if (!impute.empty()) all.push_back("impute=" + impute);
  all.emplace_back("indicator");
  return all;
}

std::vector<std::string> first_words(const ColumnFacts& facts, std::size_t most) {
  std::vector<std::string> words;
  for (const auto& [word, times] : facts.words())
    if (words.size() < most) words.push_back(word);
  return words;
}

/// The labels, the most frequent first, each in one of the ways in which it is written; at most `most`.
std::vector<std::string> first_labels(const ColumnFacts& facts, std::size_t most) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const auto& [word, times] : facts.words())
    if (labels.size() < most && seen.insert(identity_of(word)).second) labels.push_back(word);
  return labels;
}

std::string remarks_on_labels(const std::string& name, const ColumnFacts& facts,
                              const std::vector<std::string>& labels) {
  std::string remarks;
  if (!facts.missing_words().empty())
    remarks += fmt::format("# {}: labels are missing in some records, which cannot be trained on\n", name);
  std::vector<std::string> gaps;
  for (const std::string& label : labels)
    if (label.find_first_not_of("-") != label.npos && is_usual_gap(label)) gaps.push_back(label);
  if (!gaps.empty())
    remarks += fmt::format("# {}: {} may mean that a label is missing: such records cannot be trained on\n", name,
                           fmt::join(gaps, ", "));
  if (labels.size() == 1) remarks += fmt::format("# {}: it always has the same value\n", name);
  return remarks;
}

std::string label_line(const std::string& name, const ColumnFacts& facts) {
  constexpr std::size_t most_classes = 100;
  constexpr const char* remedy = "name another column (--set data.label=NAME), or none (--set data.label=none)";
  if (facts.has_line_ends())
    throw Malformed(
        fmt::format("column {} is taken for the label, and has line ends in it: {}", show(name), remedy));
  const std::vector<std::string> labels = first_labels(facts, most_classes + 1);
  Attributes attributes;
  if (labels.size() == 2)
    attributes.push_back(written_words("positive", {means_yes(labels[0]) ? labels[0] : labels[1]}));
  else if (!facts.is_numeric() && labels.size() > most_classes)
    throw Malformed(
        fmt::format("column {} is taken for the label, and has more than {} words, too many for classes: {}",
                    show(name), most_classes, remedy));
  else if (!facts.is_numeric() && !labels.empty())
    attributes.push_back(written_words("classes", labels));
  return remarks_on_labels(name, facts, labels) + written_line(name, ColumnKind::label, attributes);
}

std::string ignored_line(const std::string& name, const char* why) {
  return fmt::format("# {}: {}\n", name, why) + written_line(name, ColumnKind::ignore, {});
}

/// Centre and scale that outliers do not move.
std::string number_line(const std::string& name, const ColumnFacts& facts) {
  const double low = facts.quantile(0), high = facts.quantile(1), middle = facts.quantile(0.5);
  constexpr double normal_quartiles =
      1.349;  // the distance of the quartiles of a normal law in standard deviations
  double scale = (facts.quantile(0.75) - facts.quantile(0.25)) / normal_quartiles;
  if (low == high) scale = 1;  // only gaps differ
  if (!(scale > 0)) scale = (high - low) / 4;
  if (!std::isfinite(scale) || !(scale > 0) || !std::isfinite(high - low))
    return ignored_line(name, "its numbers are too large or too far apart");
  const std::string center = short_number(middle, scale);
  Attributes attributes{"mean=" + center, "std=" + short_number(scale, scale)};
  if (low < high) attributes.insert(attributes.begin(), fmt::format("range={}..{}", low, high));
  for (const std::string& more : for_missing(facts, center)) attributes.push_back(more);
  return written_line(name, ColumnKind::number, attributes);
}

std::string date_line(const std::string& name, const ColumnFacts& facts) {
  const CalendarDay middle = calendar_day(static_cast<std::int64_t>(std::floor(facts.middle_day())));
  Attributes attributes{"format=" + written_word(facts.date_format()),
                        fmt::format("from={:04}-{:02}-{:02}", middle.year, middle.month, middle.day), "unit=years"};
  for (const std::string& more : for_missing(facts, "")) attributes.push_back(more);
  return written_line(name, ColumnKind::date, attributes);
}

std::string word_line(const std::string& name, const ColumnFacts& facts, std::size_t most) {
  std::vector<std::string> words = first_words(facts, most);
  Attributes attributes;
  if (words.size() == 2 && means_yes(words[0]) != means_yes(words[1])) {
    if (!means_yes(words[0])) std::swap(words[0], words[1]);
    attributes = {written_words("true", {words[0]}), written_words("false", {words[1]})};
    for (const std::string& more : for_missing(facts, "")) attributes.push_back(more);
    return written_line(name, ColumnKind::yes_no, attributes);
  }
  attributes = {written_words("words", words), "other"};
  for (const std::string& more : for_missing(facts, "")) attributes.push_back(more);
  return written_line(name, ColumnKind::category, attributes);
}

/// Whether all its values are one word, or one number however it is written.
bool is_constant(const ColumnFacts& facts) {
  return facts.distinct() == 1 || (facts.is_numeric() && facts.quantile(0) == facts.quantile(1));
}

/// Of a column that has one value, or none: what it says is where it has one.
std::string one_value_line(const std::string& name, const ColumnFacts& facts, std::size_t most_words) {
  return fmt::format("# {}: its values are all the same, or missing\n", name) +
         (facts.distinct() == 1 ? word_line(name, facts, most_words) : number_line(name, facts));
}

bool names_a_record(const std::string& name, const ColumnFacts& facts) {
  const std::string small = lower_case(name);
  const bool called_id =
      small == "id" || small.ends_with("_id") || small.ends_with(" id") || small.ends_with("-id");
  constexpr std::size_t few = 50;
  const bool all_differ = !facts.is_numeric() && facts.date_format().empty() && facts.values() >= few &&
                          2 * facts.distinct() > facts.values();
  return called_id || all_differ;
}

}  // namespace

std::string written_words(const std::string& key, const std::vector<std::string>& words) {
  std::vector<std::string> written;
  for (const std::string& word : words) written.push_back(written_word(word));
  return fmt::format("{}={}", key, fmt::join(written, ","));
}

std::string written_line(const std::string& name, ColumnKind kind, const std::vector<std::string>& attributes) {
  constexpr std::size_t longest = 100;
  std::string text =
      fmt::format("{} {} {}", written_word(name), column_kind_name(kind), fmt::join(attributes, " "));
  while (text.ends_with(' ')) text.pop_back();
  std::string lines;
  std::size_t length = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    lines += c;
    if (++length <= longest || c != ',' || quoted) continue;
    lines += "\n    ";
    length = 4;
  }
  return lines + '\n';
}

bool names_a_person(const std::string& name) {
  constexpr std::string_view persons[] = {"patient", "person",   "subject", "participant", "customer",    "client",
                                          "member",  "user",     "insured", "employee",    "student",     "account",
                                          "citizen", "resident", "child",   "respondent",  "policyholder"};
  std::string small = lower_case(name);
  for (const std::string_view end : {"id", "no", "nr", "number", "key", "code", "hash"})
    if (small.ends_with(end) && small.size() > end.size()) {
      small.resize(small.size() - end.size());
      break;
    }
  while (small.ends_with('_') || small.ends_with('-') || small.ends_with(' ')) small.pop_back();
  return std::ranges::find(persons, small) != std::end(persons);
}

std::string hint_by_name(const std::string& name) {
  constexpr std::string_view weights[] = {"weight", "weights", "wt", "wgt", "pweight", "fnlwgt"},
                             exposures[] = {"exposure", "person_years", "personyears", "policy_years",
                                            "years_at_risk"};
  const std::string small = lower_case(name);
  const bool weight = std::ranges::find(weights, small) != std::end(weights) || small.ends_with("_weight") ||
                      small.ends_with(" weight");
  if (weight)
    return fmt::format("# {}: if it says how much a record counts: {} weight range=0..LARGEST\n", name,
                       written_word(name));
  if (std::ranges::find(exposures, small) != std::end(exposures))
    return fmt::format("# {}: if counts grow with it: {} exposure range=SMALLEST..LARGEST\n", name,
                       written_word(name));
  return "";
}

std::string person_line(const std::string& name) {
  return fmt::format("# {}: it seems to say whose a record is: the promise is for a person then\n", name) +
         written_line(name, ColumnKind::person, {});
}

std::string proposed_line(const std::string& name, const ColumnFacts& facts, bool is_label) {
  constexpr std::size_t most_words = 200;
  constexpr double least_share = 0.5;  // of the values that the words of a category cover
  if (is_label) return label_line(name, facts);
  const std::size_t distinct = facts.distinct();
  if (facts.values() == 0) return ignored_line(name, "all values are missing");
  if (names_a_record(name, facts))
    return ignored_line(name, "it seems to name records or persons, and is no input");
  if (facts.has_line_ends()) return ignored_line(name, "it seems to be free text: it has line ends");
  if (is_constant(facts) && facts.missing_words().empty())
    return ignored_line(name, "it always has the same value");
  if (is_constant(facts)) return one_value_line(name, facts, most_words);
  if (distinct <= 2 || (!facts.is_numeric() && facts.date_format().empty())) {
    if (distinct > most_words && facts.share_of_words(most_words) < least_share)
      return ignored_line(name, "it seems to be free text: most of its words are rare");
    const std::string many = distinct > most_words
                                 ? fmt::format("# {}: {}{} words, of which these are the most frequent\n", name,
                                               facts.all_words_known() ? "" : "more than ", distinct)
                                 : "";
    return many + word_line(name, facts, most_words);
  }
  return facts.is_numeric() ? number_line(name, facts) : date_line(name, facts);
}

}  // namespace dpmpi
