// Clamped steps of linear models: what records contribute, norms, bits.
#include "objective/linear/steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/linear/glm.hpp"
#include "objective/linear/link_cases.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test::steps_test {
namespace {

struct Sums {
  std::vector<std::int64_t> total;
  Lattice lattice;
  double operator[](std::size_t j) const { return static_cast<double>(total[j]) * lattice.quantum(); }
  double norm() const {
    Real square = 0;
    for (const std::int64_t v : total) square += static_cast<Real>(v) * static_cast<Real>(v);
    return static_cast<double>(std::sqrt(square)) * lattice.quantum();
  }
};

Sums run(const Kernel& kernel, const Records& records, std::span<const std::uint32_t> index, std::size_t dim,
         double cap, const Lattice& lattice, Width width = Width::int64) {
  LatticeAccumulator sum(dim, lattice, cap * 1.001, 0, width);
  kernel(Rows{records, index}, L2Bound{.clip = cap}, sum);
  const auto totals = sum.totals();
  return {{totals.begin(), totals.end()}, lattice};
}

std::vector<double> random_point(std::size_t dim, double size, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::normal_distribution<double> normal(0, size / std::sqrt(static_cast<double>(dim)));
  std::vector<double> x(dim);
  for (double& v : x) v = normal(bits);
  return x;
}

/// Records of all sizes, with labels that fit the link.
Records heavy_records(const LinkCase& link, Storage storage, std::size_t count, std::size_t features, float bias,
                      unsigned seed) {
  Records r = random_records({storage, count, features, bias, LabelKind::real}, seed);
  std::mt19937_64 bits(seed);
  std::student_t_distribution<double> heavy(1.5);
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<float>(heavy(bits));
    for (std::size_t j = 0; j < features && !r.f32.empty(); ++j) r.f32[i * r.stride + j] *= size;
    for (std::uint64_t e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) r.value[e] *= size;
    if (!r.row_scale.empty()) r.row_scale[i] *= size * size;
    r.label[i] = static_cast<float>(random_label(link, bits));
    update_norm(r, i);
  }
  return r;
}

Real margin_of(const Records& r, std::size_t i, std::span<const double> x) {
  Real m = r.bias != 0 ? static_cast<Real>(r.bias) * x[r.features] : 0;
  for (std::size_t j = 0; j < r.features; ++j) m += static_cast<Real>(feature(r, i, j)) * x[j];
  return m;
}

struct StorageCase {
  Storage storage;
  std::size_t features;
  float bias;
};
constexpr StorageCase storages[] = {{Storage::dense_f32, 17, 1},  {Storage::dense_f32, 16, 0},
                                    {Storage::dense_u8, 21, 0.5}, {Storage::dense_u8, 64, 0},
                                    {Storage::sparse_f32, 30, 1}, {Storage::sparse_f32, 5, 0}};

/// Every contribution is the exact clamped coefficient times the record, within the error that is charged.
TEST(GlmSteps, ContributionsAreExactWithinTheErrorBound) {
  for (const LinkCase& link : links())
    for (const StorageCase& s : storages)
      for (const StepMode mode : {StepMode::explicit_, StepMode::proximal}) {
        const Glm glm({s.features, s.storage, s.bias}, link.make());
        if (!has_steps(glm, mode)) continue;
        SCOPED_TRACE(
            fmt::format("{} storage {} mode {}", link.name, static_cast<int>(s.storage), static_cast<int>(mode)));
        const Records records = heavy_records(link, s.storage, 23, s.features, s.bias, 5);
        const auto x = random_point(glm.dim(), 3, 7);
        const double radius = 6, h = 0.3, cap = h * 0.8;
        for (const int fine : {40, 58}) {
          const Lattice lattice = lattice_of(cap, fine);
          ClampedSteps steps(glm);
          const Kernel kernel = steps.steps(x, {mode, h});
          for (std::uint32_t i = 0; i < records.count; ++i) {
            const std::uint32_t row[] = {i};
            const Sums sum = run(kernel, records, row, glm.dim(), cap, lattice);
            const Real norm = records.norm[i], w = norm * norm, m = margin_of(records, i, x), limit = cap / norm;
            Real c = 0;
            if (norm > 0) {
              if (mode == StepMode::explicit_)
                c = std::min<Real>(h, 1 / (link.curvature * w)) * link.above(m, records.label[i]);
              else
                c = proximal(*link.make(), static_cast<double>(m), static_cast<double>(w), records.label[i], h,
                             infinity);
            }
            c = std::clamp(c, -limit, limit);
            Real square = 0;
            for (std::size_t j = 0; j < glm.dim(); ++j) {
              const Real a = j < s.features ? feature(records, i, j) : s.bias;
              square += (c * a - sum[j]) * (c * a - sum[j]);
            }
            EXPECT_LE(static_cast<double>(std::sqrt(square)), steps.error({mode, h}, radius, cap, lattice));
          }
        }
      }
}

// T19, and "clip each record": the norm in double of the clipped contribution is at most the cap, but for rounding
// to the lattice.
TEST(GlmSteps, NoContributionIsLongerThanTheCap) {
  for (const StorageCase& s : storages) {
    const LinkCase& link = links()[2];
    const Glm glm({s.features, s.storage, s.bias}, link.make());
    const Records records = heavy_records(link, s.storage, 400, s.features, s.bias, 19);
    ClampedSteps steps(glm);
    for (const double cap : {1e-6, 0.3, 30.0}) {
      const Kernel kernel = steps.steps(random_point(glm.dim(), 1e3, 3), {StepMode::proximal, 1e6});
      const Lattice lattice = lattice_of(cap, 49);
      double longest = 0;
      for (std::uint32_t i = 0; i < records.count; ++i) {
        const std::uint32_t row[] = {i};
        longest = std::max(longest, run(kernel, records, row, glm.dim(), cap, lattice).norm());
      }
      EXPECT_LE(longest, cap * (1 + 1e-12));
      EXPECT_GE(longest, cap * (1 - 1e-6));  // some record reaches it
    }
  }
}

TEST(GlmSteps, BatchesAreSumsOfRows) {
  for (const LinkCase& link : links())
    for (const StorageCase& s : storages) {
      const Glm glm({s.features, s.storage, s.bias}, link.make());
      const Records records = heavy_records(link, s.storage, 29, s.features, s.bias, 11);
      const double cap = 0.5;
      ClampedSteps steps(glm);
      for (const Kernel& kernel : {steps.steps(random_point(glm.dim(), 2, 1), {StepMode::proximal, 0.7})}) {
        for (const auto& [bits, width] : {std::pair{40, Width::int64}, {58, Width::int64}, {24, Width::int32}}) {
          const Lattice lattice = lattice_of(cap, bits);
          const auto index = all_rows(records);
          const Sums whole = run(kernel, records, index, glm.dim(), cap, lattice, width);
          std::vector<std::int64_t> sum(glm.dim(), 0);
          for (std::size_t i = 0; i < index.size(); ++i) {
            const Sums one = run(kernel, records, std::span(index).subspan(i, 1), glm.dim(), cap, lattice, width);
            for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += one.total[j];
          }
          EXPECT_EQ(whole.total, sum) << link.name << ' ' << bits;
        }
      }
    }
}

TEST(GlmSteps, WalkingIsTheBatchOfOneRecord) {
  for (const LinkCase& link : links())
    for (const StorageCase& s : storages)
      for (const StepMode mode : {StepMode::explicit_, StepMode::proximal}) {
        const Glm glm({s.features, s.storage, s.bias}, link.make());
        if (!has_steps(glm, mode)) continue;
        const Records records = heavy_records(link, s.storage, 40, s.features, s.bias, 13);
        const double cap = 0.5;
        ClampedSteps steps(glm), walker(glm);
        for (const int bits : {40, 58}) {
          const Lattice lattice = lattice_of(cap, bits);
          std::vector<double> x = random_point(glm.dim(), 2, 1), walked = x;
          for (std::uint32_t i = 0; i < records.count; ++i) {
            const std::uint32_t row[] = {i};
            const Sums sum = run(steps.steps(x, {mode, 0.7}), records, row, glm.dim(), cap, lattice);
            for (std::size_t j = 0; j < x.size(); ++j) x[j] -= sum[j];
            walker.walk({records, row}, {mode, 0.7}, {.clip = cap}, lattice, walked);
            ASSERT_EQ(x, walked) << link.name << ' ' << i;
          }
        }
      }
}

// T18: rows of zeros, empty slots and records that are not finite contribute exactly nothing; what overflows at
// this x is clamped like any other coefficient.
TEST(GlmSteps, WhatCountsDependsOnTheRecordAlone) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const StorageCase& s : storages) {
    const LinkCase& link = links().back();  // poisson
    const Glm glm({s.features, s.storage, 0}, link.make());
    Records records = heavy_records(link, s.storage, 12, s.features, 0, 23);
    empty_slot(records, 0);
    for (std::size_t i = 1; i < 3; ++i) ASSERT_TRUE(spoil_feature(records, i, i == 1 ? nan : inf));
    records.label[3] = inf;
    records.norm[4] = 0;
    ClampedSteps steps(glm);
    const double cap = 0.25;
    int overflowed = 0;
    for (const double size : {1.0, 1e6, 1e140, -1e140}) {  // of either sign: some margins are large
      const auto x = random_point(glm.dim(), size, 3);
      const Kernel kernel = steps.steps(x, {StepMode::proximal, 0.5});
      for (std::uint32_t i = 0; i < records.count; ++i) {
        const std::uint32_t row[] = {i};
        const Sums sum = run(kernel, records, row, glm.dim(), cap, lattice_of(cap));
        if (i < 5) {
          EXPECT_EQ(sum.norm(), 0.0) << i;
          continue;
        }
        if (margin_of(records, i, x) > 1000) {
          EXPECT_NEAR(sum.norm(), cap, 1e-6 * cap);
          ++overflowed;
        }
        EXPECT_LE(sum.norm(), cap * (1 + 1e-9));
      }
    }
    EXPECT_GT(overflowed, 0);
  }
}

TEST(GlmSteps, RefusesWhatDoesNotContract) {
  const ObjectiveFacts facts{4, Storage::dense_f32, 0};
  for (auto make : {phase_retrieval_loss, ramp_loss, sigmoid_loss}) {
    const Glm glm(facts, make());
    EXPECT_FALSE(has_scalar_link(glm));
    EXPECT_THROW(ClampedSteps{glm}, ConfigError);
  }
  const SparseSoftmax softmax({4, Storage::sparse_f32, 0}, 3);  // T11
  EXPECT_THROW(ClampedSteps{softmax}, ConfigError);
  for (const LinkCase& link : links()) {
    const Glm glm(facts, link.make());
    ClampedSteps steps(glm);
    const std::vector<double> x(4, 0.0);
    EXPECT_EQ(has_steps(glm, StepMode::explicit_), std::isfinite(link.curvature)) << link.name;
    if (!std::isfinite(link.curvature)) {
      EXPECT_THROW(steps.steps(x, {StepMode::explicit_, 1}), ConfigError);
    }
    EXPECT_THROW(steps.steps(x, {StepMode::proximal, 0}), ConfigError);
  }
}

// A36: a pass over 60,000 x 1000 floats takes less than 1 / 0.6 of what summing them takes, in processor time: the
// least of several turns of each.
TEST(GlmStepsSlow, APassReadsAtSixTenthsOfTheBandwidth) {
  constexpr std::size_t count = 60000, features = 1000;
  Records r;
  r.storage = Storage::dense_f32, r.count = count, r.features = features, r.stride = round_up(features, 16);
  r.f32.assign(count * r.stride, 0.5F), r.label.assign(count, 1.0F), r.norm.assign(count, 16.0F);
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  const Glm objective({features, Storage::dense_f32, 0}, logistic_loss());
  ClampedSteps steps(objective);
  const std::vector<double> x(features, 0.01);
  LatticeAccumulator sum(features, Lattice::finest(0.5, 0, count), 0.51, 0, Width::int64);
  const auto least = [](auto&& work) {
    std::clock_t best = std::numeric_limits<std::clock_t>::max();
    for (int turn = 0; turn < 9; ++turn) {
      const std::clock_t start = std::clock();
      work();
      best = std::min(best, std::clock() - start);
    }
    return static_cast<double>(best);
  };
  using Lanes = float __attribute__((vector_size(64), aligned(64), may_alias));
  volatile float kept = 0;
  const double read = least([&] {
    const auto* from = reinterpret_cast<const Lanes*>(r.f32.data());
    Lanes part[8] = {};
    for (std::size_t i = 0; i + 8 <= r.f32.size() / 16; i += 8)
      for (std::size_t l = 0; l < 8; ++l) part[l] += from[i + l];
    for (const Lanes& lanes : part) kept = kept + lanes[0];
  });
  const double pass = least([&] {
    sum.clear();
    const Kernel kernel = steps.steps(x, {StepMode::explicit_, 0.5});
    for (std::size_t i = 0; i < count; i += 500)
      kernel(Rows{r, std::span(all).subspan(i, 500)}, {.clip = 0.5}, sum);
  });
  EXPECT_LT(0.6 * pass, read);
}

}  // namespace
}  // namespace dpmpi::test::steps_test
