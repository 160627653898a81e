#include "core/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "core/ini.hpp"
#include "core/trim.hpp"

namespace dpmpi {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  text = trim(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> list(std::string_view text) {
  std::vector<std::string> items;
  text = trim(text);
  while (!text.empty()) {
    const auto comma = text.find(',');
    items.emplace_back(trim(text.substr(0, comma)));
    if (comma == text.npos) break;
    text = text.substr(comma + 1);
  }
  return items;
}

template <class T>
bool read_numbers(std::string_view text, const Range& range, std::vector<T>& field) {
  std::vector<T> values;
  for (const auto& item : list(text)) {
    const auto value = number<T>(item);
    if (!value || !range.contains(static_cast<double>(*value))) return false;
    values.push_back(*value);
  }
  field = std::move(values);
  return true;
}

}  // namespace

// ranges

bool Range::contains(double x) const {
  if (std::isnan(x)) return false;
  return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high);
}

std::string Range::text() const {
  const bool no_low = std::isinf(low), no_high = std::isinf(high);
  if (no_low && no_high) return "a finite number";
  if (no_high) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  if (no_low) return fmt::format("{} {}", high_open ? "<" : "<=", high);
  return fmt::format("in {}{}, {}{}", low_open ? "(" : "[", low, high, high_open ? ")" : "]");
}

// declarations

Options& Options::declare(std::string key, std::string help, std::string allowed, std::function<std::string()> text,
                          std::function<bool(const std::string&)> parse) {
  std::string initial = text();
  const bool has_default = parse(initial);
  declarations_.push_back({.name = section_.empty() ? key : section_ + "." + key,
                           .help = std::move(help),
                           .allowed = std::move(allowed),
                           .initial = std::move(initial),
                           .has_default = has_default,
                           .text = std::move(text),
                           .parse = std::move(parse)});
  return *this;
}

Options& Options::add(std::string key, double& field, std::string help, Range range) {
  return declare(
      std::move(key), std::move(help), range.text(), [&field] { return fmt::format("{}", field); },
      [&field, range](const std::string& text) {
        const auto value = number<double>(text);
        if (!value || !range.contains(*value)) return false;
        field = *value;
        return true;
      });
}

Options& Options::add(std::string key, std::int64_t& field, std::string help, Range range) {
  const std::string allowed =
      std::isinf(range.low) && std::isinf(range.high) ? "a whole number" : "a whole number " + range.text();
  declare(
      std::move(key), std::move(help), allowed, [&field] { return fmt::format("{}", field); },
      [&field, range](const std::string& text) {
        const auto value = number<std::int64_t>(text);
        if (!value || !range.contains(static_cast<double>(*value))) return false;
        field = *value;
        return true;
      });
  declarations_.back().whole = true;
  return *this;
}

Options& Options::add(std::string key, bool& field, std::string help) {
  declare(
      std::move(key), std::move(help), "true or false", [&field] { return field ? "true" : "false"; },
      [&field](const std::string& text) {
        if (text != "true" && text != "false") return false;
        field = text == "true";
        return true;
      });
  declarations_.back().flag = true;
  return *this;
}

// An empty word is what leaving the key out means.
std::string Options::one_of(const std::vector<std::string>& words) {
  std::vector<std::string> shown = words;
  std::erase(shown, "");
  return fmt::format("one of: {}", fmt::join(shown, ", "));
}

Options& Options::add(std::string key, std::string& field, std::string help, std::vector<std::string> words) {
  return declare(
      std::move(key), std::move(help), words.empty() ? "text" : one_of(words), [&field] { return field; },
      [&field, words](const std::string& text) {
        if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end()) return false;
        field = text;
        return true;
      });
}

Options& Options::add(std::string key, std::optional<double>& field, std::string help, Range range) {
  return declare(
      std::move(key), std::move(help), range.text(), [&field] { return field ? fmt::format("{}", *field) : ""; },
      [&field, range](const std::string& text) {
        field = number<double>(text);
        return field ? range.contains(*field) : text.empty();
      });
}

Options& Options::add(std::string key, std::vector<std::int64_t>& field, std::string help, Range range) {
  return declare(
      std::move(key), std::move(help), "whole numbers " + range.text() + ", separated by commas",
      [&field] { return fmt::format("{}", fmt::join(field, ",")); },
      [&field, range](const std::string& text) { return read_numbers(text, range, field); });
}

Options& Options::add(std::string key, std::vector<double>& field, std::string help, Range range) {
  return declare(
      std::move(key), std::move(help), "numbers " + range.text() + ", separated by commas",
      [&field] { return fmt::format("{}", fmt::join(field, ",")); },
      [&field, range](const std::string& text) { return read_numbers(text, range, field); });
}

Options& Options::add(std::string key, std::vector<std::string>& field, std::string help) {
  return declare(
      std::move(key), std::move(help), "a list separated by commas",
      [&field] { return fmt::format("{}", fmt::join(field, ",")); },
      [&field](const std::string& text) {
        field = list(text);
        return true;
      });
}

Options& Options::add_each(std::string key, std::vector<std::string>& field, std::string help) {
  declare(
      std::move(key), std::move(help), "text", [] { return std::string(); },
      [&field](const std::string& text) {
        if (text.empty()) return false;
        field.push_back(text);
        return true;
      });
  declarations_.back().repeated = true;
  return *this;
}

void Options::read(const Settings& settings, std::vector<std::string>& problems) {
  for (auto& declaration : declarations_) {
    const auto found = settings.find(declaration.name);
    if (found == settings.end()) continue;
    declaration.given = true;
    if (!declaration.parse(found->second.value))
      problems.push_back(
          fmt::format("{}: {} = {} is not allowed; it must be {}", found->second.origin, declaration.name,
                      found->second.value.empty() ? "(empty)" : found->second.value, declaration.allowed));
  }
}

bool Options::given(std::string_view key) const {
  const std::string name = section_ + "." + std::string(key);
  return std::any_of(declarations_.begin(), declarations_.end(),
                     [&](const auto& d) { return d.name == name && d.given; });
}

// files and overrides

Settings read_ini(const std::string& path) {
  std::error_code unseen;  // opening says why
  if (std::filesystem::is_directory(path, unseen))
    throw ConfigError(fmt::format("the config file {} is a directory", path));
  std::string text;
  try {
    text = read_file(path, file_limit::config, fmt::format("the config file {}", path));
  } catch (const DataError& e) {
    throw ConfigError(e.what());
  }
  Settings settings;
  std::vector<std::string> problems;
  for (IniEntry& entry : parse_ini(text, path)) {
    const std::string origin = fmt::format("{}:{}", path, entry.line);
    if (const auto [old, fresh] = settings.try_emplace(entry.name, Setting{std::move(entry.value), origin}); !fresh)
      problems.push_back(fmt::format("{}: {} is set twice (first at {})", origin, entry.name, old->second.origin));
  }
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  return settings;
}

void apply_override(Settings& settings, const std::string& assignment) {
  const auto equals = assignment.find('=');
  const std::string key(trim(std::string_view(assignment).substr(0, equals)));
  if (equals == assignment.npos || key.find('.') == key.npos)
    throw ConfigError(fmt::format("--set {}: expected section.key=value", assignment));
  refuse_unwritable(assignment, fmt::format("--set {}", key));
  settings[key] = {std::string(trim(std::string_view(assignment).substr(equals + 1))), "--set"};
}

namespace {

/// Letters to put in, leave out, exchange, or swap with the next one.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1), row(before), after(before);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    after[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      after[j + 1] = std::min({row[j] + (from[i] != to[j]), row[j + 1] + 1, after[j] + 1});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
        after[j + 1] = std::min(after[j + 1], before[j - 1] + 1);
    }
    std::swap(before, row);
    std::swap(row, after);
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = (name.size() + 1) / 3 + 1;  // one letter in three may be another
  for (const auto& candidate : known)
    if (const std::size_t distance = edits(name, candidate); distance < least) least = distance, best = candidate;
  return best;
}

std::string hint_by_spelling(const std::string& key, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(key, known);
  return nearest.empty() ? "" : fmt::format("did you mean {}?", nearest);
}

void check_unknown(const Settings& settings, const std::vector<const Options*>& declared,
                   std::vector<std::string>& problems, const Hint& hint) {
  std::vector<std::string> known;
  for (const auto* options : declared)
    for (const auto& declaration : options->declarations()) known.push_back(declaration.name);
  for (const auto& [name, setting] : settings) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string meant = hint(name, known);
    problems.push_back(
        fmt::format("{}: unknown key {}{}", setting.origin, name, meant.empty() ? "" : fmt::format("; {}", meant)));
  }
}

}  // namespace dpmpi
