#include "run/evaluate/bootstrap.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/console/progress.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

/// P(Poisson(1) <= k) in units of 2^-16, for k = 0, 1, ... until it is 1.
constexpr std::array<std::uint16_t, 8> poisson_steps{24109, 48219, 60273, 64292, 65296, 65497, 65531, 65535};

double percentile(const std::vector<double>& ascending, double share) {
  const double at = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (at - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

std::optional<Interval> middle_of(std::vector<double> values) {
  std::erase_if(values, [](double x) { return std::isnan(x); });
  if (values.size() < static_cast<std::size_t>(fewest_resamples)) return {};
  std::ranges::sort(values);
  return Interval{percentile(values, 0.025), percentile(values, 0.975)};
}

}  // namespace

// Sixteen bits a record: the chances of a Poisson variable to 2^-16.
void draw_weights(std::int64_t resample, std::span<std::uint8_t> weights) {
  constexpr std::size_t of_word = 4;
  const PublicStream stream(0, "bootstrap", static_cast<std::uint64_t>(resample));
  std::array<std::uint64_t, 256> words;
  std::array<std::uint16_t, of_word * words.size()> uniform;
  for (std::size_t first = 0; first < weights.size(); first += uniform.size()) {
    const std::size_t count = std::min(uniform.size(), weights.size() - first);
    stream.words(first / of_word, std::span(words).first((count + of_word - 1) / of_word));
    for (std::size_t i = 0; i < count; ++i)
      uniform[i] = static_cast<std::uint16_t>(words[i / of_word] >> (16 * (i % of_word)));
    for (std::size_t i = 0; i < count; ++i) {
      unsigned weight = 0;
      for (const std::uint16_t step : poisson_steps) weight += uniform[i] >= step;
      weights[first + i] = static_cast<std::uint8_t>(weight);
    }
  }
}

std::vector<std::optional<Interval>> bootstrap_intervals(
    std::size_t records, std::size_t metrics, std::int64_t resamples,
    const std::function<void(Weights weights, std::span<double> values)>& measure) {
  std::vector<std::vector<double>> found(metrics);
  std::vector<std::uint8_t> weights(records);
  std::vector<double> values(metrics);
  Progress progress("resampling", static_cast<std::uint64_t>(resamples), "resamples");
  for (std::int64_t b = 0; b < resamples; ++b, progress.add(1)) {
    draw_weights(b, weights);
    measure(weights, values);
    for (std::size_t m = 0; m < metrics; ++m) found[m].push_back(values[m]);
  }
  std::vector<std::optional<Interval>> intervals;
  for (std::vector<double>& of_metric : found) intervals.push_back(middle_of(std::move(of_metric)));
  return intervals;
}

}  // namespace dpmpi
