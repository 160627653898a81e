#pragma once
// Dates as numbers.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dpmpi {

/// A day of the calendar.
struct CalendarDay {
  int year = 1970;
  unsigned month = 1, day = 1;
};
/// Of the day so many days after 1970-01-01.
CalendarDay calendar_day(std::int64_t days);

/// How dates are written: %Y year (four digits), %m month, %d day, %H hour, %M minute, %S second, %% for '%', and
/// other characters as they are. A day without %d is the first of its month, a month without %m January.
class DatePattern {
 public:
  /// Throws ConfigError for a pattern that it does not know.
  explicit DatePattern(std::string pattern);
  const std::string& text() const { return pattern_; }
  /// Days since 1970-01-01; none if the text is no date of the calendar in this pattern.
  std::optional<double> days(std::string_view date) const;

 private:
  std::string pattern_;
};

}  // namespace dpmpi
