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
  const double of_records = std::max(0.0, square - mean * mean) / n;
  const double variance = of_records + (counts.loss_std * counts.loss_std + of_number) / (n * n);
  const double reach = deviations * std::sqrt(variance);
  // Few large losses are more often too few than too many (Johnson 1978, of the most skewed ones); noise is even.
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
