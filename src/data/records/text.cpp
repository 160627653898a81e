#include "data/records/text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>

#include "core/trim.hpp"

namespace dpmpi {
namespace {

bool fields_shown = false;
constexpr const char* not_shown = "(private, not shown; see data.show_values)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

std::string show(std::string_view value) {
  constexpr std::size_t longest = 40;
  std::string out = "'";
  for (const char c : value.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + (value.size() > longest ? "...'" : "'");
}

ShowFields::ShowFields(bool show) : before_(fields_shown) { fields_shown = show; }
ShowFields::~ShowFields() { fields_shown = before_; }

std::string show_field(std::string_view value) { return fields_shown ? show(value) : not_shown; }
std::string show_number(const std::string& digits) { return fields_shown ? digits : not_shown; }

const char* scan_number(const char* p, const char* end, double& x) {
  if (p != end && *p == '+') {
    ++p;
    if (p != end && (*p == '-' || *p == '+')) return nullptr;
  }
  if (p != end && is_digit(*p) && (p + 1 == end || p[1] == ' ' || p[1] == ',')) {  // 0/1 data: half of all fields
    x = *p - '0';
    return p + 1;
  }
  const auto [rest, error] = std::from_chars(p, end, x);
  if (error == std::errc::result_out_of_range) {
    // Far too large (an infinity, which callers refuse) or too small for a normal number: strtod tells which.
    x = std::strtod(std::string(p, rest).c_str(), nullptr);
    return rest;
  }
  return error == std::errc{} ? rest : nullptr;
}

bool to_number(std::string_view text, double& x) {
  const char* const end = text.data() + text.size();
  return !text.empty() && scan_number(text.data(), end, x) == end && std::isfinite(x);
}

bool to_number(std::string_view text, bool decimal_comma, double& x) {
  if (!decimal_comma) return to_number(text, x);
  if (text.find('.') != text.npos) return false;  // of thousands, perhaps
  std::string with_point(text);
  std::ranges::replace(with_point, ',', '.');
  return to_number(with_point, x);
}

std::string identity_of(std::string_view text) {
  double x = 0;
  if (!to_number(text, x) || std::abs(x) >= distinct_up_to) return std::string(text);
  return fmt::format("{}", x == 0 ? 0 : x);
}

float to_feature(double x) {
  if (!(std::abs(x) <= static_cast<double>(std::numeric_limits<float>::max())))
    throw Malformed(fmt::format("value {} is not allowed: finite numbers of magnitude up to 3.4e38 are",
                                show_field(fmt::format("{}", x))));
  return static_cast<float>(x);
}

namespace {

bool is_one_of(std::string_view field, std::initializer_list<std::string_view> words) {
  std::string small(trim(field));
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(words, small) != words.end();
}

}  // namespace

bool is_usual_gap(std::string_view field) {
  return is_one_of(field, {"", "?", "na", "n/a", "#n/a", "null", "nan", "-", "--", "."});
}

bool names_nobody(std::string_view field) {
  return is_usual_gap(field) || is_one_of(field, {"none", "n.a.", "<na>", "nat", "nil", "unknown", "missing"});
}

bool is_missing(std::string_view field) { return field.empty() || field == "?" || field == "NA"; }

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t bar = std::min(text.find('|', at), text.size());
    words.emplace_back(trim(text.substr(at, bar - at)));
    at = bar + 1;
  }
  return words;
}

}  // namespace dpmpi
