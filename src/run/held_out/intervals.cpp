#include "run/held_out/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace dpmpi::noisy {
namespace {

/// Within [0, 1], unless the interval says next to nothing.
Estimate within_unit(Estimate e) {
  if (!(e.high - e.low <= 0.5)) return unsaid(std::move(e.name));
  e.value = std::clamp(*e.value, 0.0, 1.0);
  e.low = std::clamp(e.low, 0.0, *e.value), e.high = std::clamp(e.high, *e.value, 1.0);
  return e;
}

}  // namespace

double total(Counts counts) { return std::accumulate(counts.begin(), counts.end(), 0.0); }

double chance(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

double least_seen(const NoisySum& sum, double noise_std, double records) {
  return std::max(records, 10 * std::sqrt(sum.variance_of_noise(noise_std)));
}

bool is_seen(const NoisySum& sum, double noise_std, double records) {
  return sum.value >= least_seen(sum, noise_std, records);
}

Estimate unsaid(std::string name) { return {std::move(name), {}, 0, 1}; }

Estimate share(std::string name, const NoisySum& yes, const NoisySum& no, double noise_std) {
  const NoisySum all = yes + no;
  if (!is_seen(all, noise_std)) return unsaid(std::move(name));
  const double y = yes.value, b = all.value, z2 = deviations * deviations;
  const double noise_of_yes = z2 * yes.variance_of_noise(noise_std);
  const double square = b * b + z2 * b - z2 * all.variance_of_noise(noise_std),
               half = y * b + 0.5 * z2 * b - noise_of_yes, rest = y * y - noise_of_yes;
  const double reach = std::sqrt(std::max(0.0, half * half - square * rest));
  return within_unit({std::move(name), y / b, (half - reach) / square, (half + reach) / square});
}

Estimate mean_of(std::string name, std::span<const Estimate> shares) {
  double sum = 0, below = 0, above = 0;
  for (const Estimate& e : shares) {
    if (!e.value) return unsaid(std::move(name));
    sum += *e.value;
    below += (*e.value - e.low) * (*e.value - e.low), above += (e.high - *e.value) * (e.high - *e.value);
  }
  const auto n = static_cast<double>(shares.size());
  return within_unit({std::move(name), sum / n, (sum - std::sqrt(below)) / n, (sum + std::sqrt(above)) / n});
}

Spread spread_of(const Function& f, Counts counts, double noise_std) {
  std::vector<double> at(counts.begin(), counts.end());
  const double step = std::max(0.5, 1e-3 * total(counts));
  Spread spread;
  for (std::size_t j = 0; j < at.size(); ++j) {
    at[j] = counts[j] + step;
    const double above = f(at);
    at[j] = counts[j] - step;
    const double slope = (above - f(at)) / (2 * step);
    at[j] = counts[j];
    spread.of_records += std::max(counts[j], 0.0) * slope * slope;
    spread.of_noise += noise_std * noise_std * slope * slope;
  }
  return spread;
}

Estimate with_spread(std::string name, double value, const Spread& spread, double fewest) {
  const double most = 1 / fewest, room = value * (1 - value), z2 = deviations * deviations;
  const double by_p = room > 0 ? std::min(most, spread.of_records / room) : most;
  const double rest = spread.of_noise + spread.of_bins * spread.of_bins;
  // (value - p)^2 = z^2 (by_p p (1 - p) + rest)
  const double square = 1 + z2 * by_p, half = value + 0.5 * z2 * by_p;
  const double reach = std::sqrt(std::max(0.0, half * half - square * (value * value - z2 * rest)));
  return within_unit({std::move(name), value, (half - reach) / square, (half + reach) / square});
}

}  // namespace dpmpi::noisy
