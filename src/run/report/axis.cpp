#include "run/report/axis.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

constexpr int most_marks = 6;

/// 1, 2 or 5 times a power of ten, so that a few steps go into the span.
double step_of(double span) {
  const double least = span / most_marks;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least) return digit * power;
  return 10 * power;
}

/// Marks that differ have different names, however narrow the range is.
std::string name_of(double value, double step, double largest) {
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  if (largest < 1e6 && step > 1e-4) return fmt::format("{:.{}f}", value, std::max(0, decimals));
  if (value == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(value)))) + decimals;
  const std::string text = fmt::format("{:.{}e}", value, std::clamp(digits, 0, 15));
  const std::size_t e = text.find('e');
  return fmt::format("{}e{}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

void mark_evenly(Axis& axis) {
  const double step = step_of(axis.high - axis.low);
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  const double first = std::ceil(axis.low / step - 1e-9);
  for (int i = 0; i <= most_marks; ++i) {
    const double value = (first + i) * step;
    if (value > axis.high + 1e-9 * step) break;
    axis.marks.emplace_back((value - axis.low) / (axis.high - axis.low), name_of(value + 0.0, step, largest));
  }
}

/// At powers of ten; between them, too, where there are few.
void mark_powers(Axis& axis) {
  const double span = axis.high - axis.low;
  const double every = std::max(1.0, std::ceil(span / most_marks));
  const auto mark = [&](double logarithm) {
    if (logarithm < axis.low - 1e-9 || logarithm > axis.high + 1e-9) return;
    axis.marks.emplace_back((logarithm - axis.low) / span, shown(std::pow(10.0, logarithm)));
  };
  for (double power = std::floor(axis.low); power <= axis.high + 1e-9; power += every)
    for (const double digit : {1.0, 2.0, 5.0})
      if (digit == 1 || span < 2) mark(power + std::log10(digit));
  if (axis.marks.size() < 2)
    axis.marks = {{0, shown(std::pow(10.0, axis.low))}, {1, shown(std::pow(10.0, axis.high))}};
}

}  // namespace

double Axis::place(double value) const {
  return std::clamp(((log ? std::log10(value) : value) - low) / (high - low), 0.0, 1.0);
}

Axis axis_over(const std::vector<double>& values, bool log, bool room) {
  constexpr double farthest = 1e300;  // so that the span is a number
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  Axis axis{std::max(*least, -farthest), std::min(*most, farthest), log, {}};
  if (log) axis.low = std::log10(axis.low), axis.high = std::log10(axis.high);
  const double size = std::max({std::abs(axis.low), std::abs(axis.high), 1e-300});
  if (axis.high - axis.low <= 1e-9 * size) {  // a point, or as good as one
    const double half = log ? 0.5 : size > 1e-300 ? 0.05 * size : 0.5;
    axis.low -= half, axis.high += half;
  } else if (room) {
    const double more = 0.05 * (axis.high - axis.low);
    axis.low -= more, axis.high += more;
  }
  log ? mark_powers(axis) : mark_evenly(axis);
  return axis;
}

}  // namespace dpmpi
