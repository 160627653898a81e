#include "run/held_out/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "run/held_out/ranking.hpp"

namespace dpmpi {
namespace {

using noisy::chance;
using noisy::Counts;
using noisy::deviations;
using noisy::Halves;
using noisy::is_seen;
using noisy::mean_of;
using noisy::NoisySum;
using noisy::share;
using noisy::total;

/// Bins of two classes that are predicted to be +1 begin here.
std::size_t first_positive(const NoisyCounts& counts) {
  return static_cast<std::size_t>(std::ranges::find(counts.begins, CountedScores::cells_of_sign) -
                                  counts.begins.begin());
}

/// The clipped loss of a record whose own class has the probability p.
double clipped_loss(double p) { return std::min(-std::log(p), CountedScores::largest_loss); }
double squared(double x) { return x * x; }

/// Of the +1 (of classes: of the predicted one) in the middle of a bin.
double probability_in_bin(const NoisyCounts& counts, std::size_t bin) {
  const double p = 0.5 * (chance(counts.edge(bin)) + chance(counts.edge(bin + 1)));
  return std::max(p, counts.shape.signs ? 0 : 1 / static_cast<double>(counts.shape.classes));
}

/// Mean square of the clipped loss, about. Bins tell the loss of a record of -1
/// or +1, and of one that is taken for its own class. One that is taken for
/// another has lost at least as much as if the rest of the probability were
/// that of its class. What wrong records have lost beyond that is known of all
/// of them, `beyond` on the mean. It is taken to vary as an exponential law of
/// this mean does, as far as losses in [a, L] of the mean m can, whose variance
/// is (m - a) (L - m) at most.
double mean_square_loss(const NoisyCounts& counts) {
  constexpr double L = CountedScores::largest_loss;
  const Halves c(counts.counts);
  double told = 0, wrong = 0, sum = 0;
  for (std::size_t i = 0; i < counts.bins(); ++i) {
    const double p = probability_in_bin(counts, i), yes = std::max(c.yes[i], 0.0), no = std::max(c.no[i], 0.0);
    told += yes * clipped_loss(p) + no * clipped_loss(1 - p), wrong += no;
    sum += yes * squared(clipped_loss(p));
  }
  const double beyond = counts.shape.signs || wrong == 0 ? 0 : std::max(0.0, (counts.loss - told) / wrong);
  for (std::size_t i = 0; i < counts.bins(); ++i) {
    const double least = clipped_loss(1 - probability_in_bin(counts, i)), mean = std::min(least + beyond, L);
    sum += std::max(c.no[i], 0.0) * (mean * mean + (mean - least) * std::min(mean - least, L - mean));
  }
  return sum / total(counts.counts);
}

/// The sum of losses over the number of records, both noisy.
Estimate log_loss(const NoisyCounts& counts) {
  const double n = total(counts.counts), mean = std::max(0.0, counts.loss / n);
  const double of_number = squared(mean * counts.counts_std) * static_cast<double>(counts.counts.size());
  const double of_records = std::max(0.0, mean_square_loss(counts) - mean * mean) / n;
  const double variance = of_records + (squared(counts.loss_std) + of_number) / (n * n);
  const double reach = deviations * std::sqrt(variance);
  // Few large losses are more often too few than too many (Johnson 1978, of the
  // most skewed ones); noise is even.
  const double skew = CountedScores::largest_loss * (1 + 2 * deviations * deviations) / (6 * n) *
                      (variance > 0 ? of_records / variance : 1);
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
  all.push_back(area_under_roc(counts));
  all.push_back(average_precision(counts));
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
  return noisy::least_seen({0, 2 * shape.bins}, counts_std, noisy::fewest_of_a_share);
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
