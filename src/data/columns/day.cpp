#include "data/columns/day.hpp"

#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view date_codes = "YmdHMS";

/// Takes the digits of a code off `text`: four of a year, else one or two. False if there are none.
bool take_digits(std::string_view& text, char code, int& value) {
  const std::size_t most = code == 'Y' ? 4 : 2;
  std::size_t count = 0;
  for (value = 0; count < most && count < text.size() && text[count] >= '0' && text[count] <= '9'; ++count)
    value = 10 * value + (text[count] - '0');
  text.remove_prefix(count);
  return count == most || (code != 'Y' && count > 0);
}

}  // namespace

DatePattern::DatePattern(std::string pattern) : pattern_(std::move(pattern)) {
  std::string seen;
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    if (pattern_[i] != '%') continue;
    const char code = ++i < pattern_.size() ? pattern_[i] : '\0';
    if (code == '%') continue;
    if (date_codes.find(code) == date_codes.npos || seen.find(code) != seen.npos)
      throw ConfigError(
          fmt::format("format={}: %Y, %m, %d, %H, %M and %S are known, each once, and %% for '%'", pattern_));
    seen += code;
  }
  const auto has = [&](char code) { return seen.find(code) != seen.npos; };
  if (!has('Y') || (has('d') && !has('m')))
    throw ConfigError(fmt::format("format={}: a date has a year (%Y), and a month (%m) if it has a day", pattern_));
}

std::optional<double> DatePattern::days(std::string_view date) const {
  std::map<char, int> found{{'m', 1}, {'d', 1}};
  for (std::size_t i = 0; i < pattern_.size(); ++i) {
    if (pattern_[i] == '%' && pattern_[++i] != '%') {
      if (!take_digits(date, pattern_[i], found[pattern_[i]])) return std::nullopt;
    } else if (date.empty() || date.front() != pattern_[i]) {
      return std::nullopt;
    } else {
      date.remove_prefix(1);
    }
  }
  namespace chrono = std::chrono;
  const chrono::year_month_day day{chrono::year(found['Y']), chrono::month(static_cast<unsigned>(found['m'])),
                                   chrono::day(static_cast<unsigned>(found['d']))};
  if (!date.empty() || !day.ok() || found['H'] > 23 || found['M'] > 59 || found['S'] > 60) return std::nullopt;
  const double seconds = 3600.0 * found['H'] + 60.0 * found['M'] + found['S'];
  return static_cast<double>(chrono::sys_days(day).time_since_epoch().count()) + seconds / 86400;
}

CalendarDay calendar_day(std::int64_t days) {
  const std::chrono::year_month_day found{std::chrono::sys_days(std::chrono::days(days))};
  return {static_cast<int>(found.year()), static_cast<unsigned>(found.month()), static_cast<unsigned>(found.day())};
}

}  // namespace dpmpi
