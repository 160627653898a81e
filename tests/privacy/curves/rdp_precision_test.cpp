// The sampled Gaussian at the corners of what is promised (rates 1e-6 to 1, multipliers 0.3 to 1e4, orders up to
// 1024) against arithmetic with 50 digits and other formulas.

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "privacy/curves/rdp_at_order.hpp"

namespace dpmpi::rdp_precision_test {
namespace {

using F = boost::multiprecision::cpp_bin_float_50;
using test::poisson_gaussian_rdp;

// Mironov, Talwar and Zhang (2019), eq. for whole orders: the plain binomial sum, its leading 1 included.
double binomial_reference(double q, double z, int a) {
  const F rate = q, half = 1 / (2 * F(z) * F(z));
  F sum = 0, coefficient = pow(1 - rate, a);
  for (int k = 0; k <= a; ++k) {
    sum += coefficient * exp(F(k) * (k - 1) * half);
    coefficient = coefficient * (a - k) / (k + 1) * rate / (1 - rate);
  }
  return static_cast<double>(log(sum) / (a - 1));
}

// E r^a over the regions that matter, each a few deviations around a maximum of the integrand's parts: near 0,
// where r is near 1 - q, and near a/z, where q e^w dominates; midpoint rule, which converges like a Gaussian's
// transform.
double integral_reference(double q, double z, double a) {
  const F rate = q, order = a, s = z, log_rate = log(rate);
  const double last = a / z + 13;
  F sum = 0;
  const double h = z < 0.75 ? 1.0 / 32 : 1.0 / 8;  // exact in double, as are all points
  const auto log_term = [&](const F& t) {
    const F w = t / s - 1 / (2 * s * s);
    const F log_ratio = w > 60 ? F(log_rate + w) : F(log(1 - rate + rate * exp(w)));
    return F(-t * t / 2 + order * log_ratio);
  };
  // In double first, to find where terms count.
  const auto rough = [&](double t) {
    const double w = t / z - 1 / (2 * z * z);
    return -t * t / 2 + a * (w > 60 ? std::log(q) + w : std::log1p(q * std::expm1(w)));
  };
  double peak = -1e300;
  for (double t = -13; t < last; t += h) peak = std::max(peak, rough(t));
  for (double t = -13; t < last; t += h)
    if (rough(t) > peak - 75) sum += exp(log_term(F(t)) - peak);
  sum *= F(h) / sqrt(2 * boost::math::constants::pi<F>());
  return static_cast<double>((log(sum) + peak) / (order - 1));
}

std::string text(double q, double z, double order) { return fmt::format("q={} z={} order={}", q, z, order); }

// Down to divergences of 1e-24, which the 50 digits of E r^a = 1 + ... resolve.
void expect_tight(double q, double z, double a, double truth, double noise) {
  const double bound = poisson_gaussian_rdp(q, z, a, Adjacency::add_remove);
  EXPECT_LE(std::abs(bound - truth), 5e-11 * truth + noise) << text(q, z, a) << " " << bound << " " << truth;
  EXPECT_GE(bound, truth - noise) << text(q, z, a);
}

TEST(PoissonGaussianPrecision, WholeOrders) {
  for (const double q : {1e-6, 1e-4, 0.01, 0.3, 0.9, 1 - 1e-6})
    for (const double z : {0.3, 0.5, 1.0, 3.0, 40.0, 1e4})
      for (const int a : {2, 3, 10, 100, 1024}) expect_tight(q, z, a, binomial_reference(q, z, a), 0);
}

TEST(PoissonGaussianPrecision, FractionalOrders) {
  for (const double q : {1e-6, 0.01, 0.5, 1 - 1e-6})
    for (const double z : {0.3, 1.0, 20.0, 1e4})
      for (const double a : {1.01, 1.5, 7.3, 300.5})  // the rule leaves out tails of e^-75 and beyond 13 deviations
        expect_tight(q, z, a, integral_reference(q, z, a), 1e-32 / (a - 1));
}

TEST(PoissonGaussianPrecision, SlowFractionalOrders) {
  for (const double q : {1e-6, 1e-5, 1e-3, 0.05, 0.5, 0.97, 1 - 1e-6})
    for (const double z : {0.3, 0.35, 0.6, 2.0, 100.0, 1e4})
      for (const double a : {1.0625, 1.9, 2.001, 33.25, 511.5, 1023.5})
        expect_tight(q, z, a, integral_reference(q, z, a), 1e-32 / (a - 1));
}

// No order is replaced by the bound by convexity, which is far larger where sampling helps.
TEST(PoissonGaussianPrecision, NoOrderIsLost) {
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one})
    for (const double q : {1e-6, 0.01, 0.7, 1 - 1e-6})
      for (const double z : {0.3, 0.5, 3.0}) {
        double before = 0, slope = 0, order = 1;
        for (const double a : {2.0, 64.5, 256.0, 700.5, 1000.5, 1023.5, 1024.0}) {
          const double moment = (a - 1) * poisson_gaussian_rdp(q, z, a, adjacency);
          EXPECT_GE((moment - before) / (a - order), slope * (1 - 1e-9)) << text(q, z, a);  // convex in the order
          slope = (moment - before) / (a - order), before = moment, order = a;
        }
      }
}

}  // namespace
}  // namespace dpmpi::rdp_precision_test
