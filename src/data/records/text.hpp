#pragma once
// Small pieces of the text parsers: numbers, and how a value is shown in a message. All local.

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

/// A malformed value, thrown inside the parsers, which add file and line. Of what has no column of its own, a kind
/// is told once, at its first place.
struct Malformed : std::runtime_error {
  enum Kind { value, label, entry, index, order, width, quotes, kinds };
  explicit Malformed(const std::string& what, Kind of = value) : std::runtime_error(what), kind(of) {}
  Kind kind;
};

/// The value for a message: quoted, control characters escaped, cut after 40 characters.
std::string show(std::string_view value);

/// As show, for what was read from a file: a field, an index, the file's length. Messages reach every rank and the
/// job's log, and a file is private unless somebody says otherwise: the value itself is left out, except while a
/// ShowFields(true) lives. Of several that live, the latest counts.
std::string show_field(std::string_view value);
class ShowFields {
 public:
  explicit ShowFields(bool show);
  ~ShowFields();
  ShowFields(const ShowFields&) = delete;
  ShowFields& operator=(const ShowFields&) = delete;

 private:
  bool before_;
};

/// The same for a number, without quotes.
std::string show_number(const std::string& digits);
template <std::integral Number>
std::string show_field(Number value) {
  return show_number(std::to_string(value));
}

/// Reads a number at the start of [p, end): decimal or scientific, an optional sign, correctly rounded. Returns the
/// first character after it, or nullptr if there is none. May yield an infinity or NaN ("inf", "nan", "1e999"):
/// callers check.
const char* scan_number(const char* p, const char* end, double& x);

/// True if the whole text is one finite number.
bool to_number(std::string_view text, double& x);

/// The same; with `decimal_comma` a comma stands before the decimals, and no point anywhere.
bool to_number(std::string_view text, bool decimal_comma, double& x);

/// 2^53: beyond it two integers may be one float64, and texts of numbers mean the same only if they are equal.
inline constexpr double distinct_up_to = 9007199254740992;

/// Texts that mean one label, column or word have one identity: equal texts, or numbers of equal value up to
/// distinct_up_to.
std::string identity_of(std::string_view text);

/// x as float32. Throws Malformed if it is not finite or does not fit.
float to_feature(double x);

/// True for the ways to write a missing field: empty, ?, NA.
bool is_missing(std::string_view field);
/// The same by any of the words that are usual for it (NULL, n/a, -, ...), in capitals or not.
bool is_usual_gap(std::string_view field);
/// The same of a person: further words are nobody's name.
bool names_nobody(std::string_view field);

/// The words of a vocabulary `a|b|...`, without surrounding blanks. Local.
std::vector<std::string> split_words(std::string_view text);

}  // namespace dpmpi
