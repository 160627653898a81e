// Clamped steps of linear models: coefficients, contraction, norms, bits.
#include "dpmpi/objective/glm_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/objective/glm.hpp"
#include "dpmpi/objective/glm_softmax.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Real = long double;

/// phi' from below and from above, in long double.
struct LinkCase {
  std::string name;
  std::function<std::unique_ptr<ScalarLoss>()> make;
  std::function<Real(Real m, Real y)> below, above;
  LabelKind labels;
  double curvature, slope_bound;
};

Real sigmoid(Real z) { return z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }

const std::vector<LinkCase>& links() {
  const auto smooth = [](auto slope) { return std::function<Real(Real, Real)>(slope); };
  const auto residual = smooth([](Real m, Real y) { return m - y; });
  const auto huber = smooth([](Real m, Real y) { return std::clamp<Real>(m - y, -0.5L, 0.5L); });
  const auto logistic = smooth([](Real m, Real y) { return -y * sigmoid(-y * m); });
  const auto hinged = smooth([](Real m, Real y) { return -y * std::clamp<Real>(1 - y * m, 0, 1); });
  const auto poisson = smooth([](Real m, Real y) { return std::exp(m) - y; });
  // Either side of a kink at `at`, where the slope jumps from `low` to `high`.
  const auto jump = [](Real t, Real low, Real high, bool above) {
    return t < 0 || (t == 0 && !above) ? low : high;
  };
  static const std::vector<LinkCase> all = {
      {"squared", squared_loss, residual, residual, LabelKind::real, 1, infinity},
      {"huber", [] { return huber_loss(0.5); }, huber, huber, LabelKind::real, 1, 0.5},
      {"absolute", absolute_loss, [=](Real m, Real y) { return jump(m - y, -1, 1, false); },
       [=](Real m, Real y) { return jump(m - y, -1, 1, true); }, LabelKind::real, infinity, 1},
      {"pinball", [] { return pinball_loss(0.875); },
       [=](Real m, Real y) { return jump(m - y, -0.875L, 0.125L, false); },
       [=](Real m, Real y) { return jump(m - y, -0.875L, 0.125L, true); }, LabelKind::real, infinity, 0.875},
      {"logistic", logistic_loss, logistic, logistic, LabelKind::sign, 0.25, 1},
      {"smoothed_hinge", smoothed_hinge_loss, hinged, hinged, LabelKind::sign, 1, 1},
      {"hinge", hinge_loss,
       [=](Real m, Real y) { return y > 0 ? jump(m - 1, -1, 0, false) : jump(m + 1, 0, 1, false); },
       [=](Real m, Real y) { return y > 0 ? jump(m - 1, -1, 0, true) : jump(m + 1, 0, 1, true); }, LabelKind::sign,
       infinity, 1},
      {"poisson", poisson_loss, poisson, poisson, LabelKind::real, infinity, infinity},
  };
  return all;
}

double random_label(const LinkCase& link, std::mt19937_64& bits) {
  if (link.labels == LabelKind::sign) return bits() % 2 == 0 ? -1 : 1;
  if (link.name == "poisson") return static_cast<double>(bits() % 9);
  return std::normal_distribution<double>(0, 3)(bits);
}

/// 10^U(low, high).
double decades(double low, double high, std::mt19937_64& bits) {
  return std::pow(10.0, std::uniform_real_distribution<double>(low, high)(bits));
}

double proximal(const ScalarLoss& phi, double m, double w, double y, double h, double limit) {
  double margin[tile_rows], weight[tile_rows], label[tile_rows], most[tile_rows], c[tile_rows];
  std::fill_n(margin, tile_rows, m);
  std::fill_n(weight, tile_rows, w);
  std::fill_n(label, tile_rows, y);
  std::fill_n(most, tile_rows, limit);
  phi.proximal(margin, weight, label, h, most, c);
  EXPECT_TRUE(std::all_of(c, c + tile_rows, [&](double v) { return v == c[0]; }));
  return c[0];
}

// A26: c - h phi'(m - c w) changes its sign within 1e-13 of c. It increases with c; at a kink it jumps. A change of
// the margin by two units of its last place counts as rounding: no c in double can resolve less.
TEST(GlmSteps, ProximalCoefficientsAreRoots) {
  std::mt19937_64 bits(26);
  for (const LinkCase& link : links()) {
    const auto phi = link.make();
    for (int trial = 0; trial < 100000 / 8; ++trial) {
      const double w = decades(-12, 12, bits), h = decades(-4, 3, bits), y = random_label(link, bits);
      const double m = (bits() % 2 == 0 ? -1 : 1) * decades(-3, 6, bits);
      const double c = proximal(*phi, m, w, y, h, infinity);
      const Real slack = 1e-13L * std::abs(static_cast<Real>(c)) + 1e-290L;
      // The exponential of counts is rounded too.
      const Real shift = 0x1p-52L * std::abs(static_cast<Real>(m)) + (link.name == "poisson" ? 0x1p-50L : 0);
      const auto gap = [&](Real at, Real moved, const auto& slope) {
        return at - h * slope(static_cast<Real>(m) + moved - at * w, y);
      };
      EXPECT_LE(gap(c - slack, shift, link.above), 0)
          << link.name << fmt::format(" {} {} {} {}: {}", m, w, y, h, c);
      EXPECT_GE(gap(c + slack, -shift, link.below), 0)
          << link.name << fmt::format(" {} {} {} {}: {}", m, w, y, h, c);
    }
  }
}

TEST(GlmSteps, LimitedRootsAreClampedRoots) {
  std::mt19937_64 bits(27);
  for (const LinkCase& link : links()) {
    const auto phi = link.make();
    for (int trial = 0; trial < 2000; ++trial) {
      const double w = decades(-4, 4, bits), h = decades(-2, 2, bits), y = random_label(link, bits);
      const double m = (bits() % 2 == 0 ? -1 : 1) * decades(-3, 3, bits), limit = decades(-4, 2, bits);
      const double free = proximal(*phi, m, w, y, h, infinity), c = proximal(*phi, m, w, y, h, limit);
      EXPECT_NEAR(c, std::clamp(free, -limit, limit), 1e-13 * std::abs(free)) << link.name;
      EXPECT_LE(std::abs(c), limit);
    }
  }
}

TEST(GlmSteps, FactsOfTheLossesHold) {
  std::mt19937_64 bits(3);
  for (const LinkCase& link : links()) {
    const auto phi = link.make();
    EXPECT_TRUE(phi->convex()) << link.name;
    EXPECT_EQ(phi->curvature(), link.curvature) << link.name;
    EXPECT_EQ(phi->slope_bound(), link.slope_bound) << link.name;
  }
  for (const auto& phi : {capped_l1_loss(1), phase_retrieval_loss(), ramp_loss(), sigmoid_loss()})
    EXPECT_FALSE(phi->convex());
}

// ---- Kernels ----------------------------------------------------------------------------------------------------

Lattice lattice_of(double cap, int bits = 40) { return Lattice{bits - std::ilogb(cap)}; }

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

std::vector<std::uint32_t> all_rows(const Records& records) {
  std::vector<std::uint32_t> index(records.count);
  std::iota(index.begin(), index.end(), 0U);
  return index;
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
      const Kernel kernel = steps.gradients(random_point(glm.dim(), 1, 3));
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

TEST(GlmSteps, GradientErrorsCoverTheErrors) {
  for (const LinkCase& link : links())
    for (const StorageCase& s : storages) {
      const Glm glm({s.features, s.storage, s.bias}, link.make());
      Records records = heavy_records(link, s.storage, 30, s.features, s.bias, 17);
      const auto x = random_point(glm.dim(), 3, 7);
      if (link.labels == LabelKind::real)  // margins at the kink of absolute and pinball, in float32
        for (std::size_t i = 0; i < 10; ++i) records.label[i] = static_cast<float>(margin_of(records, i, x));
      const double clip = 0.5;
      ClampedSteps steps(glm);
      for (std::uint32_t i = 0; i < records.count; ++i) {
        const std::uint32_t row[] = {i};
        const Lattice lattice = lattice_of(clip, 49);
        const Sums sum = run(steps.gradients(x), records, row, glm.dim(), clip, lattice);
        const Sums error = run(steps.gradient_errors(x), records, row, 1, clip, lattice_of(clip, 58));
        if (!(records.norm[i] > 0)) continue;
        const Real limit = clip / static_cast<Real>(records.norm[i]), m = margin_of(records, i, x);
        Real square = 0;
        const Real c = std::clamp(link.above(m, records.label[i]), -limit, limit);
        for (std::size_t j = 0; j < glm.dim(); ++j) {
          const Real a = j < s.features ? feature(records, i, j) : s.bias;
          square += (c * a - sum[j]) * (c * a - sum[j]);
        }
        const double rounding = std::sqrt(static_cast<double>(glm.dim())) / 2 * lattice.quantum();
        EXPECT_LE(static_cast<double>(std::sqrt(square)), error[0] + rounding) << link.name;
        EXPECT_LE(error[0], 2 * clip * (1 + 1e-12));
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
    for (const double size : {1.0, 1e6, 1e140})
      for (const bool gradients : {false, true}) {
        const auto x = random_point(glm.dim(), size, 3);
        const Kernel kernel = gradients ? steps.gradients(x) : steps.steps(x, {StepMode::proximal, 0.5});
        for (std::uint32_t i = 0; i < records.count; ++i) {
          const std::uint32_t row[] = {i};
          const Sums sum = run(kernel, records, row, glm.dim(), cap, lattice_of(cap));
          if (i < 5) {
            EXPECT_EQ(sum.norm(), 0.0) << i;
            continue;
          }
          const Real m = margin_of(records, i, x);
          if (m > 1000 && gradients) {
            EXPECT_NEAR(sum.norm(), cap, 1e-6 * cap);
          }
          EXPECT_LE(sum.norm(), cap * (1 + 1e-9));
        }
      }
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

// ---- One pass over neighbouring data ----------------------------------------------------------------------------

struct Pass {
  StepMode mode;
  double eta, clip;
  std::size_t batch, steps;
};

/// The mean of x_0 .. x_{T-1} of one pass from 0.
std::vector<double> averaged(const Glm& glm, const Pass& pass, const Records& records) {
  const double h = static_cast<double>(pass.batch) * pass.eta, cap = h * pass.clip;
  LatticeAccumulator sum(glm.dim(), lattice_of(cap, 45), cap * 1.001, 0, Width::int64);
  ClampedSteps steps(glm);
  std::vector<double> x(glm.dim(), 0.0), mean(glm.dim(), 0.0);
  const auto index = all_rows(records);
  for (std::size_t t = 0; t < pass.steps; ++t) {
    for (std::size_t j = 0; j < x.size(); ++j) mean[j] += x[j] / static_cast<double>(pass.steps);
    sum.clear();
    steps.steps(x, {pass.mode, h})(Rows{records, std::span(index).subspan(t * pass.batch, pass.batch)},
                                   L2Bound{.clip = cap}, sum);
    const double factor = sum.lattice().quantum() / static_cast<double>(pass.batch);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] -= factor * static_cast<double>(sum.totals()[j]);
  }
  return mean;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

void set_dense(Records& r, std::size_t i, std::span<const double> a, double y) {
  for (std::size_t j = 0; j < r.features; ++j) r.f32[i * r.stride + j] = static_cast<float>(a[j]);
  r.label[i] = static_cast<float>(y);
  update_norm(r, i);
}

// A9: heavy-tailed records, one of them replaced by one 30 times as long; the averages part by at most 2 eta C.
TEST(GlmSteps, NeighbouringPassesStayWithinTheSensitivity) {
  std::mt19937_64 bits(9);
  std::student_t_distribution<double> heavy(1.5);
  constexpr std::size_t d = 5;
  for (const LinkCase& link : links())
    for (const StepMode mode : {StepMode::explicit_, StepMode::proximal}) {
      const Glm glm({d, Storage::dense_f32, 0}, link.make());
      if (!has_steps(glm, mode)) continue;
      double worst = 0;
      for (int trial = 0; trial < 1000; ++trial) {
        constexpr std::size_t batches[] = {1, 4, 8};
        const Pass pass{mode, decades(-2, 1, bits), decades(-1, 1, bits), batches[bits() % 3], 8};
        const std::size_t n = pass.batch * pass.steps;
        Records records = random_records({Storage::dense_f32, n, d, 0, LabelKind::real});
        std::vector<double> a(d);
        const auto draw = [&](std::size_t i, double size) {
          for (double& v : a) v = size * heavy(bits);
          set_dense(records, i, a, random_label(link, bits));
        };
        for (std::size_t i = 0; i < n; ++i) draw(i, 1);
        const auto before = averaged(glm, pass, records);
        draw(bits() % pass.batch, 30);  // in the first step, whose effect lasts longest
        const auto after = averaged(glm, pass, records);
        worst = std::max(worst, distance(before, after) / (2 * pass.eta * pass.clip));
      }
      EXPECT_LE(worst, 1 + 1e-9) << link.name;
      EXPECT_GE(worst, 0.2) << link.name;
      RecordProperty(link.name + (mode == StepMode::proximal ? "_proximal" : "_explicit"),
                     fmt::format("{}", worst));
    }
}

// A9 and T10: the bound is reached, but for the factor (T - 1) / T of an average that leaves x_T out.
TEST(GlmSteps, AdversarialNeighboursReachTheSensitivity) {
  constexpr std::size_t d = 3;
  const Glm glm({d, Storage::dense_f32, 0}, absolute_loss());
  for (const std::size_t batch : {1U, 4U}) {
    const Pass pass{StepMode::proximal, 0.25, 0.75, batch, 20};
    Records records = random_records({Storage::dense_f32, batch * pass.steps, d, 0, LabelKind::real});
    const std::vector<double> zero(d, 0.0), first{1, 0, 0};
    for (std::size_t i = 0; i < records.count; ++i) set_dense(records, i, zero, 1);
    set_dense(records, 0, first, 1e9);
    const auto up = averaged(glm, pass, records);
    set_dense(records, 0, first, -1e9);
    const auto down = averaged(glm, pass, records);
    // Norms are float32, rounded up: the clip of a record of norm 1 is that much shorter.
    EXPECT_NEAR(distance(up, down) / (2 * pass.eta * pass.clip) * records.norm[0], 19.0 / 20, 1e-9);
  }
}

// T2: smoothness of typical records is no property of all of them. Two runs are 2 eta C apart, a little of it along
// the next record, which is long. With the step clipped, but not shortened to 1 / (beta |a|^2), both jump across
// its minimum, and end further apart.
TEST(GlmSteps, LongRecordsNeedTheirOwnCap) {
  const Glm glm({2, Storage::dense_f32, 0}, squared_loss());
  Records records = random_records({Storage::dense_f32, 2, 2, 0, LabelKind::real});
  const std::vector<double> oblique{std::sqrt(0.99), 0.1}, along{0, 1e6};
  const double cap = 0.5;
  ClampedSteps steps(glm);
  std::vector<std::vector<double>> capped, uncapped;
  for (const double y : {1e9, -1e9}) {
    set_dense(records, 0, oblique, y);
    set_dense(records, 1, along, 0);
    const std::uint32_t first[] = {0}, second[] = {1};
    std::vector<double> x(2, 0.0);
    const auto walk = [&](std::span<const std::uint32_t> row) {
      steps.walk({records, row}, {StepMode::explicit_, 0.5}, {.clip = cap}, lattice_of(cap, 45), x);
    };
    walk(first);
    uncapped.push_back(x);
    const double step = 0.5 * along[1] * x[1], limit = cap / along[1];
    uncapped.back()[1] -= std::clamp(step, -limit, limit) * along[1];
    walk(second);
    capped.push_back(x);
  }
  EXPECT_GT(distance(uncapped[0], uncapped[1]), 1.3 * 2 * cap);
  EXPECT_LE(distance(capped[0], capped[1]), 2 * cap);
}

}  // namespace
}  // namespace dpmpi::test
