// What the estimators' kernels owe to privacy and to reproducibility: bounded contributions of any loss whatsoever,
// and the same bits wherever a record stands.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/network/mlp.hpp"
#include "objective/random_records.hpp"
#include "objective/values/zeroth_order.hpp"
#include "problems/black_box.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test::zeroth_order_kernel_test {
namespace {

using enum DirectionScheme;
using Point = std::vector<double>;
using Totals = std::vector<std::int64_t>;
using Numbers = std::vector<std::uint32_t>;

constexpr Lattice lattice{24};
constexpr double clip = 1.5;

/// The integer sum of a kernel's contributions.
Totals totals(const dpmpi::Kernel& kernel, std::size_t dim, const Rows& rows, double bound = clip) {
  LatticeAccumulator sum(dim, lattice, bound * (1 + 1e-9));
  sum.clear();
  kernel(rows, {.clip = bound}, sum);
  const auto values = sum.totals();
  return {values.begin(), values.end()};
}

bool all_zero(const Totals& values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; });
}

Point random_point(std::size_t dim, std::uint64_t number, double scale = 1) {
  Point x(dim);
  PublicStream(7, "points", number).normals(0, x);
  for (double& v : x) v *= scale;
  return x;
}

/// A function of the record and all bits of the point: huge, tiny, not finite, or ordinary.
double adversarial(std::size_t record, std::span<const double> w) {
  std::uint64_t hash = 0x9E3779B97F4A7C15 * (record + 1);
  for (double v : w) hash = (hash ^ std::bit_cast<std::uint64_t>(v)) * 0xBF58476D1CE4E5B9, hash ^= hash >> 29;
  const double unit = static_cast<double>(hash >> 11) * 0x1p-53;
  if (record % 7 == 6 && unit < 0.01) return std::numeric_limits<double>::quiet_NaN();
  if (record % 7 == 5 && unit < 0.01) return unit < 0.005 ? std::numeric_limits<double>::infinity() : -1e308;
  if (record % 3 == 0) return unit < 0.5 ? -1e9 : 1e9;
  if (record % 3 == 1) return std::floor(3 * w[0]) * 1e-3 * unit;
  return 1e9 * unit;
}

struct Case {
  Probes probes;
  bool gradient;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool gradient : {true, false})
    for (const bool centre : {false, true})
      for (const double scalar_clip : {0.0, 0.3})
        for (const Probes& probes :
             {Probes{.scheme = haar}, {.scheme = iid}, {.scheme = block, .count = 6, .block = 3}}) {
          all.push_back({probes, gradient});
          all.back().probes.centre = centre;
          all.back().probes.scalar_clip = scalar_clip;
        }
  return all;
}

double norm_of_difference(const Totals& a, const Totals& b) {
  long double square = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto change = static_cast<long double>(a[k] - b[k]);
    square += change * change;
  }
  return static_cast<double>(std::sqrt(square));
}

// Whatever the loss: another record in one slot moves the sum by at most 2 C, its absence by at most C (plus the
// declared slack and the lattice rounding of what changed).
TEST(ZerothOrderKernel, SensitivityIsBoundedForAnyLoss) {
  constexpr std::size_t dim = 11;
  const Records records = numbered_records(200);
  BlackBox f(dim, adversarial);
  const Numbers slot = {3, 8, 9, 20}, without_slot = {3, 9, 20};
  std::uint32_t trial = 0;
  double largest_move = 0;
  for (const Case& c : cases()) {
    ZerothOrder zo(f, c.probes);
    const double limit = lattice.scale() * clip / 4 * (1 + zo.slack().clip) + std::sqrt(dim) / 2;
    for (int repeat = 0; repeat < 42; ++repeat, ++trial) {
      const Point x = random_point(dim, 2 * trial), y = random_point(dim, 2 * trial + 1);
      const auto kernel = c.gradient ? zo.gradient(x, trial, 0.25) : zo.difference(x, y, trial, 0.25);
      const std::uint32_t r = trial % 150;
      const Numbers index = {r, r + 1, r + 2, r + 3}, replaced = {r, r + 40, r + 2, r + 3},
                    without = {r, r + 2, r + 3};
      const Totals sum = totals(kernel, dim, {records, index, slot}, clip / 4);
      const double move = norm_of_difference(sum, totals(kernel, dim, {records, replaced, slot}, clip / 4));
      EXPECT_LE(move, 2 * limit) << "trial " << trial;
      EXPECT_LE(norm_of_difference(sum, totals(kernel, dim, {records, without, without_slot}, clip / 4)), limit);
      largest_move = std::max(largest_move, move / (2 * limit));
    }
  }
  EXPECT_GE(trial, 1000U);
  EXPECT_GT(largest_move, 0.9) << "the losses are not adversarial enough to test anything";
}

// Below the clip a contribution is the weighted estimate; above it has the clip's norm and the same direction.
TEST(ZerothOrderKernel, AddsTheWeightedEstimateOrItsShorterMultiple) {
  constexpr std::size_t dim = 5;
  const Records records = numbered_records(1);
  BlackBox f(dim,
             [](std::size_t, std::span<const double> w) { return std::sin(3 * w[0]) + w[1] * w[4] - 2 * w[2]; });
  ZerothOrder zo(f, {.scheme = haar});
  const Point x = random_point(dim, 1);
  const Numbers index = {0}, slot = {12};
  for (const double weight : {1.0, 0.01}) {
    const auto kernel = zo.gradient(x, 5, weight);
    const auto values = zo.estimate({records, index}, 12);
    const Point estimate(values.begin(), values.end());
    double norm = 0;
    for (double v : estimate) norm += v * v;
    norm = std::sqrt(norm);
    ASSERT_TRUE(weight == 1.0 ? norm > clip : norm * weight < clip);
    const Totals sum = totals(kernel, dim, {records, index, slot});
    const double factor = std::min(weight, clip / norm);
    for (std::size_t k = 0; k < dim; ++k)
      EXPECT_LE(std::abs(static_cast<double>(sum[k]) - factor * estimate[k] * lattice.scale()), 0.51);
  }
}

TEST(ZerothOrderKernel, NonFiniteRecordsContributeZero) {
  constexpr std::size_t dim = 6;
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Records records = numbered_records(3);
  const Point x = random_point(dim, 1), y = random_point(dim, 2);
  const Numbers all = {0, 1, 2}, others = {0, 2}, all_slots = {0, 1, 2}, other_slots = {0, 2};
  for (const Case& c : cases()) {
    for (const double bad : {nan, inf, -inf, 1e308}) {
      int calls = 0;  // one bad value among good ones, or (1e308) a difference that overflows
      BlackBox f(dim, [&](std::size_t record, std::span<const double> w) {
        if (record == 1 && ++calls == 5) return bad;
        if (record == 1 && std::isfinite(bad)) return -bad;
        return w[0] * w[1] + std::abs(w[2]);
      });
      ZerothOrder zo(f, c.probes);
      const auto kernel = c.gradient ? zo.gradient(x, 0, 1) : zo.difference(x, y, 0, 1);
      const Totals sum = totals(kernel, dim, {records, all, all_slots});
      EXPECT_GE(calls, 5);
      EXPECT_EQ(sum, totals(kernel, dim, {records, others, other_slots}));
      EXPECT_FALSE(all_zero(sum));
    }
  }
}

TEST(ZerothOrderKernel, BadAndMissingRecordsOfModelsContributeZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  Records records = random_records({.count = 6, .features = 4, .labels = LabelKind::sign});
  empty_slot(records, 0);
  ASSERT_TRUE(spoil_feature(records, 1, nan));
  ASSERT_TRUE(spoil_feature(records, 2, inf));
  ASSERT_TRUE(spoil_feature(records, 3, -inf));
  records.label[4] = nan;
  Glm ramp({4, Storage::dense_f32, 1}, ramp_loss());  // flat far away: infinite margins have finite losses
  const auto network = make_mlp({.units = {4, 3, 1}, .head = Head::ramp});
  for (Objective* objective : {static_cast<Objective*>(&ramp), network.get()}) {
    const Point x = random_point(objective->dim(), 1, 0.1);
    for (const bool fast : {true, false}) {
      ZerothOrder zo(*objective, {.scheme = haar, .radius = 0.5, .fast = fast});
      const auto kernel = zo.gradient(x, 0, 1);
      for (std::uint32_t i = 0; i < 6; ++i)
        EXPECT_EQ(all_zero(totals(kernel, objective->dim(), {records, {&i, 1}})), i < 5) << "record " << i;
    }
  }
}

// The sum does not depend on how records are spread over calls, only on their slots.
TEST(ZerothOrderKernel, SumsHaveTheSameBitsInAnyOrder) {
  const Records records = random_records({.count = 30, .features = 9, .labels = LabelKind::sign});
  Glm glm({9, Storage::dense_f32, 1}, logistic_loss());
  const auto network = make_mlp({.units = {9, 5, 3, 1}, .activation = Activation::tanh, .head = Head::logistic});
  for (Objective* objective : {static_cast<Objective*>(&glm), network.get()}) {
    const std::size_t dim = objective->dim();
    const Point x = random_point(dim, 1, 0.3), y = random_point(dim, 2, 0.3);
    for (const Probes& probes :
         {Probes{.scheme = haar}, {.scheme = haar, .centre = true, .fast = false}, {.scheme = iid}}) {
      ZerothOrder zo(*objective, probes);
      const auto kernel = zo.difference(x, y, 4, 0.05);
      Numbers index(30), backwards(30);
      for (std::uint32_t i = 0; i < 30; ++i) index[i] = i, backwards[i] = 29 - i;
      const Totals whole = totals(kernel, dim, {records, index});
      EXPECT_EQ(totals(kernel, dim, {records, backwards, backwards}), whole);
      Totals parts(dim, 0);
      for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 16}, {17, 13}}) {
        const auto part = std::span(index).subspan(first, count);
        const Totals of_part = totals(kernel, dim, {records, part, part});
        for (std::size_t k = 0; k < dim; ++k) parts[k] += of_part[k];
      }
      EXPECT_EQ(parts, whole);
      Numbers other_slots = index;
      std::swap(other_slots[0], other_slots[1]);
      EXPECT_NE(totals(kernel, dim, {records, index, other_slots}), whole);
    }
  }
}

TEST(ZerothOrderKernel, AllocatesNothingAfterTheFirstStep) {
  const Records records = random_records({.count = 8, .features = 9, .labels = LabelKind::sign});
  Glm glm({9, Storage::dense_f32, 1}, logistic_loss());
  const auto network = make_mlp({.units = {9, 5, 1}, .head = Head::logistic});
  const Numbers index = {0, 1, 2, 3, 4, 5, 6, 7};
  for (Objective* objective : {static_cast<Objective*>(&glm), network.get()}) {
    const Point x = random_point(objective->dim(), 1), y = random_point(objective->dim(), 2);
    for (const Probes& probes :
         {Probes{.scheme = haar}, {.scheme = haar, .centre = true, .fast = false}, {.scheme = iid, .count = 200}}) {
      ZerothOrder zo(*objective, probes);
      LatticeAccumulator sum(objective->dim(), lattice, clip * (1 + 1e-9));
      std::size_t before = 0;
      for (std::uint64_t step = 0; step < 3; ++step) {
        if (step == 1) before = allocation_count();
        sum.clear();
        zo.gradient(x, step, 1)({records, index}, {.clip = clip}, sum);
        zo.difference(x, y, step, 1)({records, index}, {.clip = clip}, sum);
        EXPECT_FALSE(sum.totals().empty());
      }
      EXPECT_EQ(allocation_count() - before, 0U);
    }
  }
}

}  // namespace
}  // namespace dpmpi::test::zeroth_order_kernel_test
