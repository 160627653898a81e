#include "run/held_out/counts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/errors.hpp"
#include "run/evaluate/population.hpp"
#include "run/evaluate/scores.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

/// What a model says of a record, as far as it is counted.
struct SaidOfRecord {
  std::size_t label, predicted;  ///< classes
  double score;                  ///< signs: how far above the threshold; classes: log-odds of the predicted one
  double loss;                   ///< clipped
};

double log_odds_of_largest(std::span<const float> logits, std::size_t largest) {
  double others = 0;
  for (std::size_t k = 0; k < logits.size(); ++k)
    if (k != largest) others += std::exp(static_cast<double>(logits[k]) - static_cast<double>(logits[largest]));
  return -std::log(others);
}

/// That of the second largest, for scores that are no logits.
double margin_of_largest(std::span<const float> scores, std::size_t largest) {
  float second = -std::numeric_limits<float>::infinity();
  for (std::size_t k = 0; k < scores.size(); ++k)
    if (k != largest) second = std::max(second, scores[k]);
  return static_cast<double>(scores[largest]) - static_cast<double>(second);
}

SaidOfRecord said_of(const Objective& objective, std::span<const float> scores, float label) {
  const bool sign = objective.label_kind() == LabelKind::sign;
  SaidOfRecord said{};
  said.label = sign ? static_cast<std::size_t>(label > 0) : static_cast<std::size_t>(label);
  said.predicted = predicted_class(objective, scores);
  said.score = sign ? static_cast<double>(scores[0]) - static_cast<double>(objective.decision_threshold())
               : objective.scores_are_logits() ? log_odds_of_largest(scores, said.predicted)
                                               : margin_of_largest(scores, said.predicted);
  if (!objective.scores_are_logits()) return said;
  const double loss = -std::log(probability(scores, said.label));
  said.loss = loss >= 0 && loss < CountedScores::largest_loss ? loss : CountedScores::largest_loss;
  return said;
}

/// Calls take(i, said) for the rows i of a micro-batch that hold a record.
class Reader {
 public:
  Reader(Objective& objective, std::span<const float> w) : objective_(objective), model_(objective, w) {}

  template <class Take>
  void each(const Rows& rows, Take&& take) {
    const std::size_t outputs = objective_.outputs();
    scores_.resize(std::max(scores_.size(), rows.size() * outputs));
    model_.scores(rows, std::span(scores_).first(rows.size() * outputs));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float label = rows.records.label[rows.index[i]];
      if (!std::isnan(label)) take(i, said_of(objective_, std::span(scores_).subspan(i * outputs, outputs), label));
    }
  }

 private:
  const Objective& objective_;
  PopulationModel model_;
  std::vector<float> scores_;
};

/// Counts records by cell_of(said).
template <class CellOf>
Kernel counted_by(const Reader& reader, CellOf cell_of) {
  return one_hot_counts([reader = reader, cell_of](const Rows& rows, std::span<std::size_t> place) mutable {
    std::ranges::fill(place, nowhere);
    reader.each(rows, [&](std::size_t i, const SaidOfRecord& said) { place[i] = cell_of(said); });
  });
}

Kernel summed_losses(const Reader& reader) {
  return [reader = reader](const Rows& rows, const L2Bound&, LatticeAccumulator& sum) mutable {
    reader.each(rows, [&](std::size_t, const SaidOfRecord& said) {
      sum.begin(1);
      sum.add(0, std::span(&said.loss, 1));
    });
  };
}

std::vector<double> released(Curator& curator, const Query& query, const Kernel& kernel) {
  const Batch everyone = curator.draw(query, 0);
  const auto values = curator.release_exact(curator.sum(query, everyone, kernel));
  return {values.begin(), values.end()};
}

/// What lies before each cell and behind the last: halfway between the largest sum up to there and the smallest
/// from there on, so that noise lets none fall below the one before.
std::vector<double> rising_sums(std::span<const double> cells) {
  std::vector<double> sums{0};
  for (const double count : cells) sums.push_back(sums.back() + count);
  std::vector<double> rising = sums;
  std::partial_sum(sums.begin(), sums.end(), rising.begin(), [](double a, double b) { return std::max(a, b); });
  std::partial_sum(sums.rbegin(), sums.rend(), sums.rbegin(), [](double a, double b) { return std::min(a, b); });
  for (std::size_t i = 0; i < sums.size(); ++i) rising[i] = 0.5 * (rising[i] + sums[i]);
  return rising;
}

/// Cuts the cells first .. last - 1 into `even` bins by what lies before each, and then as often as `halvings` says
/// the highest of all bins in two.
void cut_evenly(std::span<const double> before, std::size_t first, std::size_t last, std::size_t even,
                std::size_t halvings, std::vector<std::size_t>& begins) {
  begins.push_back(first);
  const double low = before[first], all = before[last] - low, share = 1 / static_cast<double>(even);
  const std::size_t bins = even + halvings;
  for (std::size_t j = 1; j < bins; ++j) {
    const double below =
        j < even ? share * static_cast<double>(j) : 1 - share * std::exp2(-static_cast<double>(j - even + 1));
    const auto at = std::lower_bound(before.begin() + static_cast<std::ptrdiff_t>(first),
                                     before.begin() + static_cast<std::ptrdiff_t>(last), low + all * below);
    const auto cell = static_cast<std::size_t>(at - before.begin());
    begins.push_back(std::clamp(cell, begins.back() + 1, last - (bins - j)));
  }
}

/// The cut, behind the first, that fewest records lie between and the score 0, and of these fewest cells. So the
/// order of cuts stays if it moves there.
std::vector<std::size_t>::iterator nearest_to_threshold(std::vector<std::size_t>& begins,
                                                        std::span<const double> before) {
  constexpr std::size_t middle = CountedScores::cells_of_sign;
  const auto apart = [&](std::size_t cell) {
    const auto [from, to] = std::minmax(cell, middle);
    return std::pair(before[to] - before[from], to - from);
  };
  return std::ranges::min_element(begins.begin() + 1, begins.end(), {}, apart);
}

}  // namespace

double NoisyCounts::edge(std::size_t i) const {
  return i == bins() ? std::numeric_limits<double>::infinity() : CountedScores::edge(begins[i]);
}

std::vector<std::size_t> even_bins(std::span<const double> cells, const CountedScores& shape) {
  const std::vector<double> before = rising_sums(cells);
  const std::size_t even = shape.bins - shape.halvings, middle = CountedScores::cells_of_sign;
  std::vector<std::size_t> begins;
  if (!shape.signs) {
    cut_evenly(before, 0, cells.size(), even, shape.halvings, begins);
    return begins;
  }
  const double all = before.back() - before.front();
  const double above = all > 0 ? static_cast<double>(even) * (before.back() - before[middle]) / all : 0.5;
  if (above < 1) {  // of the even bins
    cut_evenly(before, 0, cells.size(), even, shape.halvings, begins);
    *nearest_to_threshold(begins, before) = middle;
    return begins;
  }
  const auto below = static_cast<std::size_t>(
      std::clamp(std::floor(static_cast<double>(even) - above + 0.5), 1.0, static_cast<double>(even - 1)));
  cut_evenly(before, 0, middle, below, 0, begins);
  cut_evenly(before, middle, cells.size(), even - below, shape.halvings, begins);
  return begins;
}

NoisyCounts release_counts(Curator& curator, const EvaluationPlan& plan, Objective& objective,
                           std::span<const float> w) {
  const std::size_t classes = plan.counted.classes, bins = plan.counted.bins;
  const bool two = plan.counted.signs;
  const Reader reader(objective, w);
  NoisyCounts out{.shape = plan.counted};
  auto query = plan.queries.begin();
  const auto scores = released(
      curator, *query++, counted_by(reader, [](const SaidOfRecord& s) { return CountedScores::cell(s.score); }));
  out.begins = even_bins(scores, plan.counted);
  const auto bin = [begins = out.begins](double score) {
    const auto behind = std::ranges::upper_bound(begins, CountedScores::cell(score));
    return static_cast<std::size_t>(behind - begins.begin()) - 1;
  };
  out.counts_std = query->noise_std;
  out.counts =
      released(curator, *query++, counted_by(reader, [=](const SaidOfRecord& s) {
                 return (two ? s.label : static_cast<std::size_t>(s.label == s.predicted)) * bins + bin(s.score);
               }));
  if (!two) {
    out.classes_std = query->noise_std;
    out.classes =
        released(curator, *query++,
                 counted_by(reader, [=](const SaidOfRecord& s) { return s.label * classes + s.predicted; }));
  }
  if (plan.counted.logits) {
    out.loss_std = query->noise_std;
    out.loss = released(curator, *query++, summed_losses(reader)).front();
  }
  verify(query == plan.queries.end(), "every planned count is released");
  return out;
}

}  // namespace dpmpi
