#include "dpmpi/method/heavy_tail_options.hpp"

#include <variant>

#include <fmt/format.h>

namespace dpmpi {

void HeavyTailOptions::declare(Options& options) {
  options
      .add("moment", tail_.order, "order k of the highest moment that gradient norms are taken to have",
           Range{.low = 1, .high = 100})
      .add("g1", tail_.first, "guess of G_1, the mean gradient norm (an upper bound)", Range::closed(1e-12, 1e12))
      .add("g2", tail_.second, "guess of G_2, the root of the mean squared gradient norm",
           Range::closed(1e-12, 1e12))
      .add("gk", tail_.moment, "guess of G_k, the k-th root of the mean k-th power of the gradient norm",
           Range::closed(1e-12, 1e12))
      .add("radius", radius_, "radius of the ball around the start point that results are projected onto",
           Range::closed(1e-12, 1e12));
}

void HeavyTailOptions::validate(std::vector<std::string>& problems) const {
  const bool rising = tail_.first <= tail_.second && (tail_.order < 2 || tail_.second <= tail_.moment);
  if (!rising)
    problems.push_back(fmt::format("method.g1 = {}, method.g2 = {}, method.gk = {}: moments rise with their order",
                                   tail_.first, tail_.second, tail_.moment));
}

HeavyTailProblem HeavyTailOptions::problem(const PublicFacts& facts) const {
  return {.records = static_cast<double>(facts.data.records),
          .dim = static_cast<double>(facts.objective->dim()),
          .diameter = radius_,
          .mu = facts.rho,
          .change = facts.adjacency == Adjacency::add_remove ? 1.0 : 2.0,
          .tail = tail_};
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
