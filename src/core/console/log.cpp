#include "core/console/log.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/ranges.h>

#include <unistd.h>
#include "core/console/hush.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

LogLevel the_level = LogLevel::info;
int the_rank = 0;

bool shows_colours() {
  const auto variable = [](const char* name) {
    return std::string_view(std::getenv(name) ? std::getenv(name) : "");
  };
  const std::string_view terminal = variable("TERM");
  return isatty(STDERR_FILENO) != 0 && !terminal.empty() && terminal != "dumb" && variable("NO_COLOR").empty();
}

}  // namespace

const std::vector<std::string>& log_level_names() {
  static const std::vector<std::string> names{"error", "warning", "info", "debug"};
  return names;
}

LogLevel parse_log_level(std::string_view name) {
  const auto& names = log_level_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw ConfigError(fmt::format("--log-level {}: allowed: {}", name, fmt::join(names, ", ")));
  return static_cast<LogLevel>(found - names.begin());
}

void set_log(LogLevel level, int rank) {
  the_level = level;
  the_rank = rank;
}

Hush::Hush() : before_(the_level) { the_level = LogLevel::error; }
Hush::~Hush() { the_level = before_; }

bool logs(LogLevel level) { return level <= the_level; }

bool colours() {
  static const bool shown = shows_colours();
  return shown;
}

std::string painted(Colour colour, std::string_view text) {
  if (!colours()) return std::string(text);
  constexpr std::array codes{31, 33, 32};
  return fmt::format("\033[{}m{}\033[0m", codes[static_cast<std::size_t>(colour)], text);
}

std::string debug_line(std::string_view text) { return fmt::format("dpmpi: debug: rank {}: {}\n", the_rank, text); }

}  // namespace dpmpi
