#pragma once
// What a run tells the person who started it. A log that cannot be written (full disk, closed terminal) must not
// end a training, so here, unlike in fmt::print, failures are ignored.

#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace dpmpi {

/// Formats and writes to `out`, in one piece. Whoever must know of a failure asks std::ferror(out).
template <class... Arguments>
void say_to(std::FILE* out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  std::fwrite(text.data(), 1, text.size(), out);
}

/// The same to standard error.
template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  say_to(stderr, format, std::forward<Arguments>(arguments)...);
}

}  // namespace dpmpi
