#pragma once
// An objective, records and a point, and what the checks of its contract compute of them.

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "objective/kernel.hpp"
#include "objective/math/losses.hpp"
#include "objective/objective.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test {

/// The same loss in plain double precision: what the kernels are compared with.
struct Reference {
  std::function<double(std::size_t record, std::span<const double> w)> loss;
  std::function<void(std::size_t record, std::span<const double> w, std::span<double> gradient)> gradient;
};

/// A kernel of differences of gradients at two points.
struct Differences {
  std::function<Kernel(std::span<const float> w, std::span<const float> v)> at;
  NumericSlack slack;
};

struct PropertyCase {
  Objective& objective;
  const Records& records;
  std::vector<float> w;      ///< a point where losses are of order 1
  Reference reference = {};  ///< optional; finite differences stand in for the gradient without it
  bool smooth = true;        ///< twice differentiable; kinks are stepped over otherwise
  double tolerance = 1e-4;   ///< of losses and gradients, relative to max(1, their size)
  std::vector<Clipping> clippings = {Clipping::flat};
  std::optional<Differences> differences = {};  ///< of saddles, and of what they are made of
};

inline std::vector<double> widened(std::span<const float> w) { return {w.begin(), w.end()}; }

inline double norm_of(std::span<const double> x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

/// The lattice on which `bound` is 2^21 quanta (2^28: fine, for accuracy checks; few records fit the accumulator
/// then).
inline Lattice test_lattice(double bound, int bits = 21) {
  return {bits - static_cast<int>(std::ceil(std::log2(bound)))};
}

/// The integer sum of the kernel's contributions of `index`, which are announced in micro-batches as large as
/// allowed.
inline std::vector<std::int64_t> contributions(const Objective& objective, const Kernel& kernel,
                                               const Records& records, std::span<const std::uint32_t> index,
                                               L2Bound bound, Lattice lattice) {
  LatticeAccumulator sum(objective.dim(), lattice, bound.clip * 1.01);
  sum.clear();
  const std::size_t step = std::min(objective.micro_batch_rows(), sum.rows_at_once());
  for (std::size_t i = 0; i < index.size(); i += step) {
    const Rows rows{records, index.subspan(i, std::min(step, index.size() - i))};
    kernel(rows, bound, sum);
  }
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

inline std::vector<std::int64_t> contribution(const Objective& objective, const Kernel& kernel,
                                              const Records& records, std::size_t record, L2Bound bound,
                                              Lattice lattice) {
  const std::uint32_t one[] = {static_cast<std::uint32_t>(record)};
  return contributions(objective, kernel, records, one, bound, lattice);
}

/// A contribution as real numbers, on a lattice so fine that rounding is below 1e-8 of the bound a coordinate.
inline std::vector<double> fine_contribution(const Objective& objective, const Kernel& kernel,
                                             const Records& records, std::size_t record, double bound) {
  const Lattice lattice = test_lattice(bound, 28);
  std::vector<double> values;
  for (std::int64_t v : contribution(objective, kernel, records, record, {.clip = bound}, lattice))
    values.push_back(static_cast<double>(v) * lattice.quantum());
  return values;
}

/// The gradient of one record, unclipped: the clip is doubled until it is four times the norm, so that it cannot
/// bind.
inline std::vector<double> gradient_of(Objective& objective, std::span<const float> w, const Records& records,
                                       std::size_t record) {
  const Kernel kernel = clipped_gradients(objective, w);
  double bound = 1;
  std::vector<double> g = fine_contribution(objective, kernel, records, record, bound);
  for (; norm_of(g) > bound / 4; bound *= 2) g = fine_contribution(objective, kernel, records, record, 2 * bound);
  return g;
}

/// At a point, in micro-batches of the objective.
inline std::vector<double> losses_at(const ValuesAtPoint& at, const Objective& objective, const Records& records,
                                     std::span<const std::uint32_t> index) {
  std::vector<double> out(index.size());
  for (std::size_t i = 0; i < index.size(); i += objective.micro_batch_rows()) {
    const std::size_t n = std::min(objective.micro_batch_rows(), index.size() - i);
    at.losses({records, index.subspan(i, n)}, std::span(out).subspan(i, n));
  }
  return out;
}

inline std::vector<double> losses_of(Objective& objective, std::span<const float> w, const Records& records,
                                     std::span<const std::uint32_t> index) {
  return losses_at(objective.at(w), objective, records, index);
}

inline double loss_of(Objective& objective, std::span<const float> w, const Records& records, std::size_t record) {
  const std::uint32_t one[] = {static_cast<std::uint32_t>(record)};
  return losses_of(objective, w, records, one)[0];
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

inline bool all_zero(const std::vector<std::int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](std::int64_t x) { return x == 0; });
}

/// A neighbour of w: each coordinate moved by `ulps` units in the last place, up or down at random. Exact multiples
/// of one another for the same seed (a binade edge aside).
inline std::vector<float> moved_by_ulps(std::span<const float> w, int ulps, unsigned seed = 5) {
  std::mt19937 bits(seed);
  std::vector<float> v;
  for (float x : w) {
    const float ulp = std::nextafter(std::abs(x), 2.0F) - std::abs(x);
    v.push_back(x + (bits() % 2 == 0 ? 1.0F : -1.0F) * static_cast<float>(ulps) * ulp);
  }
  return v;
}

/// Another point at a moderate distance.
inline std::vector<float> moved(std::span<const float> w, double distance, unsigned seed = 6) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<double> direction(w.size());
  for (double& x : direction) x = normal(bits);
  const double scale = distance / norm_of(direction);
  std::vector<float> v;
  for (std::size_t j = 0; j < w.size(); ++j) v.push_back(static_cast<float>(w[j] + scale * direction[j]));
  return v;
}

inline AlignedVector<float> random_directions(std::size_t K, std::size_t dim, unsigned seed = 8) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0, 1 / std::sqrt(static_cast<double>(dim)));
  AlignedVector<float> u(K * dim);
  for (float& x : u) x = static_cast<float>(normal(bits));
  return u;
}

}  // namespace dpmpi::test
