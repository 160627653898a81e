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

Estimate with_interval(std::string name, double value, double variance) {
  const double reach = deviations * std::sqrt(variance);
  return {std::move(name), value, value - reach, value + reach};
}

/// Of a number in [0, 1]: the interval of its log-odds, where it has some.
Estimate share(std::string name, double value, double variance) {
  if (!std::isfinite(value) || !std::isfinite(variance)) return {std::move(name), {}, 0, 1};
  if (value <= 0 || value >= 1) {
    Estimate plain = with_interval(std::move(name), std::clamp(value, 0.0, 1.0), variance);
    plain.low = std::max(plain.low, 0.0), plain.high = std::min(plain.high, 1.0);
    return plain;
  }
  const double odds = std::log(value / (1 - value)),
               reach = deviations * std::sqrt(variance) / (value * (1 - value));
  const auto back = [](double z) { return 1 / (1 + std::exp(-z)); };
  return {std::move(name), value, back(odds - reach), back(odds + reach)};
}

/// Whether a sum of so many noisy counts is far above its noise.
bool is_seen(double sum, std::size_t terms, double noise_std) {
  return sum >= std::max(1.0, 10 * noise_std * std::sqrt(static_cast<double>(terms)));
}

/// The two halves of the counts by bin: -1 and +1, or wrong and right.
struct Halves {
  Counts no, yes;
  explicit Halves(Counts c) : no(c.first(c.size() / 2)), yes(c.subspan(c.size() / 2)) {}
};

/// Pairs of one of each half, the score of `yes` above. In a bin densities are straight lines: half of its pairs,
/// and a twelfth of what the share of `yes` rises across it (of m^2 for m counts).
double pairs_in_order(Counts counts) {
  const Halves c(counts);
  const std::size_t bins = c.no.size();
  const auto all = [&](std::size_t i) { return std::max(1.0, c.no[i] + c.yes[i]); };
  const auto share_of_yes = [&](std::size_t i) { return std::clamp(c.yes[i] / all(i), 0.0, 1.0); };
  double below = 0, pairs = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    pairs += c.yes[i] * (below + 0.5 * c.no[i]);
    below += c.no[i];
    const std::size_t left = i == 0 ? 0 : i - 1, right = std::min(i + 1, bins - 1);
    if (left == right) continue;
    const double apart = 0.5 * all(left) + 0.5 * all(right) + (right - left == 2 ? all(i) : 0);
    const double rise = (share_of_yes(right) - share_of_yes(left)) * all(i) / apart;  // across the bin
    pairs += std::clamp(rise, -1.0, 1.0) * all(i) * all(i) / 12;
  }
  return pairs;
}

double area(Counts counts) {
  const Halves c(counts);
  return pairs_in_order(counts) / (total(c.no) * total(c.yes));
}

/// Area under precision by recall, both classes spread evenly over each bin.
double average_precision(Counts counts) {
  const Halves c(counts);
  double found = 0, taken = 0, area = 0;
  for (std::size_t i = c.no.size(); i-- > 0;) {
    const double yes = c.yes[i], all = std::max(1e-9, yes + c.no[i]);
    const double slope = yes / all, rest = found - slope * taken;
    area += yes * (slope + (taken > 0 ? rest * std::log1p(all / taken) / all : 0));
    found += yes, taken += all;
    taken = std::max(taken, 0.0);
  }
  return area / total(c.yes);
}

/// Bins of two classes that are predicted to be +1 begin here.
std::size_t first_positive(const NoisyCounts& counts) {
  return static_cast<std::size_t>(std::ranges::find(counts.begins, CountedScores::cells_of_sign) -
                                  counts.begins.begin());
}

double chance(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

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
  Estimate loss = with_interval("log_loss", mean, variance);
  loss.low = std::max(loss.low, 0.0);
  return loss;
}

/// Adds estimates of functions of some counts.
class List {
 public:
  List(std::vector<Estimate>& all, Counts counts, double noise_std)
      : all_(all), counts_(counts), noise_std_(noise_std) {}
  void add(const std::string& name, bool seen, const Function& f) {
    if (seen)
      all_.push_back(share(name, f(counts_), variance_of(f, counts_, noise_std_)));
    else
      all_.push_back({name, {}, 0, 1});
  }

 private:
  std::vector<Estimate>& all_;
  Counts counts_;
  double noise_std_;
};

void add_two_classes(const NoisyCounts& counts, std::vector<Estimate>& all) {
  const std::size_t from = first_positive(counts), bins = counts.bins();
  const Halves now(counts.counts);
  const bool no = is_seen(total(now.no), bins, counts.counts_std),
             yes = is_seen(total(now.yes), bins, counts.counts_std);
  const bool taken =
      is_seen(total(now.no.subspan(from)) + total(now.yes.subspan(from)), 2 * (bins - from), counts.counts_std);
  const Function recall = [=](Counts c) { return total(Halves(c).yes.subspan(from)) / total(Halves(c).yes); };
  const Function specificity = [=](Counts c) { return total(Halves(c).no.first(from)) / total(Halves(c).no); };
  List list(all, counts.counts, counts.counts_std);
  list.add("accuracy", no || yes, [=](Counts c) {
    return (total(Halves(c).no.first(from)) + total(Halves(c).yes.subspan(from))) / total(c);
  });
  list.add("balanced_accuracy", no && yes, [=](Counts c) { return 0.5 * (recall(c) + specificity(c)); });
  list.add("auc", no && yes, area);
  list.add("average_precision", no && yes, average_precision);
  list.add("recall", yes, recall);
  list.add("specificity", no, specificity);
  list.add("precision", taken, [=](Counts c) {
    const double right = total(Halves(c).yes.subspan(from));
    return right / (right + total(Halves(c).no.subspan(from)));
  });
  list.add("positives", no || yes, [](Counts c) { return total(Halves(c).yes) / total(c); });
}

void add_classes(const NoisyCounts& counts, std::vector<Estimate>& all) {
  const std::size_t classes = counts.shape.classes;
  List of_bins(all, counts.counts, counts.counts_std);
  of_bins.add("accuracy", is_seen(total(counts.counts), counts.counts.size(), counts.counts_std),
              [](Counts c) { return total(Halves(c).yes) / total(c); });
  const auto recall = [=](Counts c, std::size_t k) {
    return c[k * classes + k] / total(c.subspan(k * classes, classes));
  };
  std::vector<bool> seen;
  for (std::size_t k = 0; k < classes; ++k)
    seen.push_back(
        is_seen(total(Counts(counts.classes).subspan(k * classes, classes)), classes, counts.classes_std));
  List of_classes(all, counts.classes, counts.classes_std);
  of_classes.add("balanced_accuracy", std::ranges::find(seen, false) == seen.end(), [=](Counts c) {
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) sum += recall(c, k);
    return sum / static_cast<double>(classes);
  });
  for (std::size_t k = 0; k < classes; ++k)
    of_classes.add(fmt::format("recall.{}", k), seen[k], [=](Counts c) { return recall(c, k); });
}

}  // namespace

std::vector<Estimate> estimates_of(const NoisyCounts& counts) {
  std::vector<Estimate> all;
  counts.shape.signs ? add_two_classes(counts, all) : add_classes(counts, all);
  if (!counts.shape.logits) return all;
  if (is_seen(total(counts.counts), counts.counts.size(), counts.counts_std))
    all.push_back(log_loss(counts));
  else
    all.push_back({"log_loss", {}, 0, CountedScores::largest_loss});
  return all;
}

std::vector<Estimate> shares_of_bins(const NoisyCounts& counts) {
  std::vector<Estimate> all;
  for (std::size_t i = 0; i < counts.bins(); ++i) {
    const double of_bin[] = {counts.counts[i], counts.counts[counts.bins() + i]};
    List list(all, of_bin, counts.counts_std);
    list.add("", is_seen(total(of_bin), 2, counts.counts_std), [](Counts c) { return c[1] / total(c); });
  }
  return all;
}

std::vector<std::pair<Estimate, Estimate>> roc_of(const NoisyCounts& counts) {
  std::vector<std::pair<Estimate, Estimate>> all;
  const Halves now(counts.counts);
  const std::size_t bins = counts.bins();
  const auto above = [&](Counts half, std::size_t from) {
    std::vector<Estimate> one;
    List(one, half, counts.counts_std).add("", is_seen(total(half), bins, counts.counts_std), [=](Counts c) {
      return total(c.subspan(from)) / total(c);
    });
    return one.front();
  };
  for (std::size_t from = bins - 1; from > 0; --from) all.emplace_back(above(now.no, from), above(now.yes, from));
  return all;
}

}  // namespace dpmpi
