#pragma once
// Options are declared once, beside the field they fill; parsing, range checks, the settings table and `dpmpi help`
// all come from that one declaration.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dpmpi {

/// Allowed interval of a number. NaN is never allowed; infinity only where the interval is closed at it.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = true, high_open = true;
  bool contains(double x) const;
  std::string text() const;  ///< e.g. "in (0, 1]" or "> 0"
  static Range any() { return {}; }
  static Range positive() { return {.low = 0}; }
  static Range non_negative() { return {.low = 0, .low_open = false}; }
  static Range at_least(double low) { return {.low = low, .low_open = false}; }
  static Range closed(double low, double high) { return {low, high, false, false}; }
  static Range open(double low, double high) { return {low, high, true, true}; }
};

/// One `section.key = value` with where it came from ("quickstart.ini:12", "--set").
struct Setting {
  std::string value, origin;
};
/// All settings as text, by full name "section.key".
using Settings = std::map<std::string, Setting>;

/// The declarations of some options (of one section, of one method, ...). Holds references to the fields: keep them
/// alive.
class Options {
 public:
  Options(std::string section) : section_(std::move(section)) {}  // NOLINT: implicit on purpose

  /// `key` may be bare ("clip"). The field's value at declaration time is the default.
  Options& add(std::string key, double& field, std::string help, Range range = {});
  Options& add(std::string key, std::int64_t& field, std::string help, Range range = {});
  Options& add(std::string key, bool& field, std::string help);
  Options& add(std::string key, std::string& field, std::string help, std::vector<std::string> words = {});
  /// Comma-separated lists; an empty text is the empty list.
  Options& add(std::string key, std::vector<std::int64_t>& field, std::string help, Range range = {});
  Options& add(std::string key, std::vector<std::string>& field, std::string help);
  Options& add(std::string key, std::vector<double>& field, std::string help, Range range);
  /// An empty text is no number.
  Options& add(std::string key, std::optional<double>& field, std::string help, Range range = {});
  /// One of these words, each with what it means.
  template <class Meaning>
  Options& add_words(std::string key, Meaning& field, std::string help,
                     std::vector<std::pair<std::string, std::type_identity_t<Meaning>>> words);
  /// Any number of texts, one each time that the option is given: for a command line.
  Options& add_each(std::string key, std::vector<std::string>& field, std::string help);

  /// Fills the fields from `settings`; appends one message per problem to `problems` (never throws for bad values).
  void read(const Settings& settings, std::vector<std::string>& problems);

  struct Declaration {
    std::string name;                               ///< "section.key", or "key" of no section
    std::string help;                               ///< one sentence
    std::string allowed;                            ///< "> 0", "one of: a, b", "true or false"
    std::string initial;                            ///< the field's first value as text
    bool has_default = true;                        ///< false: that value is not allowed, it stands for "not set"
    bool given = false;                             ///< set by the user
    std::function<std::string()> text;              ///< present value as text
    std::function<bool(const std::string&)> parse;  ///< false: not allowed
    bool whole = false;                             ///< one whole number
    bool flag = false;                              ///< true or false
    bool repeated = false;                          ///< each time that it is given counts, not the last
    /// For people: "default 0.1", or "not set" if there is no default or an empty one.
    std::string default_text() const { return has_default && !initial.empty() ? "default " + initial : "not set"; }
  };
  const std::vector<Declaration>& declarations() const { return declarations_; }
  bool given(std::string_view key) const;  ///< true if the user set it

 private:
  Options& declare(std::string key, std::string help, std::string allowed, std::function<std::string()> text,
                   std::function<bool(const std::string&)> parse);
  static std::string one_of(const std::vector<std::string>& words);
  std::string section_;
  std::vector<Declaration> declarations_;
};

template <class Meaning>
Options& Options::add_words(std::string key, Meaning& field, std::string help,
                            std::vector<std::pair<std::string, std::type_identity_t<Meaning>>> words) {
  std::vector<std::string> names;
  for (const auto& word : words) names.push_back(word.first);
  const auto text = [&field, words]() -> std::string {
    for (const auto& [word, meaning] : words)
      if (meaning == field) return word;
    return {};
  };
  const auto parse = [&field, words](const std::string& given) {
    for (const auto& [word, meaning] : words) {
      if (word != given) continue;
      field = meaning;
      return true;
    }
    return false;
  };
  return declare(std::move(key), std::move(help), one_of(names), text, parse);
}

/// Reads an INI file (Boost.Program_options grammar: [section], key = value, # comment). Throws ConfigError that
/// lists all syntax problems with line numbers, and duplicate keys.
Settings read_ini(const std::string& path);

/// Merges a `--set section.key=value` argument. Throws ConfigError if it has no '=' or no '.'.
void apply_override(Settings& settings, const std::string& assignment);

/// What a key may have been meant for, given the known ones: "did you mean method.rate?", or "".
using Hint = std::function<std::string(const std::string& key, const std::vector<std::string>& known)>;
std::string hint_by_spelling(const std::string& key, const std::vector<std::string>& known);

/// Reports every setting that no declaration knows, each with its hint.
void check_unknown(const Settings& settings, const std::vector<const Options*>& declared,
                   std::vector<std::string>& problems, const Hint& hint = hint_by_spelling);

/// The name among `known` with the smallest edit distance, or "" if none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace dpmpi
