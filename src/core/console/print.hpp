#pragma once
// What a run tells the person who started it. A log that cannot be written (full disk, closed terminal) must not
// end a training, so here, unlike in fmt::print, failures are ignored.

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace dpmpi {

/// Formats and writes to `out`, in one piece. Whoever must know of a failure asks std::ferror(out).
template <class... Arguments>
void print_to(std::FILE* out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), out);
}

/// To standard error, in one piece and at once.
void print_raw(std::string_view text);
/// The same on a line of its own: a progress bar makes room. Any thread.
void print_line(std::string_view text);

/// Formats and says it, whatever the log level is.
template <class... Arguments>
void print_user(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_line(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace dpmpi
