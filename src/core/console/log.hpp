#pragma once
// What is said on standard error, and how loudly: errors, warnings, information, and what one needs to see why a
// job is slow. Failures to write are ignored, as in print.hpp.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/console/print.hpp"

namespace dpmpi {

enum class LogLevel { error, warning, info, debug };

/// error, warning, info, debug.
const std::vector<std::string>& log_level_names();
/// Throws ConfigError for a name that is none of them.
LogLevel parse_log_level(std::string_view name);

/// How much this process says from now on (info at first), and which rank it calls itself in debug lines.
void set_log(LogLevel level, int rank);
bool logs(LogLevel level);

enum class Colour { red, yellow, green };
/// True if standard error is a terminal that can show colours and NO_COLOR is unset or empty.
bool colours();
/// `text` in that colour if colours(), else as it is.
std::string painted(Colour colour, std::string_view text);

/// A line of debug output as it is said.
std::string debug_line(std::string_view text);

/// Formats and says it at this level or a louder one.
template <class... Arguments>
void print_at(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (logs(level)) print_line(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// "dpmpi: warning: ..." as a line.
template <class... Arguments>
void warn(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (logs(LogLevel::warning))
    print_line(fmt::format("dpmpi: {}: {}\n", painted(Colour::yellow, "warning"),
                           fmt::format(format, std::forward<Arguments>(arguments)...)));
}

/// "dpmpi: debug: rank 3: ..." as a line. Any rank; nothing is formatted unless it is said. Times of a run follow
/// its secret batch sizes, so debug logs with times are not for publication.
template <class... Arguments>
void debug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (logs(LogLevel::debug)) print_line(debug_line(fmt::format(format, std::forward<Arguments>(arguments)...)));
}

}  // namespace dpmpi
