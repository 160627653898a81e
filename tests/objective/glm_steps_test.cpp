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

}  // namespace
}  // namespace dpmpi::test
