#include "core/console/progress.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>
#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

enum class Mode { none, lines, bar };
Mode mode = Mode::none;
double shown_after = 1;                 // seconds
std::atomic<std::size_t> bar_width{0};  // of the bar that stands on the terminal's line

constexpr double bar_every = 0.1, lines_every = 10;  // seconds
constexpr std::size_t bar_cells = 20;

std::size_t terminal_width() {
  winsize window{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  return known ? window.ws_col - std::size_t{1} : std::size_t{1000};
}

// Blanks instead of a terminal's command for it: what a bar leaves in a file holds no escape sequences.
void erase(std::size_t width) { print_raw(fmt::format("\r{:{}}\r", "", width)); }

std::string bar_of(double percent) {
  const auto full = static_cast<std::size_t>(percent / 100 * static_cast<double>(bar_cells));
  return '[' + std::string(full, '#') + std::string(bar_cells - full, '-') + ']';
}

// 12.3, 12.3k, 12.3M: three or four digits of a rate.
std::string rate_text(double rate) {
  constexpr std::array suffixes{"", "k", "M", "G"};
  std::size_t power = 0;
  for (; rate >= 10000 && power + 1 < suffixes.size(); ++power) rate /= 1000;
  return fmt::format("{:.{}f}{}", rate, rate < 100 ? 1 : 0, suffixes[power]);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

void show_progress(std::string_view name) {
  clear_bar();
  if (name == "auto") name = isatty(STDERR_FILENO) != 0 ? "bar" : "lines";
  verify(name == "none" || name == "lines" || name == "bar", "a way to show progress");
  mode = name == "none" ? Mode::none : name == "bar" ? Mode::bar : Mode::lines;
}

void show_progress_after(double seconds) { shown_after = seconds; }

void clear_bar() {
  if (const std::size_t width = bar_width.exchange(0); width > 0) erase(width);
}

namespace {

std::uint64_t tenths(std::uint64_t done, std::uint64_t total) {
  return static_cast<std::uint64_t>(10.0 * static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace

Progress::Progress(std::string phase, std::uint64_t total, std::string unit, std::uint64_t done, bool times)
    : phase_(std::move(phase)),
      unit_(std::move(unit)),
      first_(done),
      done_(done),
      total_(total),
      times_(times),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_) clear_bar();
}

bool Progress::reached(std::uint64_t done) {
  const std::uint64_t before = std::exchange(done_, done);
  if (mode == Mode::none) return false;
  if (!times_)
    return total_ > 0 && tenths(done, total_) > tenths(before, total_);  // by the clock, lines would tell the time
  const Clock::time_point now = Clock::now();
  if (!shown_) return std::chrono::duration<double>(now - start_).count() >= shown_after;
  if (mode == Mode::lines && total_ > 0 && done_ == total_) return true;
  return std::chrono::duration<double>(now - last_).count() > (mode == Mode::bar ? bar_every : lines_every);
}

std::string Progress::text(double percent, double elapsed, std::string_view note) const {
  const std::string share = fmt::format("{:.0f} %", percent);
  std::string line = phase_;
  if (total_ > 0 && mode == Mode::bar) line += fmt::format(" {} {}", bar_of(percent), share);
  if (!unit_.empty())
    line += total_ > 0 ? fmt::format("  {}/{} {}", done_, total_, unit_) : fmt::format("  {} {}", done_, unit_);
  if (total_ > 0 && mode == Mode::lines) line += unit_.empty() ? "  " + share : " (" + share + ")";
  if (times_) {
    const double rate = static_cast<double>(done_ - first_) / std::max(1e-9, elapsed);
    if (!unit_.empty()) line += fmt::format("  {} {}/s", rate_text(rate), unit_);
    if (total_ > 0 && done_ > first_)
      line += fmt::format("  {} left", duration_text(static_cast<double>(total_ - done_) / rate));
    if (total_ == 0) line += fmt::format("  {} so far", duration_text(elapsed));
  }
  if (!note.empty()) line += fmt::format("  {}", note);
  return line;
}

void Progress::show(std::string_view note) {
  if (mode == Mode::none) return;
  last_ = Clock::now();
  shown_ = true;
  done_ = total_ > 0 ? std::min(done_, total_) : done_;
  const double elapsed = std::chrono::duration<double>(last_ - start_).count();
  const double percent =
      100.0 * static_cast<double>(done_) / static_cast<double>(std::max<std::uint64_t>(1, total_));
  std::string line = text(percent, elapsed, note);
  if (mode == Mode::lines) {
    print_raw(line + '\n');
    return;
  }
  line.resize(std::min(line.size(), terminal_width()));
  const std::size_t width = line.size(), before = bar_width.exchange(width);
  if (before > width) line.append(before - width, ' ');
  if (const std::string share = fmt::format("{:.0f} %", percent); total_ > 0 && colours())
    if (const auto at = line.find(share, phase_.size() + bar_cells); at != line.npos)
      line.replace(at, share.size(), painted(Colour::green, share));
  print_raw('\r' + line);
}

}  // namespace dpmpi
