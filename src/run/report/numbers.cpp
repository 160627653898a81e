#include "run/report/numbers.hpp"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace dpmpi {
namespace {

constexpr double largest_exact = 1e15, largest_plain = 1e6;

bool is_whole(double x) { return std::abs(x) < largest_exact && x == std::nearbyint(x); }

/// 1.23e-05 as 1.23e-5, and 1.23e+03 as 1230.
std::string tidy(const std::string& text) {
  const std::size_t e = text.find('e');
  if (e == text.npos) return text;
  const double value = std::strtod(text.c_str(), nullptr);
  if (std::abs(value) >= 1 && std::abs(value) < largest_plain) return fmt::format("{:.0f}", value);
  return fmt::format("{}e{}", text.substr(0, e), std::strtol(text.c_str() + e + 1, nullptr, 10));
}

/// To three digits, with the last one moved by one unit in the direction `up` where rounding went the other way.
std::string moved(double x, bool up) {
  if (!std::isfinite(x) || is_whole(x)) return shown(x);
  const auto text_of = [](double value) { return fmt::format("{:.3g}", value); };
  const auto fits = [&](const std::string& text) {
    const double value = std::strtod(text.c_str(), nullptr);
    return up ? value >= x : value <= x;
  };
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) - 2);
  std::string text = text_of(x);
  for (int i = 1; !fits(text) && i <= 4; ++i) text = text_of(x + (up ? i : -i) * unit / 2);
  return tidy(text);
}

}  // namespace

std::string shown(double x) {
  if (std::isnan(x)) return "not a number";
  if (std::isinf(x)) return x > 0 ? "infinity" : "-infinity";
  return is_whole(x) ? fmt::format("{:.0f}", x + 0.0) : tidy(fmt::format("{:.3g}", x));
}

std::string shown_above(double x) { return moved(x, true); }
std::string shown_below(double x) { return moved(x, false); }

std::string shown(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shown(value.get<double>());
  return value.dump();
}

std::string shown_above(const nlohmann::ordered_json& value) {
  return value.is_number() ? shown_above(value.get<double>()) : shown(value);
}

std::string measured(double x) {
  constexpr double no_decimals = 99.95;
  if (!std::isfinite(x) || is_whole(x) || std::abs(x) >= no_decimals) return shown(x);
  return tidy(fmt::format("{:#.3g}", x));
}

std::string shown_share(double share) {
  const double percent = 100 * share;
  return (is_whole(percent) && percent > 0 && percent < 100 ? fmt::format("{:.{}f}", percent, percent < 10 ? 2 : 1)
                                                            : measured(percent)) +
         " %";
}

std::string with_short_exponents(std::string text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t at = 1; (at = text.find("e-0", at)) != text.npos; ++at)
    if (digit(at - 1) && digit(at + 3)) text.erase(at + 2, 1);
  return text;
}

std::string shown_count(double count) {
  std::string text = shown(count);
  if (!is_whole(count) || count < 0) return text;
  for (std::size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

}  // namespace dpmpi
