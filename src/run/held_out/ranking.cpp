#include "run/held_out/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace dpmpi {
namespace {

using noisy::Counts;
using noisy::Halves;
using noisy::total;

constexpr double most_untold = 0.2;  // by bins, of a value in [0, 1]
/// Whether both halves have enough records above their noise for anything to be said of their order: 40, and so
/// many deviations of it.
bool tell_an_order(const NoisyCounts& counts, double deviations) {
  constexpr double fewest = 40;
  const Halves now(counts.counts);
  const auto is_large = [&](Counts half) {
    const noisy::NoisySum sum(half);
    return sum.value >= std::max(fewest, deviations * std::sqrt(sum.variance_of_noise(counts.counts_std)));
  };
  return is_large(now.no) && is_large(now.yes);
}

/// By how much the share of `yes` rises across bin i if densities are straight lines there.
double rise_of_share(const Halves& c, std::size_t i) {
  const auto all = [&](std::size_t k) { return std::max(1.0, c.no[k] + c.yes[k]); };
  const auto share_of_yes = [&](std::size_t k) { return std::clamp(c.yes[k] / all(k), 0.0, 1.0); };
  const std::size_t left = i == 0 ? 0 : i - 1, right = std::min(i + 1, c.no.size() - 1);
  if (left == right) return 0;
  const double apart = 0.5 * all(left) + 0.5 * all(right) + (right - left == 2 ? all(i) : 0);
  return std::clamp((share_of_yes(right) - share_of_yes(left)) * all(i) / apart, -1.0, 1.0);
}

/// Pairs of one of each half, the score of `yes` above, if half of a bin's own pairs are.
double pairs_in_order(const Halves& c) {
  double below = 0, pairs = 0;
  for (std::size_t i = 0; i < c.no.size(); ++i) {
    pairs += c.yes[i] * (below + 0.5 * c.no[i]);
    below += c.no[i];
  }
  return pairs;
}

/// How many more are if densities are straight lines in a bin: a twelfth of what the share of `yes` rises across it
/// (of m^2 for m counts).
double pairs_by_slopes(const Halves& c) {
  double pairs = 0;
  for (std::size_t i = 0; i < c.no.size(); ++i) {
    const double all = std::max(1.0, c.no[i] + c.yes[i]);
    pairs += rise_of_share(c, i) * all * all / 12;
  }
  return pairs;
}

/// Share of pairs that are in one bin, so that no count tells their order.
double share_untold(const Halves& c) {
  double pairs = 0;
  for (std::size_t i = 0; i < c.no.size(); ++i) pairs += c.no[i] * c.yes[i];
  return pairs / (total(c.no) * total(c.yes));
}

/// The counts with those highest bins in one that do not stand out of their noise by themselves.
std::vector<double> with_one_top(Counts counts, std::size_t bins) {
  std::vector<double> out;
  for (const Counts half : {Halves(counts).no, Halves(counts).yes}) {
    out.insert(out.end(), half.begin(), half.begin() + static_cast<std::ptrdiff_t>(bins - 1));
    out.push_back(total(half.subspan(bins - 1)));
  }
  return out;
}

/// How many bins are left then.
std::size_t bins_with_one_top(const Halves& c, double noise_std) {
  std::size_t bins = c.no.size();
  const auto top = [&](Counts half) { return noisy::NoisySum(half.subspan(bins - 1)); };
  while (bins > 1 && !noisy::is_seen(top(c.no) + top(c.yes), noise_std)) --bins;
  return bins;
}

/// What one bin adds to the sum of precisions at its records of `yes`, from its highest score down, if the share of
/// these falls by `fall` on the way. `above` and `all_above`: records of `yes`, and all, above it; y and m: in it.
double precisions_in_bin(double above, double all_above, double y, double m, double fall) {
  constexpr std::size_t steps = 8;
  double sum = 0;
  for (std::size_t k = 0; k < steps; ++k) {
    const double t = (static_cast<double>(k) + 0.5) / steps;  // of the bin is above
    const double found = above + y * t + 0.5 * m * fall * t * (1 - t);
    sum += (y + m * fall * (0.5 - t)) * found / std::max(1.0, all_above + m * t) / steps;
  }
  return sum;
}

/// `slopes`: densities are straight lines in a bin, else they are flat.
double mean_precision(const Halves& c, bool slopes) {
  double above = 0, all_above = 0, sum = 0;
  for (std::size_t i = c.no.size(); i-- > 0;) {
    const double y = c.yes[i], m = y + c.no[i];
    const double most = 2 * std::max(0.0, std::min(y, m - y)) / std::max(1.0, m);
    const double fall = slopes ? std::clamp(rise_of_share(c, i), -most, most) : 0;
    sum += precisions_in_bin(above, all_above, y, m, fall);
    above += y, all_above += m;
  }
  return sum / total(c.yes);
}

/// How much more the mean precision would be if each bin had its records of `yes` first.
double precision_untold(const Halves& c) {
  double above = 0, all_above = 0, sum = 0;
  for (std::size_t i = c.no.size(); i-- > 0;) {
    const double y = std::max(0.0, c.yes[i]), n = std::max(0.0, c.no[i]);
    sum += precisions_in_bin(above, all_above, y, y, 0) - precisions_in_bin(above, all_above, y, y + n, 0);
    above += y, all_above += y + n;
  }
  return sum / total(c.yes);
}

double fewest_of(const Halves& c) { return std::min(total(c.no), total(c.yes)); }

}  // namespace

Estimate area_under_roc(const NoisyCounts& counts) {
  const Halves now(counts.counts);
  if (!tell_an_order(counts, 10) || share_untold(now) > most_untold) return noisy::unsaid("auc");
  const auto pairs = [](const Halves& c) { return total(c.no) * total(c.yes); };
  const noisy::Function f = [&](Counts c) {
    return (pairs_in_order(Halves(c)) + pairs_by_slopes(Halves(c))) / pairs(Halves(c));
  };
  noisy::Spread spread = noisy::spread_of(f, counts.counts, counts.counts_std);
  // Of scores that are equal in a bin what slopes add is all wrong, and has to be within the interval.
  constexpr double deviations_of_slopes = 1.5;
  spread.of_bins = pairs_by_slopes(now) / pairs(now) / deviations_of_slopes;
  return noisy::with_spread("auc", f(counts.counts), spread, fewest_of(now));
}

Estimate average_precision(const NoisyCounts& counts) {
  const Halves now(counts.counts);
  // What bins do not tell is compared with a limit below, and by luck less far above the noise.
  const bool before = EarlierRules::in_force() < EarlierRules::today;
  if (!tell_an_order(counts, before ? 10 : 20)) return noisy::unsaid("average_precision");
  const std::size_t bins = bins_with_one_top(now, counts.counts_std);
  const auto mean = [bins](Counts c, bool slopes) { return mean_precision(Halves(with_one_top(c, bins)), slopes); };
  const noisy::Function f = [&](Counts c) { return mean(c, true); };
  if (precision_untold(Halves(with_one_top(counts.counts, bins))) > most_untold)
    return noisy::unsaid("average_precision");
  const double value = f(counts.counts);
  noisy::Spread spread = noisy::spread_of(f, counts.counts, counts.counts_std);
  // The highest scores fall more steeply than a straight line, so it may be more than what slopes add.
  spread.of_bins = value - mean(counts.counts, false);
  return noisy::with_spread("average_precision", value, spread, fewest_of(now));
}

}  // namespace dpmpi
