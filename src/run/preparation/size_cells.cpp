#include "run/preparation/size_cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr double half = 0.5;  // of a record: counts without noise are whole

/// Cells from one end that together hold no more than noise may: two of its deviations. (A first one that noise
/// lets stand out does not keep the others.)
template <class Counts>
std::size_t empty_cells(const Counts& counts, double noise_std) {
  double sum = 0;
  std::size_t cells = 0, empty = 0;
  for (const double count : counts) {
    sum += count, ++cells;
    if (sum <= half + 2 * noise_std * std::sqrt(static_cast<double>(cells))) empty = cells;
  }
  return empty;
}

/// Seven digits say more than noise leaves.
double rounded(double x) {
  double near = 0;
  verify(to_number(fmt::format("{:.7g}", x), near), "a number that is written can be read");
  return near;
}

/// Where the most records are, if no cell by itself stands out: the first of so many cells in a row.
std::size_t fullest(std::span<const double> cells, std::size_t row) {
  std::size_t best = 0;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + row <= cells.size(); ++i) {
    const auto some = cells.subspan(i, row);
    if (const double sum = std::accumulate(some.begin(), some.end(), 0.0); sum > most) most = sum, best = i;
  }
  return best;
}

}  // namespace

std::size_t OctaveCells::cell(double x) {
  if (is_missing_number(x)) return missing;
  if (std::abs(x) < std::ldexp(1.0, smallest)) return zero;
  const int octave = std::clamp(std::ilogb(x) - smallest, 0, octaves - 1);
  return x < 0 ? zero - 1 - static_cast<std::size_t>(octave) : zero + 1 + static_cast<std::size_t>(octave);
}

Bounds OctaveCells::bounds(std::size_t cell) {
  const double tiny = std::ldexp(1.0, smallest);
  if (cell == zero) return {-tiny, tiny};
  const auto octave = static_cast<int>(cell > zero ? cell - zero - 1 : zero - 1 - cell);
  const double near = std::ldexp(tiny, octave);
  return cell > zero ? Bounds{near, 2 * near} : Bounds{-2 * near, -near};
}

std::size_t EvenCells::cell(const Bounds& bounds, double x) {
  const double place = (x - bounds.low) / bounds.width() * static_cast<double>(count);
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(count - 1)));
}

namespace {

/// What stands out of noise: one of 193 empty cells passes five deviations once in 18,000 columns.
double least_count(double noise_std) { return std::max(half, 5 * noise_std); }

}  // namespace

bool are_noise(std::span<const double> counts, double noise_std) {
  return *std::ranges::max_element(counts.subspan(1)) <= least_count(noise_std);
}

Bounds bounds_of_octaves(std::span<const double> counts, double noise_std) {
  verify(counts.size() == OctaveCells::count, "a count for every octave");
  const double least = least_count(noise_std);
  const auto cells = counts.subspan(1);  // not of missing ones
  std::size_t first = cells.size(), last = 0;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i] > least) first = std::min(first, i), last = i;
  if (first == cells.size()) {
    constexpr std::size_t row = 5;
    first = fullest(cells, row), last = first + row - 1;
  }
  const std::size_t low = std::max<std::size_t>(first, 1),
                    high = std::min(last + 2, cells.size());  // one more each
  return {OctaveCells::bounds(low).low, OctaveCells::bounds(high).high};
}

Bounds narrowed(const Bounds& bounds, std::span<const double> counts, double noise_std) {
  verify(counts.size() == EvenCells::count, "a count for every cell");
  std::size_t low = empty_cells(counts, noise_std);
  std::array<double, EvenCells::count> reversed{};
  std::reverse_copy(counts.begin(), counts.end(), reversed.begin());
  const std::size_t above = empty_cells(reversed, noise_std);
  if (low + above >= EvenCells::count) return bounds;  // there is nothing but noise
  std::size_t high = EvenCells::count - above;
  const std::size_t more = (high - low + 2) / 3;
  low -= std::min(low, more), high = std::min(high + more, EvenCells::count);
  const double cell = bounds.width() / static_cast<double>(EvenCells::count);
  return {bounds.low + static_cast<double>(low) * cell, bounds.low + static_cast<double>(high) * cell};
}

Scale scale_of(const Bounds& first, const Bounds& last, std::span<const double> counts, double noise_std) {
  verify(counts.size() == EvenCells::count, "a count for every cell");
  constexpr double widest = 6;  // deviations on either side of the mean that values keep
  const auto cells = static_cast<double>(EvenCells::count);
  const double width = last.width() / cells;
  const auto middle = [&](std::size_t j) { return last.low + (static_cast<double>(j) + 0.5) * width; };
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  double mean = last.low + 0.5 * last.width(), variance = last.width() * last.width() / 16;
  if (all > half + 4 * noise_std * std::sqrt(cells)) {
    mean = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) mean += counts[j] / all * middle(j);
    mean = std::clamp(mean, last.low, last.high);
    variance = -width * width / 12;  // which the cells add
    for (std::size_t j = 0; j < counts.size(); ++j)
      variance += counts[j] / all * (middle(j) - mean) * (middle(j) - mean);
  }
  const double deviation = std::sqrt(std::clamp(variance, width * width / 16, last.width() * last.width() / 4));
  Scale scale{rounded(mean), rounded(deviation), {}};
  scale.range = {rounded(std::max(first.low, mean - widest * deviation)),
                 rounded(std::min(first.high, mean + widest * deviation))};
  verify(scale.range.low < scale.range.high, "a range has room");
  return scale;
}

}  // namespace dpmpi
