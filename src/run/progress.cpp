#include "dpmpi/run/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include <unistd.h>
#include "dpmpi/core/say.hpp"

namespace dpmpi {

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

Progress::Progress(const std::string& mode, std::uint64_t first, std::uint64_t steps, bool times, std::string unit)
    : terminal_(mode == "bar" || (mode == "auto" && isatty(STDERR_FILENO) != 0)),
      silent_(mode == "none"),
      times_(times),
      first_(first),
      steps_(steps),
      unit_(std::move(unit)) {}

bool Progress::due(std::uint64_t done) const {
  if (silent_) return false;
  const double since = std::chrono::duration<double>(Clock::now() - last_).count();
  return done == steps_ || since > (terminal_ ? 0.1 : 10.0) || (!terminal_ && !drawn_ && since > 1.0);
}

void Progress::update(std::uint64_t done, const std::string& note) {
  if (silent_) return;
  last_ = Clock::now();
  const double elapsed = std::chrono::duration<double>(last_ - start_).count();
  const double rate = static_cast<double>(done - first_) / std::max(1e-9, elapsed);
  const double left = static_cast<double>(steps_ - done) / std::max(1e-9, rate);
  const double percent =
      100.0 * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(1, steps_));
  const std::string times = times_ ? fmt::format("{:.1f} {}s/s  {} left  ", rate, unit_, duration_text(left)) : "";
  const std::string line = fmt::format("{} {}/{} ({:.0f} %)  {}{}", unit_, done, steps_, percent, times, note);
  say("{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::close() {
  if (terminal_ && drawn_) say("\n");
  drawn_ = false;
}

}  // namespace dpmpi
