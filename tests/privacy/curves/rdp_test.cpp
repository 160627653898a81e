#include "privacy/accountants/rdp.hpp"
#include "privacy/curves/rdp_conversion.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/rdp_at_order.hpp"
#include "privacy/curves/rdp_reference.hpp"
#include "privacy/curves/renyi_quadrature.hpp"
#include "support/close.hpp"

namespace dpmpi::rdp_test {
namespace {

constexpr auto add_remove = Adjacency::add_remove;
constexpr auto replace_one = Adjacency::replace_one;

using test::expect_close, test::gaussian_rdp, test::poisson_gaussian_rdp, test::wor_gaussian_rdp;

// A bound must not fall below the true value by more than the rounding of the reference's own parameters.
void expect_tight_bound(double bound, double truth, double tolerance, const std::string& what) {
  expect_close(bound, truth, tolerance, what);
  EXPECT_GE(bound, truth) << what;
}

std::string text(double q, double z, double order) { return fmt::format("q={} z={} order={}", q, z, order); }

// The published series for fractional orders (Mironov, Talwar, Zhang 2019, section 3.3): E_Q r^a split at the point
// where the two components are equal, a signed binomial series on each side. In long double, signs kept.
double signed_series(double q, double z, double order) {
  using L = long double;
  const L a = order, s = z, cross = s * s * std::log(1 / static_cast<L>(q) - 1) + 0.5L;
  const auto log_erfc = [](L x) {
    return x < 25 ? std::log(std::erfc(x))
                  : -x * x - std::log(x * std::sqrt(3.14159265358979323846L)) - 1 / (2 * x * x);
  };
  L positive = 0, negative = 0, log_coefficient = 0;
  int sign = 1;
  for (int i = 0; i < 20000; ++i) {
    const L j = a - i, lq = std::log(static_cast<L>(q)), lp = std::log1p(-static_cast<L>(q));
    const L left = log_coefficient + i * lq + j * lp + std::log(0.5L) +
                   log_erfc((i - cross) / (std::sqrt(2.0L) * s)) + (static_cast<L>(i) * i - i) / (2 * s * s);
    const L right = log_coefficient + j * lq + i * lp + std::log(0.5L) +
                    log_erfc((cross - j) / (std::sqrt(2.0L) * s)) + (j * j - j) / (2 * s * s);
    const L term = std::exp(left) + std::exp(right);
    (sign > 0 ? positive : negative) += term;
    if (i > a && term < 1e-19L * (positive - negative)) break;
    if (a - i < 0) sign = -sign;
    log_coefficient += std::log(std::abs(a - i)) - std::log(static_cast<L>(i) + 1);
  }
  return static_cast<double>(std::log(positive - negative) / (a - 1));
}

TEST(GaussianRdp, ClosedForm) {
  for (const double z : {0.3, 1.0, 2.0, 1e4})
    for (const double a : {1.01, 2.0, 10.0, 1024.0}) {
      expect_tight_bound(gaussian_rdp(z, a), a / (2 * z * z), 1e-10, text(1, z, a));
      for (const auto adjacency : {add_remove, replace_one})
        expect_tight_bound(poisson_gaussian_rdp(1, z, a, adjacency), a / (2 * z * z), 1e-10, text(1, z, a));
    }
}

// A1 of min-max methods.
TEST(PoissonGaussianRdp, PublishedVectors) {
  const struct {
    double q, z, order, value;
  } vectors[] = {
      {0.01, 1, 2, 1.718134220745e-04},
      {0.01, 1, 32, 1.124627593705e+01},
      {2048.0 / 60000, 2, 8, 1.411523352341e-03},
      {2048.0 / 60000, 5, 64, 1.666673192040e-03},
      {256.0 / 60000, 0.8, 4, 1.484823136783e-04},
      {0.25, 1.5, 16, 2.080973414425e+00},
      {1, 2, 10, 1.25},
      {0.01, 1, 1.5, 1.272537433e-4},
      {0.01, 1, 2.5, 2.175753323e-4},
  };
  for (const auto& v : vectors)
    expect_close(poisson_gaussian_rdp(v.q, v.z, v.order, add_remove), v.value, 1e-9, text(v.q, v.z, v.order));
}

TEST(PoissonGaussianRdp, QueriesOnOneBatchAreOneMechanism) {
  const double q = 2048.0 / 60000, joint = 1 / std::sqrt(2.0);
  expect_close(poisson_gaussian_rdp(q, joint, 2, add_remove), 7.4162215955e-3, 1e-9, "a=2");
  expect_close(2 * poisson_gaussian_rdp(q, 1, 2, add_remove), 3.9998844224e-3, 1e-9,
               "a=2, counted apart: too small");
  expect_close(poisson_gaussian_rdp(q, joint, 8, add_remove), 4.1400487849, 1e-9, "a=8");
  expect_close(2 * poisson_gaussian_rdp(q, 1, 8, add_remove), 0.43075194865, 1e-9, "a=8, counted apart: too small");
}

TEST(PoissonGaussianRdp, HighPrecisionReference) {
  for (const auto& v : add_remove_reference)
    expect_tight_bound(poisson_gaussian_rdp(v.q, v.z, v.order, add_remove), v.value, 5e-11,
                       text(v.q, v.z, v.order));
  for (const auto& v : replace_one_reference)
    expect_tight_bound(poisson_gaussian_rdp(v.q, v.z, v.order, replace_one), v.value, 5e-11,
                       text(v.q, v.z, v.order));
}

TEST(PoissonGaussianRdp, FractionalOrdersAgreeWithTheSignedSeries) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 300; ++i) {
    const double q = std::pow(10.0, -4 * uniform(random)) * 0.9, z = 0.5 * std::pow(20.0, uniform(random));
    const double order = 1.1 + 12 * uniform(random), expected = signed_series(q, z, order);
    const double value = poisson_gaussian_rdp(q, z, order, add_remove);
    // The series cancels down to its leading 1: its absolute error is near 1e-18.
    EXPECT_NEAR(value, expected, 1e-10 * value + 1e-16 / (order - 1)) << text(q, z, order);
  }
}

TEST(PoissonGaussianRdp, WholeOrdersAgreeWithTheQuadrature) {
  for (const double q : {1e-6, 1e-3, 0.1, 0.5, 0.99})
    for (const double z : {0.3, 0.7, 1.0, 4.0, 100.0, 1e4})
      for (const double a : {2.0, 3.0, 17.0, 256.0, 1024.0}) {
        const double quadrature = renyi_divergence({.q = q, .s = z, .opposite = false}, std::span(&a, 1)).front();
        expect_close(poisson_gaussian_rdp(q, z, a, add_remove), quadrature, 3e-11, text(q, z, a));
      }
}

// Divergence in the direction "add", D_a(N(0, s^2) || mixture), by a plain midpoint rule.
double added_record_divergence(double q, double z, double a) {
  long double sum = 0;
  const long double h = 0.005L;
  for (int i = -4000; i < 4000; ++i) {
    const long double t = h * (i + 0.5L), shift = t / z - 1 / (2.0L * z * z);
    sum += h * std::exp(-t * t / 2 + (1 - a) * std::log1p(q * std::expm1(shift)));
  }
  return static_cast<double>(std::log(sum / std::sqrt(2 * 3.14159265358979323846L)) / (a - 1));
}

TEST(PoissonGaussianRdp, RemovingARecordDominatesAddingOne) {
  expect_close(added_record_divergence(0.01, 1, 1.5), 1.214759931e-4, 1e-9, "a=1.5");
  expect_close(added_record_divergence(0.01, 1, 2.5), 1.981732891e-4, 1e-9, "a=2.5");
  for (const double q : {1e-3, 0.05, 0.3, 0.8})
    for (const double z : {0.7, 1.0, 3.0, 20.0})
      for (const double a : {1.1, 2.0, 5.5, 16.0})
        EXPECT_GE(poisson_gaussian_rdp(q, z, a, add_remove), added_record_divergence(q, z, a)) << text(q, z, a);
}

TEST(PoissonGaussianRdp, IsMonotone) {
  for (const auto adjacency : {add_remove, replace_one}) {
    const auto at = [&](double q, double z, double a) { return poisson_gaussian_rdp(q, z, a, adjacency); };
    for (const double q : {1e-5, 0.02, 0.4, 0.95})
      for (const double z : {0.4, 1.1, 9.0, 800.0})
        for (const double a : {1.05, 1.9, 2.0, 2.5, 30.0, 300.0}) {
          const double value = at(q, z, a);
          EXPECT_GT(at(q * 1.01, z, a), value) << text(q, z, a);
          EXPECT_LT(at(q, z * 1.01, a), value) << text(q, z, a);
          EXPECT_GT(at(q, z, a * 1.01), value) << text(q, z, a);
          EXPECT_GT(value, 0) << text(q, z, a);
          EXPECT_LT(value, gaussian_rdp(z, a)) << text(q, z, a);  // sampling only helps
        }
  }
}

// To second order in q both pairs have a chi-square form: q^2 (e^(1/z^2) - 1) for removal, and twice the sinh for
// replacement.
TEST(PoissonGaussianRdp, SmallSamplingRates) {
  for (const double z : {1.0, 3.0, 50.0}) {
    const double q = 1e-7, s = 2 * z;
    expect_close(poisson_gaussian_rdp(q, z, 2, add_remove), q * q * std::expm1(1 / (z * z)), 1e-6, "add_remove");
    expect_close(poisson_gaussian_rdp(q, z, 2, replace_one), q * q * 4 * std::sinh(1 / (s * s)), 1e-5,
                 "replace_one");
  }
}

TEST(PoissonGaussianRdp, ReplaceOneApproachesTheFullMechanism) {
  for (const double z : {2.0, 10.0, 300.0})
    for (const double a : {1.3, 2.0, 12.0})
      expect_close(poisson_gaussian_rdp(1 - 1e-12, z, a, replace_one), gaussian_rdp(z, a), 1e-9, text(1, z, a));
}

// From mpmath: a relative 1e-6 below the full mechanism although q = 1 - 1e-12.
TEST(PoissonGaussianRdp, ARareMissIsSeenAtHighOrders) {
  expect_tight_bound(poisson_gaussian_rdp(1 - 1e-12, 0.6, 12, replace_one), 16.6666493612206092, 5e-11, "q near 1");
}

// A replacement is a removal and an addition, so at equal noise (half the multiplier) it costs more, and by the
// weak triangle inequality (Mironov 2017, Prop. 11, exponents 2 and 2) not more than this.
TEST(PoissonGaussianRdp, ReplaceOneAgainstAddRemove) {
  for (const double q : {1e-4, 0.03, 0.5})
    for (const double z : {0.8, 2.0, 15.0})
      for (const double a : {1.5, 2.0, 9.0, 33.0}) {
        const double replaced = poisson_gaussian_rdp(q, z / 2, a, replace_one);
        EXPECT_GT(replaced, poisson_gaussian_rdp(q, z, a, add_remove)) << text(q, z, a);
        const double bound = (a - 0.5) / (a - 1) * poisson_gaussian_rdp(q, z, 2 * a, add_remove) +
                             poisson_gaussian_rdp(q, z, 2 * a - 1, add_remove);
        EXPECT_LT(replaced, bound) << text(q, z, a);
      }
}

TEST(PoissonGaussianRdp, ExtremeParametersStayBounds) {
  for (const auto adjacency : {add_remove, replace_one})
    for (const double q : {1e-300, 1e-12, 0.5, 1 - 1e-15})
      for (const double z : {1e-200, 1e-3, 0.05, 1e8, 1e200})
        for (const double a : {1.0001, 2.0, 2.5, 1024.0, 2048.0}) {
          const double value = poisson_gaussian_rdp(q, z, a, adjacency);
          EXPECT_GT(value, 0) << text(q, z, a);  // never a perfect guarantee by underflow
          EXPECT_LE(value, std::max(gaussian_rdp(z, a) * (1 + 1e-9), 1e-300)) << text(q, z, a);
        }
}

TEST(WorGaussianRdp, PublishedVectors) {  // the noise of the vectors is relative to C, the multiplier to 2C
  expect_close(wor_gaussian_rdp(100, 1, 2, 2), 1.136037135e-4, 1e-9, "a=2");
  expect_close(wor_gaussian_rdp(100, 1, 2, 16), 1.069952151e-3, 1e-9, "a=16");
  expect_close(wor_gaussian_rdp(60000, 2048, 5, 8), 1.505861656e-3, 1e-9, "a=8");
}

TEST(WorGaussianRdp, FractionalOrdersAndLimits) {
  EXPECT_LE(wor_gaussian_rdp(1000, 10, 3, 2.5), wor_gaussian_rdp(1000, 10, 3, 3));
  EXPECT_GE(wor_gaussian_rdp(1000, 10, 3, 2.5), wor_gaussian_rdp(1000, 10, 3, 2));
  expect_close(wor_gaussian_rdp(1000, 10, 3, 1.5), wor_gaussian_rdp(1000, 10, 3, 2), 1e-12, "chord from order 1");
  expect_close(wor_gaussian_rdp(50, 50, 3, 7), gaussian_rdp(3, 7), 1e-10, "the whole population");
  EXPECT_LE(wor_gaussian_rdp(50, 49, 0.5, 7), gaussian_rdp(0.5, 7));
  EXPECT_THROW(rdp_curve(WorGaussian{100, 1, 2}, add_remove, rdp_orders()), PrivacyError);
}

TEST(RdpCurve, RefusesBadOrdersAndParameters) {
  for (const double order : {1.0, 0.5, -2.0, 2049.0, std::nan("")})
    EXPECT_THROW(rdp_curve(Gaussian{1}, add_remove, std::span(&order, 1)), PrivacyError) << order;
  EXPECT_THROW(gaussian_rdp(0, 2), PrivacyError);
  EXPECT_THROW(poisson_gaussian_rdp(1.5, 1, 2, add_remove), PrivacyError);
  EXPECT_THROW(poisson_gaussian_rdp(0.5, std::nan(""), 2, replace_one), PrivacyError);
}

TEST(RdpCurve, DoesNotDependOnWhichOrdersAreAsked) {
  const auto& orders = rdp_orders();
  for (const auto adjacency : {add_remove, replace_one}) {
    const auto curve = rdp_curve(PoissonGaussian{0.02, 1.3}, adjacency, orders);
    for (std::size_t i = 0; i < orders.size(); i += 7)
      expect_close(curve[i], poisson_gaussian_rdp(0.02, 1.3, orders[i], adjacency), 1e-12,
                   text(0.02, 1.3, orders[i]));
  }
}

std::vector<double> scaled(std::vector<double> curve, double count) {
  for (double& x : curve) x *= count;
  return curve;
}

// A1 of min-max methods.
TEST(RdpConversion, PublishedVectors) {
  const auto& orders = rdp_orders();
  const auto expect = [&](double q, double z, double count, double epsilon, double order) {
    const auto curve = scaled(rdp_curve(PoissonGaussian{q, z}, add_remove, orders), count);
    const auto converted = rdp_to_epsilon(orders, curve, 1e-5);
    EXPECT_NEAR(converted.value, epsilon, 1e-9);
    EXPECT_EQ(converted.order, order);
    EXPECT_NEAR(rdp_to_delta(orders, curve, converted.value).value, 1e-5, 1e-14);
  };
  expect(0.01, 1, 1000, 2.107753075, 8);
  expect(2048.0 / 60000, 2, 2344, 4.188518764, 6);
  expect(1, 1, 1, 4.752728337, 5);
}

// The exact (epsilon, delta) curve of the Gaussian mechanism (Balle and Wang 2018).
double gaussian_delta(double z, double epsilon) {
  const auto upper = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  return upper(epsilon * z - 1 / (2 * z)) - std::exp(epsilon) * upper(epsilon * z + 1 / (2 * z));
}

TEST(RdpConversion, BoundsTheExactGaussianCurve) {
  const auto& orders = rdp_orders();
  for (const double z : {0.5, 1.0, 3.0, 10.0}) {
    const auto curve = rdp_curve(Gaussian{z}, add_remove, orders);
    for (const double epsilon : {0.1, 0.5, 1.0, 4.0, 10.0}) {
      const double delta = rdp_to_delta(orders, curve, epsilon).value;
      EXPECT_GE(delta, gaussian_delta(z, epsilon)) << z << " " << epsilon;
      EXPECT_LE(delta, 1);
      if (delta < 1 && delta > 1e-300) {
        EXPECT_NEAR(rdp_to_epsilon(orders, curve, delta).value, epsilon, 1e-9);
      }
    }
  }
}

TEST(RdpConversion, Limits) {
  const std::vector<double> orders{2, 4}, none{0, 0}, infinite(2, INFINITY);
  EXPECT_EQ(rdp_to_epsilon(orders, none, 1e-9).value, 0);
  EXPECT_EQ(rdp_to_delta(orders, none, 0).value, 0);
  EXPECT_EQ(rdp_to_epsilon(orders, infinite, 0.5).value, INFINITY);
  EXPECT_EQ(rdp_to_delta(orders, infinite, 100).value, 1);
  EXPECT_EQ(rdp_to_epsilon(orders, std::vector{1e-3, 1e-3}, 0.9).value, 0);  // floored
}

}  // namespace
}  // namespace dpmpi::rdp_test
