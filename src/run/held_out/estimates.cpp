#include "run/held_out/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include <fmt/format.h>

namespace dpmpi {
namespace {

using Counts = std::span<const double>;
using Function = std::function<double(Counts)>;

constexpr double deviations = 1.959963984540054;  // of a normal law, that 95 % are within

double total(Counts c) { return std::accumulate(c.begin(), c.end(), 0.0); }

/// A sum of so many noisy counts.
struct NoisySum {
  double value = 0;
  std::size_t terms = 0;
  explicit NoisySum(Counts c) : value(total(c)), terms(c.size()) {}
  NoisySum(double value, std::size_t terms) : value(value), terms(terms) {}
  NoisySum operator+(const NoisySum& other) const { return {value + other.value, terms + other.terms}; }
  double variance_of_noise(double noise_std) const { return noise_std * noise_std * static_cast<double>(terms); }
};

Estimate unsaid(std::string name) { return {std::move(name), {}, 0, 1}; }

constexpr double fewest_of_a_share = 20;

/// What a sum has to be that has at least so many records and is far above its noise.
double least_seen(const NoisySum& sum, double noise_std, double records) {
  return std::max(records, 10 * std::sqrt(sum.variance_of_noise(noise_std)));
}
bool is_seen(const NoisySum& sum, double noise_std, double records = fewest_of_a_share) {
  return sum.value >= least_seen(sum, noise_std, records);
}

/// Within [0, 1], unless the interval says next to nothing.
Estimate cut(Estimate e) {
  if (!(e.high - e.low <= 0.5)) return unsaid(std::move(e.name));
  e.value = std::clamp(*e.value, 0.0, 1.0);
  e.low = std::clamp(e.low, 0.0, *e.value), e.high = std::clamp(e.high, *e.value, 1.0);
  return e;
}

/// The share y / (y + n). Its interval has the shares p for which y - p (y + n) is within 1.96 of its deviations,
/// as p has it: Wilson's interval (1927), with noise Fieller's (1954). It needs no first order, nor counts above 0.
Estimate share(std::string name, const NoisySum& yes, const NoisySum& no, double noise_std) {
  const NoisySum all = yes + no;
  if (!is_seen(all, noise_std)) return unsaid(std::move(name));
  const double y = yes.value, b = all.value, z2 = deviations * deviations;
  const double noise_of_yes = z2 * yes.variance_of_noise(noise_std);
  const double square = b * b + z2 * b - z2 * all.variance_of_noise(noise_std),
               half = y * b + 0.5 * z2 * b - noise_of_yes, rest = y * y - noise_of_yes;
  const double reach = std::sqrt(std::max(0.0, half * half - square * rest));
  return cut({std::move(name), y / b, (half - reach) / square, (half + reach) / square});
}

/// The mean of independent shares: distances to its ends are those of a sum of squares (Zou and Donner 2008).
Estimate mean_of(std::string name, std::span<const Estimate> shares) {
  double sum = 0, below = 0, above = 0;
  for (const Estimate& e : shares) {
    if (!e.value) return unsaid(std::move(name));
    sum += *e.value;
    below += (*e.value - e.low) * (*e.value - e.low), above += (e.high - *e.value) * (e.high - *e.value);
  }
  const auto n = static_cast<double>(shares.size());
  return cut({std::move(name), sum / n, (sum - std::sqrt(below)) / n, (sum + std::sqrt(above)) / n});
}

/// Variance of f to first order: as the counts of so many draws, and by the noise.
double variance_of(const Function& f, Counts counts, double noise_std) {
  std::vector<double> at(counts.begin(), counts.end());
  const double step = std::max(0.5, 1e-3 * total(counts));
  double variance = 0;
  for (std::size_t j = 0; j < at.size(); ++j) {
    at[j] = counts[j] + step;
    const double above = f(at);
    at[j] = counts[j] - step;
    const double slope = (above - f(at)) / (2 * step);
    at[j] = counts[j];
    variance += (std::max(counts[j], 0.0) + noise_std * noise_std) * slope * slope;
  }
  return variance;
}

/// The two halves of the counts by bin: -1 and +1, or wrong and right.
struct Halves {
  Counts no, yes;
  explicit Halves(Counts c) : no(c.first(c.size() / 2)), yes(c.subspan(c.size() / 2)) {}
};

double chance(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

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
  const std::size_t bins = c.no.size();
  const auto all = [&](std::size_t i) { return std::max(1.0, c.no[i] + c.yes[i]); };
  const auto share_of_yes = [&](std::size_t i) { return std::clamp(c.yes[i] / all(i), 0.0, 1.0); };
  double pairs = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    const std::size_t left = i == 0 ? 0 : i - 1, right = std::min(i + 1, bins - 1);
    if (left == right) continue;
    const double apart = 0.5 * all(left) + 0.5 * all(right) + (right - left == 2 ? all(i) : 0);
    const double rise = (share_of_yes(right) - share_of_yes(left)) * all(i) / apart;  // across the bin
    pairs += std::clamp(rise, -1.0, 1.0) * all(i) * all(i) / 12;
  }
  return pairs;
}

/// Share of pairs that are in one bin, so that no count tells their order.
double share_untold(const Halves& c) {
  double pairs = 0;
  for (std::size_t i = 0; i < c.no.size(); ++i) pairs += c.no[i] * c.yes[i];
  return pairs / (total(c.no) * total(c.yes));
}

/// Normal in the log-odds, or plain so near to 0 or 1 that log-odds tell nothing.
Estimate with_interval(std::string name, double value, double reach) {
  constexpr double widest = 2;
  const double of_odds = reach / (value * (1 - value));
  if (!(value > 0 && value < 1 && of_odds <= widest))
    return cut({std::move(name), value, value - reach, value + reach});
  const double odds = std::log(value / (1 - value));
  return cut({std::move(name), value, chance(odds - of_odds), chance(odds + of_odds)});
}

/// The area under the ROC curve. What slopes in bins add is taken for one deviation of what it may be wrong by: of
/// scores that are equal in a bin it is all wrong.
Estimate area(const NoisyCounts& counts) {
  const Halves now(counts.counts);
  const auto is_large = [&](Counts half) { return is_seen(NoisySum(half), counts.counts_std, 40); };
  if (!is_large(now.no) || !is_large(now.yes) || share_untold(now) > 0.2) return unsaid("auc");
  const auto pairs = [](const Halves& c) { return total(c.no) * total(c.yes); };
  const Function f = [&](Counts c) {
    return (pairs_in_order(Halves(c)) + pairs_by_slopes(Halves(c))) / pairs(Halves(c));
  };
  const double slopes = pairs_by_slopes(now) / pairs(now);
  const double variance = variance_of(f, counts.counts, counts.counts_std) + slopes * slopes;
  return with_interval("auc", f(counts.counts), deviations * std::sqrt(variance));
}

/// Bins of two classes that are predicted to be +1 begin here.
std::size_t first_positive(const NoisyCounts& counts) {
  return static_cast<std::size_t>(std::ranges::find(counts.begins, CountedScores::cells_of_sign) -
                                  counts.begins.begin());
}

/// Mean square of the clipped loss, about: that of the middle of each bin's probabilities.
double mean_square_loss(const NoisyCounts& counts) {
  const Halves c(counts.counts);
  double sum = 0;
  for (std::size_t i = 0; i < counts.bins(); ++i) {
    const double p = 0.5 * (chance(counts.edge(i)) + chance(counts.edge(i + 1)));
    const auto square = [](double q) {
      const double loss = std::min(-std::log(q), CountedScores::largest_loss);
      return loss * loss;
    };
    sum += std::max(c.no[i], 0.0) * square(1 - p) + std::max(c.yes[i], 0.0) * square(p);
  }
  return sum / total(counts.counts);
}

/// The sum of losses over the number of records, both noisy.
Estimate log_loss(const NoisyCounts& counts) {
  const double n = total(counts.counts), mean = std::max(0.0, counts.loss / n);
  // Of losses within [0, L] the mean square is at most L times the mean.
  const double square = counts.shape.signs ? mean_square_loss(counts) : CountedScores::largest_loss * mean;
  const double of_number =
      mean * mean * counts.counts_std * counts.counts_std * static_cast<double>(counts.counts.size());
  const double variance =
      std::max(0.0, square - mean * mean) / n + (counts.loss_std * counts.loss_std + of_number) / (n * n);
  const double reach = deviations * std::sqrt(variance);
  // Few large losses are more often too few than too many (Johnson 1978, of the most skewed ones).
  const double skew = CountedScores::largest_loss * (1 + 2 * deviations * deviations) / (6 * n);
  return {"log_loss", mean, std::max(mean - reach, 0.0), mean + reach + skew};
}

void add_two_classes(const NoisyCounts& counts, std::vector<Estimate>& all) {
  const std::size_t from = first_positive(counts);
  const Halves now(counts.counts);
  const double s = counts.counts_std;
  const NoisySum wrong_no(now.no.subspan(from)), right_no(now.no.first(from));
  const NoisySum right_yes(now.yes.subspan(from)), wrong_yes(now.yes.first(from));
  const Estimate recall = share("recall", right_yes, wrong_yes, s),
                 specificity = share("specificity", right_no, wrong_no, s);
  all.push_back(share("accuracy", right_yes + right_no, wrong_yes + wrong_no, s));
  all.push_back(mean_of("balanced_accuracy", std::vector{recall, specificity}));
  all.push_back(area(counts));
  all.push_back(recall);
  all.push_back(specificity);
  all.push_back(share("precision", right_yes, wrong_no, s));
  all.push_back(share("positives", right_yes + wrong_yes, right_no + wrong_no, s));
}

void add_classes(const NoisyCounts& counts, std::vector<Estimate>& all) {
  const std::size_t classes = counts.shape.classes;
  const Halves now(counts.counts);
  std::vector<Estimate> recalls;
  for (std::size_t k = 0; k < classes; ++k) {
    const Counts of_class = Counts(counts.classes).subspan(k * classes, classes);
    const NoisySum right(of_class.subspan(k, 1)), wrong(total(of_class) - right.value, classes - 1);
    recalls.push_back(share(fmt::format("recall.{}", k), right, wrong, counts.classes_std));
  }
  all.push_back(share("accuracy", NoisySum(now.yes), NoisySum(now.no), counts.counts_std));
  all.push_back(mean_of("balanced_accuracy", recalls));
  all.insert(all.end(), recalls.begin(), recalls.end());
}

}  // namespace

double fewest_records(const CountedScores& shape, double counts_std) {
  return least_seen({0, 2 * shape.bins}, counts_std, fewest_of_a_share);
}

std::vector<Estimate> estimates_of(const NoisyCounts& counts) {
  std::vector<Estimate> all;
  counts.shape.signs ? add_two_classes(counts, all) : add_classes(counts, all);
  if (!counts.shape.logits) return all;
  if (is_seen(NoisySum(counts.counts), counts.counts_std))
    all.push_back(log_loss(counts));
  else
    all.push_back({"log_loss", {}, 0, CountedScores::largest_loss});
  return all;
}

std::vector<Estimate> shares_of_bins(const NoisyCounts& counts) {
  std::vector<Estimate> all;
  for (std::size_t i = 0; i < counts.bins(); ++i)
    all.push_back(share("", {counts.counts[counts.bins() + i], 1}, {counts.counts[i], 1}, counts.counts_std));
  return all;
}

std::vector<std::pair<Estimate, Estimate>> roc_of(const NoisyCounts& counts) {
  std::vector<std::pair<Estimate, Estimate>> all;
  const Halves now(counts.counts);
  const auto above = [&](Counts half, std::size_t from) {
    return share("", NoisySum(half.subspan(from)), NoisySum(half.first(from)), counts.counts_std);
  };
  for (std::size_t from = counts.bins() - 1; from > 0; --from)
    all.emplace_back(above(now.no, from), above(now.yes, from));
  return all;
}

}  // namespace dpmpi
