#include "privacy/promise/audit_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {
namespace {

constexpr double largest_provable = 64;  // e^64 runs would be needed to prove more
constexpr std::size_t most_cuts = 200;

Tally beyond(const Cut& cut, std::span<const double> values) {
  const auto above = std::count_if(values.begin(), values.end(), [&](double v) { return v > cut.threshold; });
  const std::uint64_t hits = static_cast<std::uint64_t>(above);
  return {cut.above ? hits : values.size() - hits, values.size()};
}

/// The cut between values that were seen, or a good many of them, for which `worth` is largest.
template <class Worth>
Cut largest(std::span<const double> first, std::span<const double> second, Worth&& worth) {
  std::vector<double> places(first.begin(), first.end());
  places.insert(places.end(), second.begin(), second.end());
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const std::size_t step = std::max<std::size_t>(1, (places.size() + most_cuts - 1) / most_cuts);
  Cut best;
  double most = -infinity;
  for (std::size_t i = 0; i < places.size(); i += step)
    for (const bool above : {true, false})
      for (const bool in_second : {true, false}) {
        const Cut cut{places[i], above, in_second};
        if (const double value = worth(cut); value > most) best = cut, most = value;
      }
  return best;
}

/// What a budget of `extra` expected hits can add to P[X >= right] of a binomial X: runs that lack the fewest come
/// first, each hit at its price.
double bought(const boost::math::binomial_distribution<>& law, std::uint64_t right, double extra) {
  double gain = 0;
  for (std::uint64_t lack = 1; lack <= right && extra > 0; ++lack) {
    const double mass = boost::math::pdf(law, real(right - lack)), affordable = std::min(mass, extra / real(lack));
    gain += affordable, extra -= affordable * real(lack);
  }
  return gain;
}

}  // namespace

double least_probability(const Tally& seen, double error) {
  verify(seen.hits <= seen.runs && error > 0 && error < 1, "hits among runs");
  if (seen.hits == 0) return 0;
  return boost::math::ibeta_inv(real(seen.hits), real(seen.runs - seen.hits) + 1, error);
}

double most_probability(const Tally& seen, double error) {
  return 1 - least_probability({seen.runs - seen.hits, seen.runs}, error);
}

double least_epsilon(const Tally& often, const Tally& rarely, double delta, double error) {
  const double least = least_probability(often, error / 2) - delta, most = most_probability(rarely, error / 2);
  return least > most ? std::log(least / most) : 0;
}

double least_epsilon(const Cut& cut, std::span<const double> first, std::span<const double> second, double delta,
                     double error) {
  const Tally a = beyond(cut, first), b = beyond(cut, second);
  return cut.in_second ? least_epsilon(b, a, delta, error) : least_epsilon(a, b, delta, error);
}

Cut best_cut(std::span<const double> first, std::span<const double> second, double delta, double error) {
  return largest(first, second, [&](const Cut& cut) { return least_epsilon(cut, first, second, delta, error); });
}

std::pair<double, double> rates_at(const Cut& cut, std::span<const double> first, std::span<const double> second,
                                   double error) {
  const Tally a = beyond(cut, first), b = beyond(cut, second);
  return {least_probability(cut.in_second ? b : a, error / 2), most_probability(cut.in_second ? a : b, error / 2)};
}

Cut widest_cut(std::span<const double> first, std::span<const double> second) {
  const auto frequency = [](const Tally& seen) { return real(seen.hits) / real(seen.runs); };
  return largest(first, second, [&](const Cut& cut) {
    const double gap = frequency(beyond(cut, second)) - frequency(beyond(cut, first));
    return cut.in_second ? gap : -gap;
  });
}

double guessing_p_value(const Guesses& g, double epsilon, double delta) {
  verify(g.right <= g.made && g.made <= g.records, "right guesses among guesses among records");
  if (g.right == 0) return 1;
  const boost::math::binomial_distribution<> law(real(g.made), 1 / (1 + std::exp(-epsilon)));
  const double tail = boost::math::cdf(boost::math::complement(law, real(g.right) - 1));
  return std::min(1.0, tail + bought(law, g.right, real(g.records) * delta));
}

double least_epsilon(const Guesses& guesses, double delta, double error) {
  if (guessing_p_value(guesses, 0, delta) > error) return 0;
  double low = 0, high = largest_provable;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (guessing_p_value(guesses, middle, delta) <= error ? low : high) = middle;
  }
  return low;
}

}  // namespace dpmpi
