#pragma once
// Small pieces of the text parsers: trimming, numbers, and how a value is shown in a message. All local.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

/// A malformed value, thrown inside the parsers; they add file and line and rethrow it as DataError.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Without spaces, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);

/// The value for a message: quoted, control characters escaped, cut after 40 characters.
std::string show(std::string_view value);

/// As show, for a field of a record: while a HideFields(true) lives, the value itself is left out, because messages
/// reach every rank and the job's log.
std::string show_field(std::string_view value);
class HideFields {
 public:
  explicit HideFields(bool hide);
  ~HideFields();
  HideFields(const HideFields&) = delete;
  HideFields& operator=(const HideFields&) = delete;

 private:
  bool before_;
};

/// Reads a number at the start of [p, end): decimal or scientific, an optional sign, correctly rounded. Returns the
/// first character after it, or nullptr if there is none. May yield an infinity or NaN ("inf", "nan", "1e999"):
/// callers check.
const char* scan_number(const char* p, const char* end, double& x);

/// True if the whole text is one finite number.
bool to_number(std::string_view text, double& x);

/// x as float32. Throws Malformed if it is not finite or does not fit.
float to_feature(double x);

/// True for the ways to write a missing field: empty, ?, NA.
bool is_missing(std::string_view field);

/// The words of a vocabulary `a|b|...`, without surrounding blanks. Local.
std::vector<std::string> split_words(std::string_view text);

}  // namespace dpmpi
