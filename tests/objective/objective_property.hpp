#pragma once
// The contract of objective.hpp as property tests for any Objective. Use: fill a PropertyCase and call
// check_contract(). Every check works on one record at a time or on bits, so that nothing is asked of how an
// objective batches its work.

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "dpmpi/objective/glm_losses.hpp"
#include "dpmpi/objective/objective.hpp"
#include "objective/random_records.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test {

/// The same loss in plain double precision: what the kernels are compared with.
struct Reference {
  std::function<double(std::size_t record, std::span<const double> w)> loss;
  std::function<void(std::size_t record, std::span<const double> w, std::span<double> gradient)> gradient;
};

struct PropertyCase {
  Objective& objective;
  const Records& records;
  std::vector<float> w;      ///< a point where losses are of order 1
  Reference reference = {};  ///< optional; finite differences stand in for the gradient without it
  bool smooth = true;        ///< twice differentiable; kinks are stepped over otherwise
  double tolerance = 1e-4;   ///< of losses and gradients, relative to max(1, their size)
  std::vector<Clipping> clippings = {Clipping::flat};
};

enum class Kernel { gradient, difference };

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
inline std::vector<std::int64_t> contributions(Objective& objective, const Records& records,
                                               std::span<const std::uint32_t> index, L2Bound bound, Lattice lattice,
                                               Kernel kernel = Kernel::gradient) {
  LatticeAccumulator sum(objective.dim(), lattice, bound.clip * 1.01);
  sum.clear();
  const std::size_t step = std::min(objective.micro_batch_rows(), sum.rows_at_once());
  for (std::size_t i = 0; i < index.size(); i += step) {
    const Rows rows{records, index.subspan(i, std::min(step, index.size() - i))};
    if (kernel == Kernel::gradient) objective.add_clipped_gradients(rows, bound, sum);
    if (kernel == Kernel::difference) objective.add_clipped_differences(rows, bound, sum);
  }
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

inline std::vector<std::int64_t> contribution(Objective& objective, const Records& records, std::size_t record,
                                              L2Bound bound, Lattice lattice, Kernel kernel = Kernel::gradient) {
  const std::uint32_t one[] = {static_cast<std::uint32_t>(record)};
  return contributions(objective, records, one, bound, lattice, kernel);
}

/// A contribution as real numbers, on a lattice so fine that rounding is below 1e-8 of the bound a coordinate.
inline std::vector<double> fine_contribution(Objective& objective, const Records& records, std::size_t record,
                                             double bound, Kernel kernel = Kernel::gradient) {
  const Lattice lattice = test_lattice(bound, 28);
  std::vector<double> values;
  for (std::int64_t v : contribution(objective, records, record, {.clip = bound}, lattice, kernel))
    values.push_back(static_cast<double>(v) * lattice.quantum());
  return values;
}

/// The gradient of one record, unclipped: the clip is doubled until it is four times the norm, so that it cannot
/// bind.
inline std::vector<double> gradient_of(Objective& objective, const Records& records, std::size_t record) {
  double bound = 1;
  std::vector<double> g = fine_contribution(objective, records, record, bound);
  for (; norm_of(g) > bound / 4; bound *= 2) g = fine_contribution(objective, records, record, 2 * bound);
  return g;
}

inline std::vector<double> losses_of(Objective& objective, const Records& records,
                                     std::span<const std::uint32_t> index) {
  std::vector<double> out(index.size());
  for (std::size_t i = 0; i < index.size(); i += objective.micro_batch_rows()) {
    const std::size_t n = std::min(objective.micro_batch_rows(), index.size() - i);
    objective.losses({records, index.subspan(i, n)}, std::span(out).subspan(i, n));
  }
  return out;
}

inline double loss_of(Objective& objective, const Records& records, std::size_t record) {
  const std::uint32_t one[] = {static_cast<std::uint32_t>(record)};
  return losses_of(objective, records, one)[0];
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

// ---- gradients and losses are right ----

/// Losses and gradients against the double reference.
inline void check_reference(const PropertyCase& c) {
  const std::vector<double> w = widened(c.w);
  c.objective.prepare(c.w);
  std::vector<double> expected(w.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 24); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    const double loss = c.reference.loss(i, w);
    EXPECT_NEAR(loss_of(c.objective, c.records, i), loss, c.tolerance * std::max(1.0, std::abs(loss)))
        << "record " << i;
    c.reference.gradient(i, w, expected);
    const std::vector<double> g = gradient_of(c.objective, c.records, i);
    double error = 0;
    for (std::size_t j = 0; j < g.size(); ++j) error = std::max(error, std::abs(g[j] - expected[j]));
    EXPECT_LE(error, c.tolerance * std::max(1.0, norm_of(expected))) << "record " << i;
  }
}

/// loss(w + s) - loss(w - s) = 2 <gradient, s> up to third order, along the gradient, random directions and
/// coordinates.
inline void check_finite_differences(const PropertyCase& c) {
  std::mt19937 bits(3);
  std::normal_distribution<double> normal;
  const std::size_t dim = c.w.size();
  std::size_t checked = 0, tried = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 8); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    c.objective.prepare(c.w);
    const double here = loss_of(c.objective, c.records, i);
    const std::vector<double> g = gradient_of(c.objective, c.records, i);
    for (int probe = 0; probe < 8; ++probe) {
      std::vector<double> s(dim, 0.0);
      if (probe == 0) s = g;
      if (probe == 1 || probe == 2)
        for (double& x : s) x = normal(bits);
      if (probe > 2) s[probe == 3 ? dim - 1 : bits() % dim] = 1;
      if (norm_of(s) == 0) continue;
      const double length = (probe > 2 ? 0.0125 : 0.0125 / std::max(1.0F, c.records.norm[i])) / norm_of(s);
      std::vector<float> up(dim), down(dim);
      double expected = 0;
      for (std::size_t j = 0; j < dim; ++j) {
        up[j] = static_cast<float>(c.w[j] + length * s[j]);
        down[j] = static_cast<float>(c.w[j] - length * s[j]);
        expected += g[j] * (static_cast<double>(up[j]) - down[j]);
      }
      c.objective.prepare(up);
      const double above = loss_of(c.objective, c.records, i);
      c.objective.prepare(down);
      const double below = loss_of(c.objective, c.records, i);
      ++tried;
      if (!c.smooth && std::abs(above + below - 2 * here) > 0.02 * std::abs(above - below) + 1e-6)
        continue;  // a kink
      ++checked;
      EXPECT_NEAR(above - below, expected, 2e-6 * std::max(1.0, std::abs(here)) + 4e-3 * std::abs(expected))
          << "record " << i << ", probe " << probe;
    }
  }
  EXPECT_GE(2 * checked, tried) << "too many kinks to have checked anything";
}

// ---- the norm bound ----

__extension__ using Square = unsigned __int128;

/// Sum of squares, exact.
inline Square square_norm(std::span<const std::int64_t> v) {
  Square sum = 0;
  for (std::int64_t x : v) sum += static_cast<Square>(x < 0 ? -x : x) * static_cast<Square>(x < 0 ? -x : x);
  return sum;
}

/// The same of coordinates [begin, end): of one layer.
inline Square square_norm(std::span<const std::int64_t> v, std::size_t begin, std::size_t end) {
  return square_norm(v.subspan(begin, end - begin));
}

/// (2^k clip (1 + eta) + sqrt(coordinates) / 2)^2, rounded down: what the squared integer norm may not exceed.
inline Square largest_square(double clip, double eta, Lattice lattice, std::size_t coordinates) {
  const long double norm = static_cast<long double>(clip) * (1 + static_cast<long double>(eta)) * lattice.scale() +
                           sqrtl(static_cast<long double>(coordinates)) / 2;
  return static_cast<Square>(norm * norm);
}

/// Every record's contribution obeys its bound in exact integers; some contribution is close to it. `norms_bind`:
/// some record's gradient exceeds the clip.
inline void check_norm_bound(Objective& objective, const Records& records, double clip, Kernel kernel,
                             Clipping clipping, double eta, bool norms_bind) {
  const Lattice lattice = test_lattice(clip);
  const auto bound = largest_square(clip, eta, lattice, objective.dim());
  long double largest = 0;
  for (std::size_t i = 0; i < records.count; ++i) {
    const auto v = contribution(objective, records, i, {clip, clipping}, lattice, kernel);
    const auto square = square_norm(v);
    EXPECT_TRUE(square <= bound) << "record " << i << ": norm " << sqrtl(static_cast<long double>(square))
                                 << ", bound " << sqrtl(static_cast<long double>(bound));
    largest = std::max(largest, static_cast<long double>(square));
  }
  const long double share =
      clipping == Clipping::flat ? 0.9L : 0.1L;  // one layer alone may be the one that is clipped
  EXPECT_TRUE(!norms_bind || sqrtl(largest) >= share * clip * lattice.scale()) << "the clip never bound";
}

inline void check_norm_bounds(const PropertyCase& c) {
  const std::vector<float> far = moved(c.w, 1);
  for (Clipping clipping : c.clippings) {
    c.objective.prepare(c.w);
    for (double clip : {1e-4, 0.03, 1.0, 1e4})
      check_norm_bound(c.objective, c.records, clip, Kernel::gradient, clipping, c.objective.gradient_slack().clip,
                       clip < 1e-3);
    c.objective.prepare_pair(c.w, far);
    for (double clip : {1e-5, 0.03, 1.0})
      check_norm_bound(c.objective, c.records, clip, Kernel::difference, clipping,
                       c.objective.difference_slack().clip, clip < 1e-3 && c.smooth);
    for (float size : {1e-30F, 1e10F, 1e30F, 3e38F}) {  // far out, where products overflow
      const std::vector<float> outside(c.w.size(), size);
      c.objective.prepare(outside);
      check_norm_bound(c.objective, c.records, 0.5, Kernel::gradient, clipping, c.objective.gradient_slack().clip,
                       false);
      c.objective.prepare_pair(outside, c.w);
      check_norm_bound(c.objective, c.records, 0.5, Kernel::difference, clipping,
                       c.objective.difference_slack().clip, false);
    }
  }
}

// ---- a record's bits do not depend on its company ----

/// Everything that is computed for one record, as bits.
struct RecordBits {
  std::vector<double> loss, directional;
  std::vector<float> scores;
};

inline RecordBits bits_of(const PropertyCase& c, const Records& records, std::span<const std::uint32_t> index,
                          std::span<const float> directions, std::size_t K) {
  RecordBits b{std::vector<double>(index.size()), std::vector<double>(index.size() * K),
               std::vector<float>(index.size() * c.objective.outputs())};
  for (std::size_t i = 0; i < index.size(); i += c.objective.micro_batch_rows()) {
    const std::size_t n = std::min(c.objective.micro_batch_rows(), index.size() - i), out = c.objective.outputs();
    const Rows rows{records, index.subspan(i, n)};
    c.objective.losses(rows, std::span(b.loss).subspan(i, n));
    c.objective.scores(rows, std::span(b.scores).subspan(i * out, n * out));
    c.objective.directional_differences(1e-2, directions, K, rows, std::span(b.directional).subspan(i * K, n * K));
  }
  return b;
}

inline void expect_record_bits(const RecordBits& one, const RecordBits& many, std::size_t place, const char* what) {
  const auto part = [](const auto& v, std::size_t i, std::size_t n) {
    const auto first = v.begin() + static_cast<std::ptrdiff_t>(i * n);
    return std::vector(first, first + static_cast<std::ptrdiff_t>(n));
  };
  EXPECT_TRUE(same_bits(one.loss, part(many.loss, place, 1))) << what << ": loss at place " << place;
  EXPECT_TRUE(same_bits(one.scores, part(many.scores, place, one.scores.size())))
      << what << ": scores at " << place;
  EXPECT_TRUE(same_bits(one.directional, part(many.directional, place, one.directional.size())))
      << what << ": directional differences at place " << place;
}

inline AlignedVector<float> random_directions(std::size_t K, std::size_t dim, unsigned seed = 8) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0, 1 / std::sqrt(static_cast<double>(dim)));
  AlignedVector<float> u(K * dim);
  for (float& x : u) x = static_cast<float>(normal(bits));
  return u;
}

/// Losses, scores, directional differences and single contributions have the same bits alone, in any subset, in any
/// order; totals are the exact sums of single contributions where each goes to the lattice by itself.
inline void check_row_invariance(const PropertyCase& c) {
  std::mt19937 bits(11);
  const Records& records = c.records;
  const std::size_t K = 3, dim = c.objective.dim();
  const auto directions = random_directions(K, dim);
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const std::vector<float> v = moved(c.w, 0.1);
  const auto prepare = [&](Kernel kernel) {
    if (kernel == Kernel::gradient) c.objective.prepare(c.w);
    if (kernel == Kernel::difference) c.objective.prepare_pair(c.w, v);
  };

  c.objective.prepare(c.w);
  std::vector<RecordBits> alone;
  for (std::uint32_t i = 0; i < records.count; ++i)
    alone.push_back(bits_of(c, records, std::span(&i, 1), directions, K));

  std::vector<std::uint32_t> order = all_rows(records);
  std::shuffle(order.begin(), order.end(), bits);
  const Records shuffled = permuted(records, order);
  const RecordBits whole = bits_of(c, shuffled, all_rows(records), directions, K);
  for (std::size_t i = 0; i < order.size(); ++i)
    expect_record_bits(alone[order[i]], whole, i, "all rows, permuted");

  for (int trial = 0; trial < 3; ++trial) {
    std::vector<std::uint32_t> subset;
    for (std::uint32_t i : all_rows(records))
      if (bits() % 3 != 0) subset.push_back(i);
    const RecordBits some = bits_of(c, records, subset, directions, K);
    for (std::size_t i = 0; i < subset.size(); ++i) expect_record_bits(alone[subset[i]], some, i, "a subset");
  }

  for (Kernel kernel : {Kernel::gradient, Kernel::difference}) {
    prepare(kernel);
    const NumericSlack slack =
        kernel == Kernel::gradient ? c.objective.gradient_slack() : c.objective.difference_slack();
    std::vector<std::vector<std::int64_t>> single;
    std::vector<std::int64_t> expected(dim, 0);
    for (std::size_t i = 0; i < records.count; ++i) {
      single.push_back(contribution(c.objective, records, i, bound, lattice, kernel));
      for (std::size_t j = 0; j < dim; ++j) expected[j] += single.back()[j];
    }
    // One record among others that are processed but empty: the sum is that record's contribution.
    for (int trial = 0; trial < 4; ++trial) {
      const std::size_t kept = bits() % records.count;
      Records emptied = records;
      for (std::size_t i = 0; i < records.count; ++i)
        if (i != kept) empty_slot(emptied, i);
      EXPECT_EQ(contributions(c.objective, emptied, all_rows(records), bound, lattice, kernel), single[kept])
          << "record " << kept << " among empty slots";
    }
    const auto total = contributions(c.objective, records, all_rows(records), bound, lattice, kernel);
    if (slack.summed_rows == 1) {
      EXPECT_EQ(total, expected) << "sum of single contributions";
      EXPECT_EQ(contributions(c.objective, shuffled, all_rows(records), bound, lattice, kernel), expected)
          << "permuted";
    } else {  // N4: float32 sums of micro-batches, and one rounding of each instead of one of each record
      const double rows = static_cast<double>(records.count), d = static_cast<double>(dim);
      const double allowed =
          rows * rows * std::ldexp(bound.clip * lattice.scale(), -23) + (rows + 1) * std::sqrt(d) / 2;
      double square = 0;
      for (std::size_t j = 0; j < dim; ++j) square += std::pow(static_cast<double>(total[j] - expected[j]), 2);
      EXPECT_LE(std::sqrt(square), allowed) << "sum of single contributions";
    }
  }
}

// ---- records that must not count ----

/// Empty slots and records with non-finite features, labels or parameters contribute exactly nothing, and disturb
/// nobody.
inline void check_bad_records(const PropertyCase& c) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const std::vector<float> v = moved(c.w, 0.1);
  const auto directions = random_directions(2, c.objective.dim());
  Records bad = c.records, without = c.records;
  std::vector<std::size_t> spoiled;
  for (std::size_t i = 0; i < bad.count; i += 3) {
    bool done = true;
    switch (i / 3 % 5) {
      case 0:
        empty_slot(bad, i);
        break;
      case 1:
        done = spoil_feature(bad, i, nan);
        break;
      case 2:
        done = spoil_feature(bad, i, inf);
        break;
      case 3:
        done = spoil_feature(bad, i, -inf);
        break;
      case 4:
        bad.label[i] = nan;
        break;
    }
    if (!done) continue;
    spoiled.push_back(i);
    empty_slot(without, i);
  }
  ASSERT_GE(spoiled.size(), std::min<std::size_t>(bad.count, 4));
  for (Kernel kernel : {Kernel::gradient, Kernel::difference}) {
    kernel == Kernel::gradient ? c.objective.prepare(c.w) : c.objective.prepare_pair(c.w, v);
    for (std::size_t i : spoiled)
      EXPECT_TRUE(all_zero(contribution(c.objective, bad, i, bound, lattice, kernel))) << "record " << i;
    EXPECT_EQ(contributions(c.objective, bad, all_rows(bad), bound, lattice, kernel),
              contributions(c.objective, without, all_rows(bad), bound, lattice, kernel));
  }
  c.objective.prepare(c.w);
  for (std::size_t i : spoiled) {
    const std::uint32_t one[] = {static_cast<std::uint32_t>(i)};
    std::vector<double> out(2, 7.0);
    c.objective.directional_differences(1e-2, directions, 2, {bad, one}, out);
    EXPECT_EQ(out, std::vector<double>(2, 0.0)) << "directional differences of record " << i;
  }
  std::vector<float> broken = c.w;
  broken[broken.size() / 2] = nan;
  c.objective.prepare(broken);
  if (c.records.storage != Storage::sparse_f32) {  // a sparse row need not touch the broken coordinate
    EXPECT_TRUE(all_zero(contributions(c.objective, c.records, all_rows(c.records), bound, lattice)))
        << "NaN parameter";
  }
}

// ---- differences ----

/// A point one unit in the last place away: the difference is still accurate, as it would not be if two gradients
/// were subtracted. Compared with the double reference, or with a 2048 times longer step on which nothing cancels.
inline void check_tiny_differences(const PropertyCase& c) {
  if (!c.smooth) return;
  const std::size_t dim = c.w.size();
  const std::vector<float> near = moved_by_ulps(c.w, 1), away = moved_by_ulps(c.w, 2048);
  std::vector<double> at_w(dim), at_v(dim);
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 12); ++i) {
    if (std::isnan(c.records.label[i])) continue;
    c.objective.prepare_pair(away, c.w);
    std::vector<double> expected = fine_contribution(c.objective, c.records, i, 1, Kernel::difference);
    for (double& x : expected) x /= 2048;
    double tolerance = 0.02;
    if (c.reference.gradient) {
      c.reference.gradient(i, widened(near), at_w);
      c.reference.gradient(i, widened(c.w), at_v);
      std::transform(at_w.begin(), at_w.end(), at_v.begin(), expected.begin(), std::minus<>());
      tolerance = 1e-3;
    }
    const double size = norm_of(expected);
    if (size < 1e-12) continue;
    c.objective.prepare_pair(near, c.w);
    const std::vector<double> d = fine_contribution(c.objective, c.records, i, 4 * size, Kernel::difference);
    double error = 0;
    for (std::size_t j = 0; j < dim; ++j) error += (d[j] - expected[j]) * (d[j] - expected[j]);
    EXPECT_LE(std::sqrt(error), tolerance * size) << "record " << i;
  }
}

/// The difference of a point with itself is zero, and swapping the points changes the sign only.
inline void check_difference_symmetry(const PropertyCase& c) {
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const std::vector<float> v = moved(c.w, 0.1);
  c.objective.prepare_pair(c.w, c.w);
  EXPECT_TRUE(
      all_zero(contributions(c.objective, c.records, all_rows(c.records), bound, lattice, Kernel::difference)));
  for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 8); ++i) {
    c.objective.prepare_pair(c.w, v);
    const auto there = contribution(c.objective, c.records, i, bound, lattice, Kernel::difference);
    c.objective.prepare_pair(v, c.w);
    const auto back = contribution(c.objective, c.records, i, bound, lattice, Kernel::difference);
    double error = 0, size = 0;
    for (std::size_t j = 0; j < there.size(); ++j) {
      error = std::max(error, std::abs(static_cast<double>(there[j] + back[j])));
      size = std::max(size, std::abs(static_cast<double>(there[j])));
    }
    EXPECT_TRUE(!c.smooth || error <= 2 + c.tolerance * size) << "record " << i << ": " << error << " of " << size;
  }
}

// ---- directional differences ----

inline void check_directional_differences(const PropertyCase& c) {
  const std::size_t K = 5, dim = c.w.size();
  const auto u = random_directions(K, dim);
  std::vector<double> up(dim), down(dim);
  c.objective.prepare(c.w);
  for (double xi : {1e-1, 1e-3}) {
    for (std::size_t i = 0; i < std::min<std::size_t>(c.records.count, 12); ++i) {
      if (std::isnan(c.records.label[i])) continue;
      const std::uint32_t one[] = {static_cast<std::uint32_t>(i)};
      std::vector<double> out(K);
      c.objective.directional_differences(xi, u, K, {c.records, one}, out);
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t j = 0; j < dim; ++j) {
          up[j] = c.w[j] + xi * u[k * dim + j];
          down[j] = c.w[j] - xi * u[k * dim + j];
        }
        const double expected = (c.reference.loss(i, up) - c.reference.loss(i, down)) / (2 * xi);
        const double here = c.reference.loss(i, widened(c.w));
        const double bend = c.reference.loss(i, up) + c.reference.loss(i, down) - 2 * here;
        if (!c.smooth && std::abs(bend) > 1e-3 * xi) continue;  // a kink between the points
        EXPECT_NEAR(out[k], expected, c.tolerance * std::max(1.0, std::abs(expected)))
            << "record " << i << ", " << k;
      }
    }
  }
}

// ---- what kernels leave alone ----

/// Regularisation is public: it changes no loss and no contribution.
inline void check_regularizer_stays_out(const PropertyCase& c) {
  const L2Bound bound{.clip = 0.5};
  const Lattice lattice = test_lattice(bound.clip);
  const auto index = all_rows(c.records);
  const double l2 = c.objective.l2;
  c.objective.l2 = 0;
  c.objective.prepare(c.w);
  const auto losses = losses_of(c.objective, c.records, index);
  const auto total = contributions(c.objective, c.records, index, bound, lattice);
  c.objective.l2 = 10;
  c.objective.prepare(c.w);
  EXPECT_TRUE(same_bits(losses_of(c.objective, c.records, index), losses));
  EXPECT_EQ(contributions(c.objective, c.records, index, bound, lattice), total);
  c.objective.l2 = l2;
}

/// A point that is told in parts is the same point.
inline void check_parts(const PropertyCase& c) {
  c.objective.prepare(c.w);
  const std::vector<double> whole = losses_of(c.objective, c.records, all_rows(c.records));
  const std::vector<float> other = moved(c.w, 1);
  c.objective.prepare(other);
  const std::span<const float> w(c.w);
  for (std::size_t first = 0, size = 1; first < w.size(); first += size, size = 2 * size + 1)
    c.objective.prepare_part(first, w.subspan(first, std::min(size, w.size() - first)));
  EXPECT_TRUE(same_bits(losses_of(c.objective, c.records, all_rows(c.records)), whole));
}

/// After a first round no kernel allocates memory.
inline void check_no_allocation(const PropertyCase& c) {
  const std::size_t K = 3;
  const auto index = all_rows(c.records);
  const Rows rows{c.records, std::span(index).first(std::min(index.size(), c.objective.micro_batch_rows()))};
  const auto directions = random_directions(K, c.objective.dim());
  const std::vector<float> v = moved(c.w, 0.1);
  const L2Bound bound{.clip = 0.5};
  LatticeAccumulator sum(c.objective.dim(), test_lattice(bound.clip), bound.clip * 1.01);
  std::vector<double> losses(rows.size()), differences(rows.size() * K);
  std::vector<float> scores(rows.size() * c.objective.outputs());
  const auto round = [&] {
    for (Clipping clipping : c.clippings) {
      c.objective.prepare(c.w);
      c.objective.losses(rows, losses);
      c.objective.scores(rows, scores);
      c.objective.add_clipped_gradients(rows, {bound.clip, clipping}, sum);
      c.objective.directional_differences(1e-2, directions, K, rows, differences);
      c.objective.prepare_pair(c.w, v);
      c.objective.add_clipped_differences(rows, {bound.clip, clipping}, sum);
    }
  };
  round();
  const std::size_t before = allocation_count();
  round();
  EXPECT_EQ(allocation_count() - before, 0U);
}

/// Norms of gradients are those that clipping would meet, or a bound on them for every point where the loss has
/// one; not finite for what contributes nothing.
inline void check_gradient_norms(const PropertyCase& c) {
  if (!c.objective.has_gradient_norms()) return;
  const ScalarLoss* loss = c.objective.scalar_loss();
  const double bound = loss ? loss->slope_bound() : std::numeric_limits<double>::infinity();
  Records records = c.records;
  empty_slot(records, 1);
  std::vector<std::uint32_t> all(std::min(records.count, c.objective.micro_batch_rows()));
  std::iota(all.begin(), all.end(), 0U);
  std::vector<double> norms(all.size());
  c.objective.prepare(c.w);
  c.objective.gradient_norms({records, all}, norms);
  EXPECT_FALSE(std::isfinite(norms[1])) << "an empty slot";
  for (const std::uint32_t i : {0U, 2U, all.back()}) {
    const double norm = norm_of(gradient_of(c.objective, records, i));
    if (std::isfinite(bound)) {
      EXPECT_LE(norm, norms[i] * (1 + c.tolerance));
      EXPECT_NEAR(norms[i], bound * records.norm[i], 1e-12 * (1 + norms[i]));
    } else {
      EXPECT_NEAR(norm, norms[i], c.tolerance * std::max(1.0, norm)) << "record " << i;
    }
  }
}

/// Everything above that applies to the case.
inline void check_contract(const PropertyCase& c) {
  ASSERT_EQ(c.w.size(), c.objective.dim());
  ASSERT_EQ(c.objective.micro_batch_rows() % 16, 0U);
  if (c.reference.loss) check_reference(c);
  if (c.reference.loss) check_directional_differences(c);
  check_finite_differences(c);
  check_norm_bounds(c);
  check_row_invariance(c);
  check_bad_records(c);
  check_tiny_differences(c);
  check_difference_symmetry(c);
  check_regularizer_stays_out(c);
  check_parts(c);
  check_no_allocation(c);
  check_gradient_norms(c);
}

}  // namespace dpmpi::test
