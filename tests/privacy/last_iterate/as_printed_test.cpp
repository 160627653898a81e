#include "privacy/last_iterate/as_printed.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "privacy/curves/gaussian_curve.hpp"
#include "support/close.hpp"

namespace dpmpi::paper {
namespace {

using test::expect_close;

constexpr double delta = 1e-5;
constexpr Setting large{
    .records = 1e4, .dimension = 1e5, .directions = 200, .step = 200, .noise = 0.05, .convexity = 0.9};

TEST(Paper, CorollaryWithAllItsConstants) {
  const Corollary c = corollary(large, delta);
  EXPECT_EQ(c.window, 22361);
  expect_close(c.least_directions, 195.7600906);
  expect_close(c.printed, 0.7155417528);
  expect_close(c.displayed, 1.431083506);
  expect_close(c.repaired, 1.011928851);
  expect_close(c.best, 0.5059644256);
  expect_close(mironov_epsilon(c.printed, delta / 2), 6.626194717);
  expect_close(mironov_epsilon(c.displayed, delta / 2), 9.79000909);
  expect_close(mironov_epsilon(c.repaired, delta / 2), 8.040919411);
  expect_close(mironov_epsilon(c.best, delta / 2), 5.476211315);
  expect_close(gdp_epsilon(std::sqrt(2 * c.best), delta / 2), 4.567321937);
  expect_close(c.probe_printed, 2.236067977e-9);
  expect_close(c.probe_fixed, 4.472135955e-7);
  expect_close(c.probe_tight, 6.32455532e-6);

  const Setting small{
      .records = 1e3, .dimension = 1e4, .directions = 250, .step = 250, .noise = 0.1, .convexity = 0.9};
  const Corollary s = corollary(small, delta);
  EXPECT_EQ(s.window, 566);
  expect_close(s.least_directions, 171.7945364);
  expect_close(s.printed, 0.45254834);
  expect_close(s.displayed, 0.9050966799);
  expect_close(s.repaired, 0.64);
  expect_close(s.best, 0.32);
}

TEST(Paper, LiteralTheorem) {
  const auto expect = [](Setting p, double steps, double rho, double window, double epsilon) {
    p.steps = static_cast<std::uint64_t>(steps);
    p.probe = 1e-8;
    const Curve curve = theorem(p, delta);
    expect_close(curve.rho, rho);
    expect_close(static_cast<double>(curve.window), window, 1e-3);
    expect_close(curve.epsilon, epsilon);
  };
  expect(large, 1e6, 0.22148307, 10264, 3.5099103);
  expect({.records = 1e3, .dimension = 2000, .directions = 64, .step = 64, .noise = 0.3, .convexity = 0.1}, 1e5,
         1.6485569, 65, 10.620158);
  expect({.records = 1e3, .dimension = 5000, .directions = 16, .step = 16, .noise = 0.3}, 5e5, 22.151338, 5e5,
         55.03786);
}

TEST(Paper, SaysThatItProvesNothing) { EXPECT_STREQ(warning, "NOT A CERTIFICATE"); }

}  // namespace
}  // namespace dpmpi::paper
