#include "privacy/loss_distributions/grid.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/loss_distributions/compose.hpp"
#include "privacy/loss_distributions/group_pair.hpp"
#include "privacy/loss_distributions/pairs.hpp"
#include "privacy/loss_distributions/transform.hpp"

namespace dpmpi::grid_test {
namespace {

struct Named {
  std::string name;
  LossPair pair;
};
std::vector<Named> pairs() {
  std::vector<Named> list = {
      {"gaussian", gaussian_pair(1.3)},
      {"narrow gaussian", gaussian_pair(.02)},
      {"laplace", laplace_pair(.8)},
      {"sampled gaussian", sampled_pair(gaussian_pair(1), .01)},
      {"sharply sampled gaussian", sampled_pair(gaussian_pair(4), .05)},
      {"sampled laplace", sampled_pair(laplace_pair(.5), .1)},
      {"opposite gaussians", opposite_gaussian_pair(.05, 1.5)},
      {"opposite gaussians with little noise", opposite_gaussian_pair(.01, .2)},
      {"group", group_pair({.01, 2, 5})},
      {"group of one", group_pair({.02, .8, 1})},
      {"large group with little noise", group_pair({.003, .5, 100})},
      {"group that is nearly always drawn", group_pair({.97, 9, 12})},
      {"randomized response", randomized_response_pair(.7, 1e-3)},
      {"bounded range", bounded_range_pair(1.1)},
      {"worse order", in_worse_order(sampled_pair(gaussian_pair(1), .01))},
      {"worse order with little noise", in_worse_order(sampled_pair(gaussian_pair(4), .05))},
      {"worse order with much noise", in_worse_order(sampled_pair(gaussian_pair(.2), .3))},
  };
  for (const char* name : {"sampled gaussian", "sharply sampled gaussian", "sampled laplace", "group",
                           "large group with little noise", "group that is nearly always drawn"}) {
    const auto found = std::ranges::find(list, name, &Named::name);
    list.push_back({std::string(name) + ", reversed", reversed(found->pair)});
  }
  return list;
}

// P{loss > l} - e^l Q{loss > l}, the supremum at gamma = e^l.
double divergence(const LossPair& pair, double loss) {
  double sum = pair.infinite;
  if (pair.cut) {
    const LossCut cut = pair.cut(loss);
    sum += cut.p_above - std::exp(loss) * cut.q_above;
  }
  for (const LossAtom& atom : pair.atoms)
    if (atom.loss > loss) sum += atom.p - std::exp(loss) * atom.q;
  return sum;
}
double divergence(const GridLaw& law, double loss) {
  double sum = law.infinite;
  for (std::size_t i = 0; i < law.mass.size(); ++i)
    if (law.loss(i) > loss) sum -= law.mass[i] * std::expm1(loss - law.loss(i));
  return sum;
}

TEST(LossPair, LawsAreConsistent) {
  for (const auto& [name, pair] : pairs()) {
    SCOPED_TRACE(name);
    double p = pair.infinite, q = 0;
    if (pair.cut) {
      const LossCut low = pair.cut(-50);
      p += low.p_above, q += low.q_above + low.q_below;
    }
    for (const LossAtom& atom : pair.atoms) {
      p += atom.p, q += atom.q;
      EXPECT_NEAR(atom.q, atom.p * std::exp(-atom.loss), 1e-15);
    }
    EXPECT_NEAR(p, 1, 1e-14);
    EXPECT_NEAR(q, 1 - pair.infinite, 1e-14);
    if (!pair.cut) continue;
    // Between two losses P/Q lies between their exponentials: cuts are at the losses that they claim.
    for (double loss = -6; loss < 6; loss += .01) {
      const LossCut a = pair.cut(loss), b = pair.cut(loss + .01);
      EXPECT_NEAR(a.p_above + a.p_below, pair.cut(0).p_above + pair.cut(0).p_below, 1e-14);
      const double dp = a.p_above < b.p_below ? a.p_above - b.p_above : b.p_below - a.p_below;
      const double dq = a.q_above < b.q_below ? a.q_above - b.q_above : b.q_below - a.q_below;
      EXPECT_GE(dp, std::exp(loss) * dq * (1 - 1e-9) - 1e-300);
      EXPECT_LE(dp, std::exp(loss + .01) * dq * (1 + 1e-9) + 1e-300);
    }
  }
}

// The mirrored pair's divergences follow from the pair's own: H_g(Q||P) = 1 - g + g H_(1/g)(P||Q).
TEST(LossPair, ReversalKeepsTheIdentityOfDivergences) {
  const LossPair pair = sampled_pair(gaussian_pair(.8), .2), mirrored = reversed(pair);
  for (const double loss : {-.15, -.05, 0., .03, .2})
    EXPECT_NEAR(divergence(mirrored, loss), 1 - std::exp(loss) + std::exp(loss) * divergence(pair, -loss), 1e-14);
}

TEST(LossPair, NarrowerPairsHaveSmallerDivergences) {
  const LossPair pairs[] = {laplace_pair(.7), randomized_response_pair(1.1, .01),
                            sampled_pair(laplace_pair(.7), .3), reversed(sampled_pair(laplace_pair(.7), .3))};
  for (const LossPair& pair : pairs)
    for (const double share : {.99, .5, .01}) {
      const double span = share * std::abs(pair.span);
      const LossPair narrow = pair.narrowed(span);
      EXPECT_NEAR(std::abs(narrow.span), span, 1e-13);
      for (double loss = -3; loss < 3; loss += .0173)
        EXPECT_LE(divergence(narrow, loss), divergence(pair, loss) + 1e-14) << share << " at " << loss;
    }
}

// Losses end at log(1 - q), far below all that occur.
TEST(LossPair, RangesReachNoFurtherThanLossesThatOccur) {
  for (const double q : {.9999, 1 - 1e-9}) {
    const LossPair pair = sampled_pair(gaussian_pair(.01), q);
    for (const LossRange& range : {loss_range(pair, 1e-15), loss_range(reversed(pair), 1e-15)}) {
      EXPECT_LT(range.low, -.05);
      EXPECT_GT(range.low, -.1);
      EXPECT_GT(range.high, .05);
      EXPECT_LT(range.high, .1);
    }
  }
}

TEST(LossPair, TheWorseOrderHasTheLargerDivergence) {
  for (const double mu : {.1, 1., 3.})
    for (const double q : {.001, .1, .9}) {
      const LossPair pair = sampled_pair(gaussian_pair(mu), q), worse = in_worse_order(pair), back = reversed(pair);
      for (double loss = -3; loss < 3; loss += .0173)
        EXPECT_NEAR(divergence(worse, loss), std::max(divergence(pair, loss), divergence(back, loss)), 1e-14)
            << mu << ' ' << q << " at " << loss;
    }
}

// The opposite pair at its definition, by the likelihood ratio at the cut.
TEST(LossPair, OppositeGaussiansInvertTheirRatio) {
  const double q = .03, s = .9;
  const LossPair pair = opposite_gaussian_pair(q, s);
  const auto ratio = [&](double x) {
    const double c = q * std::exp(-.5 / (s * s));
    return (1 - q + c * std::exp(x / (s * s))) / (1 - q + c * std::exp(-x / (s * s)));
  };
  const auto tail = [](double t) { return std::erfc(t / std::sqrt(2.0)) / 2; };
  for (const double x : {-3., -.4, 0., .2, 1.5, 4.}) {
    const LossCut cut = pair.cut(std::log(ratio(x)));
    EXPECT_NEAR(cut.p_above, (1 - q) * tail(x / s) + q * tail((x - 1) / s), 1e-13);
    EXPECT_NEAR(cut.q_above, (1 - q) * tail(x / s) + q * tail((x + 1) / s), 1e-13);
  }
}

// On steps that suit the pair and on those that suit another one.
TEST(GridLaw, EnclosesDivergencesForEveryGamma) {
  for (const auto& [name, pair] : pairs())
    for (const double wanted : {.9, .11, .013})
      for (const double step : {aligned_step(pair, wanted), wanted}) {
        SCOPED_TRACE(name + ", step " + std::to_string(step));
        const LossRange range = loss_range(pair, 1e-13);
        EXPECT_LE(step, wanted * (1 + 1e-15));
        const GridLaw upper = discretize(pair, range, step, Bound::upper);
        const GridLaw lower = discretize(pair, range, step, Bound::lower);
        EXPECT_TRUE(std::ranges::all_of(upper.mass, [](double m) { return m >= 0; }));
        EXPECT_TRUE(std::ranges::all_of(lower.mass, [](double m) { return m >= 0; }));
        double widest = 0;
        for (double loss = -5; loss < 5; loss += .0173) {
          const double exact = divergence(pair, loss), slack = 1e-14 * (1 + std::exp(loss));
          EXPECT_GE(divergence(upper, loss), exact - slack) << loss;
          EXPECT_LE(divergence(lower, loss), exact + slack) << loss;
          widest =
              std::max(widest, (divergence(upper, loss) - divergence(lower, loss)) / std::max(1.0, std::exp(loss)));
        }
        EXPECT_LE(widest, -std::expm1(-wanted));
      }
}

// The same where points far from the anchor are left out.
TEST(GridLaw, EnclosesDivergencesWithFewPointsFarOut) {
  for (const auto& [name, pair] : pairs())
    for (const double wanted : {.11, .013})
      for (const double dense : {2., 16.})
        for (const double step : {aligned_step(pair, wanted), wanted}) {
          SCOPED_TRACE(name + ", step " + std::to_string(step) + ", dense " + std::to_string(dense));
          const LossRange range = loss_range(pair, 1e-13);
          const GridLaw upper = discretize(pair, range, step, Bound::upper, dense);
          const GridLaw lower = discretize(pair, range, step, Bound::lower, dense);
          EXPECT_TRUE(std::ranges::all_of(upper.mass, [](double m) { return m >= 0; }));
          EXPECT_TRUE(std::ranges::all_of(lower.mass, [](double m) { return m >= 0; }));
          for (double loss = -5; loss < 5; loss += .0173) {
            const double exact = divergence(pair, loss), slack = 1e-14 * (1 + std::exp(loss));
            EXPECT_GE(divergence(upper, loss), exact - slack) << loss;
            EXPECT_LE(divergence(lower, loss), exact + slack) << loss;
          }
        }
}

// Means differ in second order of the step for smooth laws: what makes 10^6 uses affordable.
TEST(GridLaw, BothBoundsConvergeWithTheSquareOfTheStep) {
  for (const auto& [name, pair] : pairs()) {
    SCOPED_TRACE(name);
    const auto gap = [&](double wanted) {
      const LossRange range = loss_range(pair, 1e-14);
      const double step = aligned_step(pair, wanted);
      const auto mean = [&](Bound bound) {
        const GridLaw law = discretize(pair, range, step, bound);
        double sum = 0;
        for (std::size_t i = 0; i < law.mass.size(); ++i) sum += law.mass[i] * law.loss(i);
        return sum;
      };
      return mean(Bound::upper) - mean(Bound::lower);
    };
    EXPECT_LE(gap(3e-4), 1e-7);
    EXPECT_GE(gap(3e-4), -1e-12);
  }
}

double direct(const std::vector<double>& a, std::size_t k) {  // a * a * a at k, on the circle
  const std::size_t n = a.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) sum += a[i] * a[j] * a[(k + 2 * n - i - j) % n];
  return sum;
}

TEST(CircularPowers, AgreesWithSumsWithinItsBound) {
  CircularPowers powers(64);
  std::vector<double> law(64);
  for (std::size_t i = 0; i < 64; ++i) law[i] = std::exp(-std::pow(static_cast<double>(i) - 20, 2) / 9);
  double total = 0;
  for (const double m : law) total += m;
  for (double& m : law) m /= total;
  std::ranges::copy(law, powers.law().begin());
  powers.multiply(3);
  const auto [mass, error, norm_of_errors] = powers.product();
  EXPECT_LT(error, 1e-13);
  EXPECT_LT(norm_of_errors, 1e-13);
  double squares = 0;
  for (std::size_t k = 0; k < 64; ++k) {
    EXPECT_NEAR(mass[k], direct(law, k), error);
    squares += std::pow(mass[k] - direct(law, k), 2);
  }
  EXPECT_LE(std::sqrt(squares), norm_of_errors);
}

TEST(CircularPowers, BoundsItsErrorForManyUses) {  // binomial masses
  const int n = 1000;
  CircularPowers powers(2048);
  std::ranges::fill(powers.law(), 0.0);
  powers.law()[0] = .7;
  powers.law()[1] = .3;
  powers.multiply(n);
  const auto [mass, error, norm_of_errors] = powers.product();
  EXPECT_LT(error, 1e-11);
  EXPECT_LT(norm_of_errors, 1e-9);
  for (int k = 0; k <= n; ++k) {
    const long double log_mass = std::lgamma(n + 1.0L) - std::lgamma(k + 1.0L) - std::lgamma(n - k + 1.0L) +
                                 k * std::log(.3L) + (n - k) * std::log(.7L);
    EXPECT_NEAR(mass[static_cast<std::size_t>(k)], static_cast<double>(std::exp(log_mass)), error);
  }
}

std::vector<double> geometric_powers(double ratio, double count) {
  CircularPowers powers(256);
  double mass = 1 - ratio;
  for (double& m : powers.law()) m = mass, mass *= ratio;
  powers.multiply(count);
  return powers.product().mass;
}

// Of 10^5 uses all but a few frequencies vanish.
TEST(CircularPowers, KeptArraysChangeNoBit) {
  const std::vector<double> few = geometric_powers(.5, 3), many = geometric_powers(.9, 1e5);
  const KeptTransforms kept;
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(geometric_powers(.5, 3), few);
    EXPECT_EQ(geometric_powers(.9, 1e5), many);
  }
}

// A law used n times, and n laws used once, or in two parts of which one alone vanishes.
TEST(CircularPowers, VanishingFrequenciesComposeLikeOthers) {
  const auto in_parts = [](std::vector<double> counts) {
    CircularPowers powers(64);
    for (const double count : counts) {
      std::ranges::fill(powers.law(), 0.0);
      powers.law()[0] = .6, powers.law()[1] = .4;
      powers.multiply(count);
    }
    return powers.product();
  };
  const auto whole = in_parts({6000}), parts = in_parts({5999, 1}), turned = in_parts({1, 5999});
  for (std::size_t k = 0; k < whole.mass.size(); ++k) {
    EXPECT_NEAR(whole.mass[k], parts.mass[k], whole.error + parts.error);
    EXPECT_NEAR(whole.mass[k], turned.mass[k], whole.error + turned.error);
  }
  EXPECT_LT(whole.error, 1e-10);
}

// A tilted law's total is 1 to the last bits: what a plain sum of 10^6 masses loses would be 3e-5 of everything
// after 10^7 uses, and shift all masses of the circle. From above epsilon was 2.70 here; it is 2.8913 at least.
TEST(ComposedLoss, TotalsDoNotDriftOverManyUses) {
  const LossPair pair = opposite_gaussian_pair(1e-6, .4);
  const double uses = 1e7, delta = 1e-7, step = 1.57e-5;
  const LossRange range = loss_range(pair, delta * 0x1p-30 / uses);
  const std::vector<CountedLaw> laws = {{discretize(pair, range, step, Bound::upper), uses}};
  Focus focus;
  focus.tilt = .81, focus.low = -5.25, focus.size = 1u << 20, focus.rise = 2.43, focus.fall = 5.16;
  EXPECT_GE(ComposedLoss(laws, focus, Bound::upper).epsilon(delta), 2.8912);
}

// Rare losses far from where mass crowds cost few points, not as many as there are steps to them.
TEST(GridLaw, RareLossesFarOutCostFewPoints) {
  const LossPair pair = reversed(sampled_pair(gaussian_pair(1 / .6), 1e-5));
  const LossRange range = loss_range(pair, 1e-18);
  const double dense = 4096, step = (range.high - range.low) / (32 * dense);
  for (const Bound bound : {Bound::upper, Bound::lower}) {
    EXPECT_LT(static_cast<double>(discretize(pair, range, step, bound, dense).mass.size()), 6 * dense);
    EXPECT_GT(static_cast<double>(discretize(pair, range, step, bound).mass.size()), 31 * dense);
  }
}

// A window that is too small, or in the wrong place, must cost width, never validity: mass wraps around into it.
TEST(ComposedLoss, BadWindowsStayValid) {
  const double mu = .2, uses = 25;  // together mu = 1
  const LossPair pair = gaussian_pair(mu);
  const LossRange range = loss_range(pair, 1e-20);
  const double step = .01;
  const std::vector<CountedLaw> upper = {{discretize(pair, range, step, Bound::upper), uses}};
  const std::vector<CountedLaw> lower = {{discretize(pair, range, step, Bound::lower), uses}};
  int useful = 0;
  for (const std::size_t size : {16, 64, 256, 512, 1024, 4096})
    for (const double low : {-20., -4., -1., 0., 2., 4.})
      for (const double tilt : {.05, 1., 4.})
        for (const double further : {.3, 2., 20.}) {
          Focus focus;
          focus.tilt = tilt, focus.low = low, focus.size = size, focus.rise = focus.fall = further;
          const ComposedLoss above(upper, focus, Bound::upper), below(lower, focus, Bound::lower);
          for (const double epsilon : {.1, 1., 3., 5.}) {
            const double exact = gdp_delta(1, epsilon);
            ASSERT_GE(above.delta(epsilon), exact) << size << ' ' << low << ' ' << tilt << ' ' << epsilon;
            ASSERT_LE(below.delta(epsilon), exact) << size << ' ' << low << ' ' << tilt << ' ' << epsilon;
            ASSERT_GE(above.epsilon(exact), epsilon) << size << ' ' << low << ' ' << tilt;
            ASSERT_LE(below.epsilon(exact), epsilon) << size << ' ' << low << ' ' << tilt;
            useful += above.delta(epsilon) < 1.01 * exact && below.delta(epsilon) > .99 * exact;
          }
        }
  EXPECT_GE(useful, 40);
}

}  // namespace
}  // namespace dpmpi::grid_test
