#include "method/heavy_tailed/advice.hpp"

#include <cmath>
#include <variant>

#include <fmt/format.h>

namespace dpmpi {
namespace {

constexpr double least_signal = 10;
constexpr std::uint64_t many_records = 1'000'000;

double signal(const PublicFacts& facts, double mu) {
  return static_cast<double>(facts.data.records) * mu / std::sqrt(static_cast<double>(facts.objective->dim()));
}

std::string line(double s, const char* advice) {
  return fmt::format("n mu / sqrt(d) = {:.3g}: {}\n", s, s < least_signal ? "below 10 expect no signal" : advice);
}

}  // namespace

std::string signal_line(const PublicFacts& facts, double mu) {
  return line(signal(facts, mu), "10 or more leave a signal");
}

std::string descent_advice(const PublicFacts& facts, double mu) {
  const double s = signal(facts, mu);
  return line(s, s < 100     ? "10 to 20 steps are enough"
                 : s < 10000 ? "20 to 60 steps are enough"
                             : "60 to 200 steps pay");
}

std::string pass_advice(const PublicFacts& facts, double mu) {
  std::string text = signal_line(facts, mu);
  if (facts.data.records < many_records)
    text += "below 10^6 records clipped-gd has the smaller error, if the data can be read several times\n";
  return text;
}

std::string phase_lines(const Derived& quantities) {
  std::string text, phase;
  for (const auto& [symbol, value] : quantities) {
    const std::size_t at = symbol.rfind('_');
    if (at == std::string::npos || !std::holds_alternative<double>(value)) continue;
    if (const std::string number = symbol.substr(at + 1); number != phase)
      text += fmt::format("{}phase {}: ", text.empty() ? "" : "\n", phase = number);
    else
      text += ", ";
    text += fmt::format("{} = {:.6g}", symbol.substr(0, at), std::get<double>(value));
  }
  return text + "\n";
}

}  // namespace dpmpi
