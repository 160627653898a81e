// What privacy and clamped steps take from a loss: proximal coefficients, convexity, bounds of its derivatives.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objective/linear/link_cases.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi::test::proximal_test {
namespace {

// A26: c - h phi'(m - c w) changes its sign within 1e-13 of c. It increases with c; at a kink it jumps. A change of
// the margin by two units of its last place counts as rounding: no c in double can resolve less.
TEST(Proximal, CoefficientsAreRoots) {
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

TEST(Proximal, LimitedRootsAreClampedRoots) {
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

TEST(Proximal, FactsOfTheLossesHold) {
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

}  // namespace
}  // namespace dpmpi::test::proximal_test
