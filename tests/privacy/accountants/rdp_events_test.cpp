// Renyi bounds of mechanisms other than the sampled continuous Gaussian, against divergences summed or integrated
// directly.

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/last_iterate/case.hpp"

namespace dpmpi::rdp_events_test {
namespace {

constexpr auto add_remove = Adjacency::add_remove;
constexpr auto replace_one = Adjacency::replace_one;
using L = long double;

double rdp(const Mechanism& mechanism, double order, Adjacency adjacency = add_remove) {
  return rdp_curve(mechanism, adjacency, std::span(&order, 1)).front();
}

void expect_tight_bound(double bound, double truth, double tolerance, const std::string& what) {
  EXPECT_NEAR(bound, truth, tolerance * truth) << what;
  EXPECT_GE(bound, truth * (1 - 1e-15)) << what;
}

// D_a(P || Q) of densities on the line or masses on the lattice, summed over the given points.
double divergence(L a, const std::vector<L>& points, L weight, const std::function<L(L)>& p,
                  const std::function<L(L)>& q) {
  L sum = 0;
  for (const L x : points) sum += weight * std::pow(p(x) / q(x), a) * q(x);
  return static_cast<double>(std::log(sum) / (a - 1));
}

std::function<L(L)> mixture(L rate, const std::function<L(L)>& density, L shift) {
  return [=](L x) { return (1 - rate) * density(x) + rate * density(x - shift); };
}

std::function<L(L)> laplace(L scale) {
  return [=](L x) { return std::exp(-std::abs(x) / scale) / (2 * scale); };
}

// Gauss's two points in each of the cells of width 1/250: the kinks at multiples of 1/10 lie on their edges.
std::vector<L> gauss_points(L half_width) {
  std::vector<L> points;
  for (L i = -250 * half_width; i < 250 * half_width; ++i)
    for (const L sign : {-1, 1}) points.push_back((i + 0.5L + sign / (2 * std::sqrt(3.0L))) / 250);
  return points;
}
constexpr L gauss_weight = 1 / 500.0L;

TEST(LaplaceRdp, ClosedForm) {
  for (const double scale : {0.02, 0.5, 1.0, 7.0, 60.0})
    for (const double a : {1.01, 1.5, 2.0, 17.3, 128.0}) {
      const L t = 1 / static_cast<L>(scale), o = a;
      const L moment = o / (2 * o - 1) * std::exp((o - 1) * t) + (o - 1) / (2 * o - 1) * std::exp(-o * t);
      expect_tight_bound(rdp(Laplace{scale}, a), static_cast<double>(std::log(moment) / (o - 1)), 1e-10,
                         fmt::format("scale={} order={}", scale, a));
    }
  EXPECT_NEAR(rdp(Laplace{1}, 2), std::log(2.0 / 3 * std::exp(1.0) + std::exp(-2.0) / 3), 1e-10);
}

TEST(LaplaceRdp, StableAtAllScales) {
  for (const double a : {1.0001, 1.5, 2.0, 100.0, 2048.0}) {
    // Small shifts: a t^2 / 2 (1 + O(a t)). Large ones: t - log(2 - 1/a)/(a-1).
    EXPECT_NEAR(rdp(Laplace{1e8}, a) / (a * 0.5e-16), 1, 3e-5) << a;
    const double large = 1000 - std::log(2 - 1 / a) / (a - 1);
    expect_tight_bound(rdp(Laplace{1e-3}, a), large, a < 1.01 ? 1e-3 : 1e-9, fmt::format("order={}", a));
    for (double scale = 1e-3; scale < 1e4; scale *= 1.3) {
      EXPECT_LT(rdp(Laplace{scale * 1.01}, a), rdp(Laplace{scale}, a)) << scale;
      EXPECT_LE(rdp(Laplace{scale}, a), 1 / scale * (1 + 1e-10)) << scale;
    }
  }
}

TEST(PoissonLaplaceRdp, WholeOrdersByTheBinomialSum) {
  for (const double q : {1e-4, 0.03, 0.4, 0.99})
    for (const double scale : {0.1, 1.0, 8.0, 300.0})
      for (const int a : {2, 3, 10, 64}) {
        L sum = 0, coefficient = 1;  // of the terms minus one, which sum to 1
        for (int k = 0; k <= a; ++k) {
          const L t = 1 / static_cast<L>(scale);
          const L excess =
              k * std::expm1((k - 1) * t) / (2 * k - 1.0L) + (k - 1) * std::expm1(-k * t) / (2 * k - 1.0L);
          sum += coefficient * std::pow(static_cast<L>(q), k) * std::pow(1 - static_cast<L>(q), a - k) *
                 (k < 2 ? 0 : excess);
          coefficient = coefficient * (a - k) / (k + 1);
        }
        const double truth = static_cast<double>(std::log1p(sum) / (a - 1));
        expect_tight_bound(rdp(PoissonLaplace{q, scale}, a), truth, 1e-10,
                           fmt::format("q={} scale={} order={}", q, scale, a));
      }
}

TEST(PoissonLaplaceRdp, BothDirectionsByIntegration) {
  for (const double q : {0.02, 0.6})
    for (const double scale : {0.5, 3.0})
      for (const double a : {1.2, 7.7}) {
        const auto what = fmt::format("q={} scale={} order={}", q, scale, a);
        const auto points = gauss_points(static_cast<L>(30 * scale));
        const auto density = laplace(scale), sampled = mixture(q, density, 1);
        const double remove = divergence(a, points, gauss_weight, sampled, density);
        const double add = divergence(a, points, gauss_weight, density, sampled);
        EXPECT_NEAR(rdp(PoissonLaplace{q, scale}, a), remove, 1e-8 * remove + 1e-12) << what;
        EXPECT_LE(add, remove) << what;
      }
}

// Under replace_one every pair of shifts, each of length 1 at most and at distance 1 at most, is below the bound.
TEST(PoissonLaplaceRdp, ReplaceOneBoundsEveryPair) {
  const L shifts[][2] = {{1, 0}, {0, 1}, {0.5L, -0.5L}, {0.7L, -0.3L}, {1, 0.4L}, {-0.2L, 0.8L}};
  for (const double q : {0.05, 0.6})
    for (const double scale : {0.5, 1.5})
      for (const double a : {1.5, 8.0}) {
        const double bound = rdp(PoissonLaplace{q, scale}, a, replace_one);
        const auto points = gauss_points(static_cast<L>(30 * scale));
        double worst = 0;
        for (const auto& [x, y] : shifts)
          worst = std::max(worst, divergence(a, points, gauss_weight, mixture(q, laplace(scale), x),
                                             mixture(q, laplace(scale), y)));
        EXPECT_GE(bound, worst) << q << " " << scale << " " << a;
        EXPECT_LE(bound, 2.5 * worst) << q << " " << scale << " " << a;
        EXPECT_GT(bound, rdp(PoissonLaplace{q, scale}, a)) << q << " " << scale << " " << a;
        EXPECT_LT(bound, rdp(Laplace{scale}, a));
      }
}

TEST(PoissonLaplaceRdp, LimitsAndMonotonicity) {
  for (const auto adjacency : {add_remove, replace_one})
    for (const double scale : {1e-6, 1e-3, 0.3, 5.0, 1e4})
      for (const double a : {1.001, 1.5, 2.0, 33.3, 2048.0}) {
        const auto what = fmt::format("scale={} order={}", scale, a);
        const double full = rdp(Laplace{scale}, a);
        EXPECT_EQ(rdp(PoissonLaplace{1, scale}, a, adjacency), full) << what;
        const double nearly = rdp(PoissonLaplace{1 - 1e-13, scale}, a, adjacency);
        EXPECT_NEAR(nearly, full, 1e-9 * full) << what;
        double before = 0;
        for (const double q : {1e-9, 1e-4, 0.01, 0.2, 0.8}) {
          const double value = rdp(PoissonLaplace{q, scale}, a, adjacency);
          EXPECT_GT(value, before) << what << q;
          EXPECT_LE(value, std::log1p(q * std::expm1(std::min(1 / scale, 700.0))) * (1 + 1e-9) +
                               (scale < 1e-2 ? 1 / scale : 0))
              << what << q;
          before = value;
        }
        EXPECT_LE(before, full * (1 + 1e-9)) << what;
      }
}

TEST(ExponentialRdp, BoundedRange) {
  // At order 2 it is 2 log cosh(epsilon/2), below the published KL + (a-1) epsilon^2/8 = 0.2483016, and uses add.
  EXPECT_NEAR(rdp(Exponential{1}, 2), 2 * std::log(std::cosh(0.5)), 1e-10);
  EXPECT_LT(rdp(Exponential{1}, 2), 0.2483016);
  RdpAccountant accountant(add_remove, {2});
  accountant.compose({Exponential{1}, 10});
  EXPECT_NEAR(accountant.curve().front(), 20 * std::log(std::cosh(0.5)), 1e-9);
  EXPECT_LT(accountant.curve().front(), 2.483016);
}

// Over all two-point laws of the likelihood ratio with mean 1 and range e^epsilon.
TEST(ExponentialRdp, WorstTwoPointLaw) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 4.0, 12.0})
    for (const double a : {1.05, 1.5, 2.0, 5.5, 40.0}) {
      L worst = 0;
      const L range = std::exp(-static_cast<L>(epsilon));
      for (int i = 0; i <= 20000; ++i) {
        const L x = std::exp(static_cast<L>(epsilon) * i / 20000), y = x * range;
        worst = std::max(worst, (1 - y) / (x - y) * std::pow(x, a) + (x - 1) / (x - y) * std::pow(y, a));
      }
      const double truth = static_cast<double>(std::log(worst) / (static_cast<L>(a) - 1));
      const auto what = fmt::format("epsilon={} order={}", epsilon, a);
      EXPECT_GE(rdp(Exponential{epsilon}, a), truth * (1 - 1e-11)) << what;
      EXPECT_LE(rdp(Exponential{epsilon}, a), truth * (1 + 1e-6)) << what;
      EXPECT_LE(rdp(Exponential{epsilon}, a), std::min(epsilon, a * epsilon * epsilon / 8) * (1 + 1e-10)) << what;
      EXPECT_LE(rdp(Exponential{epsilon}, a), rdp(ApproxDp{epsilon, 0}, a) * (1 + 1e-10)) << what;
    }
  for (const double epsilon : {1e-300, 1e-9, 1e3, 1e9})
    for (const double a : {1 + 1e-9, 1.01, 2048.0}) {
      EXPECT_GT(rdp(Exponential{epsilon}, a), 0);
      EXPECT_LE(rdp(Exponential{epsilon}, a), epsilon * (1 + 1e-10));
    }
}

TEST(ApproxDpRdp, RandomizedResponse) {
  for (const double epsilon : {1e-4, 0.2, 1.0, 9.0})
    for (const double a : {1.01, 2.0, 3.7, 50.0}) {
      const L e = epsilon, o = a;
      const L excess = (std::expm1(o * e) + std::expm1((1 - o) * e) - std::expm1(e)) / (1 + std::exp(e));
      expect_tight_bound(rdp(ApproxDp{epsilon, 0.1}, a), static_cast<double>(std::log1p(excess) / (o - 1)), 1e-10,
                         fmt::format("epsilon={} order={}", epsilon, a));
    }
  EXPECT_EQ(rdp(ApproxDp{0, 0.1}, 3), 0);
  EXPECT_NEAR(rdp(ApproxDp{1e6, 0}, 2048), 1e6, 1e-3);
}

TEST(RdpAccountant, FailuresOfApproxDpAreTakenOffDelta) {
  RdpAccountant with(add_remove), without(add_remove);
  for (auto* accountant : {&with, &without}) accountant->compose({PoissonGaussian{0.01, 1.1}, 500});
  with.compose({ApproxDp{0.01, 1e-7}, 20});
  without.compose({ApproxDp{0.01, 0}, 20});
  const double failure = -std::expm1(20 * std::log1p(-1e-7));
  EXPECT_NEAR(with.failure(), failure, 1e-10 * failure);
  EXPECT_GE(with.failure(), failure);
  EXPECT_EQ(without.failure(), 0);
  EXPECT_NEAR(with.epsilon(1e-5), without.epsilon((1e-5 - failure) / (1 - failure)), 1e-9);
  EXPECT_NEAR(with.delta(1), failure + (1 - failure) * without.delta(1), 1e-15);
  EXPECT_NEAR(with.delta(with.epsilon(1e-5)), 1e-5, 1e-13);
  EXPECT_EQ(with.epsilon(1.9e-6), INFINITY);
  EXPECT_EQ(with.curve(), without.curve());
}

TEST(ZcdpRdp, LinearCurves) {
  for (const double a : {1.01, 2.0, 1024.0}) {
    EXPECT_NEAR(rdp(Zcdp{0.05}, a), 0.05 * a, 1e-10 * a);
    EXPECT_NEAR(rdp(Gdp{0.5}, a), 0.125 * a, 1e-10 * a);
    EXPECT_EQ(rdp(DiscreteGaussian{2}, a), rdp(Gaussian{2}, a));
    const Tree tree{.strategy = Strategy::full, .leaves = 1024, .noise_multiplier = 3};
    EXPECT_NEAR(rdp(tree, a), tree_mu(tree) * tree_mu(tree) / 2 * a, 1e-9 * a);
    EXPECT_NEAR(rdp(tree, a), 11.0 / 18 * a, 1e-9 * a);  // a leaf is part of 11 nodes
  }
}

TEST(ZcdpRdp, PublishedConversions) {
  const auto composed = [](double rho) {
    RdpAccountant accountant(replace_one);
    accountant.compose({Zcdp{rho}, 1});
    return accountant;
  };
  EXPECT_NEAR(composed(0.05).delta(1), 3.8570916e-4, 1e-11);
  EXPECT_NEAR(composed(0.5).delta(4), 1.9579542e-4, 1e-11);
  EXPECT_NEAR(composed(0.05).epsilon(1e-6), 1.4715948, 1e-7);
  const struct {
    double epsilon, delta, rho;
  } inverse[] = {{0.5, 1e-6, 0.0066415244}, {1, 1e-6, 0.02435597}, {1, 1e-9, 0.014973058},
                 {2, 1e-6, 0.088152688},    {4, 1e-9, 0.20631291}, {8, 1e-6, 1.052358}};
  for (const auto& v : inverse) EXPECT_NEAR(composed(v.rho).epsilon(v.delta), v.epsilon, 1e-6 * v.epsilon);
}

// Distances in total variation: delta(epsilon) + (1 + e^epsilon) times their sum.
TEST(ZcdpRdp, DistancesInTotalVariationAreAddedToDelta) {
  const auto composed = [](const std::vector<Event>& events) {
    RdpAccountant accountant(replace_one);
    accountant.compose(events);
    return accountant;
  };
  const double t = 1e-9;
  const RdpAccountant with = composed({{Zcdp{0.01, t}, 5}}), without = composed({{Zcdp{0.01}, 5}});
  EXPECT_EQ(with.curve(), without.curve());
  for (const double epsilon : {0.0, 0.3, 1.0}) {
    const double added = 5 * t * (1 + std::exp(epsilon));
    EXPECT_NEAR(with.delta(epsilon), without.delta(epsilon) + added, 1e-12);
    EXPECT_GE(with.delta(epsilon), without.delta(epsilon) + added);
  }
  for (const double delta : {1e-3, 1e-6, 1e-7}) {
    const double epsilon = with.epsilon(delta), added = 5 * t * (1 + std::exp(epsilon));
    EXPECT_NEAR(epsilon, without.epsilon(delta - added), 1e-9);
    EXPECT_GE(epsilon, without.epsilon(delta - added));
    EXPECT_NEAR(with.delta(epsilon), delta, 1e-9 * delta);
    EXPECT_EQ(epsilon, composed({{Zcdp{0.01, t}, 2}, {Zcdp{0.01, t}, 3}}).epsilon(delta)) << "grouping";
  }
  // Where the sum hardly reaches the delta at all, short of its smallest value: still the smallest solution.
  const RdpAccountant near = composed({{Zcdp{0.42735, 3.000003e-19}, 1}});
  EXPECT_NEAR(near.epsilon(1e-15), 7.99858, 1e-4);
  EXPECT_LE(near.delta(near.epsilon(1e-15)), 1e-15);
  // Nothing can be promised for a delta that the distances alone exceed, nor beyond the cheapest epsilon.
  EXPECT_EQ(with.epsilon(2 * 5 * t), INFINITY);
  EXPECT_EQ(composed({{Zcdp{3, 1e-5}, 1}}).epsilon(1e-4), INFINITY) << "where delta falls, e^epsilon is too large";
  double last = 1;
  for (double epsilon = 0; epsilon < 60; epsilon += 0.5) {
    EXPECT_LE(with.delta(epsilon), last * (1 + 1e-6)) << epsilon;
    last = with.delta(epsilon);
  }
  // Beside failures and sampled Gaussians, where orders are on a grid.
  const RdpAccountant mixed =
      composed({{Zcdp{0.01, t}, 1}, {PoissonGaussian{0.01, 1.1}, 100}, {ApproxDp{0, 1e-7}, 1}});
  const RdpAccountant plain =
      composed({{Zcdp{0.01}, 1}, {PoissonGaussian{0.01, 1.1}, 100}, {ApproxDp{0, 1e-7}, 1}});
  EXPECT_NEAR(mixed.delta(1), plain.delta(1) + t * (1 + std::exp(1)), 1e-15);
  EXPECT_EQ(composed({{Zcdp{1, 0.5}, 3}}).delta(1), 1);
}

// Where all curves are linear, real orders beat the grid, hardly; they reach deltas and epsilons beyond its ends.
TEST(ZcdpRdp, ConversionAtRealOrders) {
  const auto& orders = rdp_orders();
  for (const double rho : {1e-9, 1e-3, 0.3, 40.0})
    for (const double delta : {1e-2, 1e-6, 1e-12}) {
      const auto best = zcdp_to_epsilon(rho, delta);
      const auto grid = rdp_to_epsilon(orders, rdp_curve(Zcdp{rho}, add_remove, orders), delta);
      EXPECT_LE(best.value, grid.value * (1 + 1e-14));
      EXPECT_LE(best.value, rho + 2 * std::sqrt(-rho * std::log(delta)));  // Bun and Steinke 2016, Prop. 1.3
      if (rho > 1e-4 && rho < 1) {
        EXPECT_GT(best.value, 0.99 * grid.value);
      }
      if (best.value > 0) {
        EXPECT_NEAR(zcdp_to_delta(rho, best.value).value, delta, 1e-8 * delta);
      }
    }
  EXPECT_EQ(zcdp_to_epsilon(0, 1e-6).value, 0);
  EXPECT_EQ(zcdp_to_epsilon(INFINITY, 1e-6).value, INFINITY);
  EXPECT_EQ(zcdp_to_delta(INFINITY, 3).value, 1);
}

std::function<L(L)> discrete_gaussian(L sigma) {
  L total = 0;
  for (int x = -200; x <= 200; ++x) total += std::exp(-x * x / (2 * sigma * sigma));
  return [=](L x) { return std::exp(-x * x / (2 * sigma * sigma)) / total; };
}

std::vector<L> integers() {
  std::vector<L> points;
  for (int x = -60; x <= 60; ++x) points.push_back(x);
  return points;
}

// Sensitivity of 1 and 3 lattice steps, noise narrow and wide.
TEST(DiscreteGaussianRdp, BoundsLatticeSums) {
  for (const int shift : {1, 3})
    for (const L sigma : {0.4L, 1.0L, 4.0L})
      for (const double q : {0.01, 0.4, 1.0})
        for (const double a : {1.3, 2.0, 2.5, 6.0}) {
          const auto noise = discrete_gaussian(sigma), sampled = mixture(q, noise, shift);
          const double z = static_cast<double>(sigma / shift);
          const double remove = divergence(a, integers(), 1, sampled, noise);
          const double add = divergence(a, integers(), 1, noise, sampled);
          const double bound = rdp(PoissonDiscreteGaussian{q, z}, a);
          const auto what = fmt::format("shift={} z={} q={} order={}", shift, z, q, a);
          if (std::isfinite(remove)) {
            EXPECT_GE(bound, remove * (1 - 1e-9)) << what;
          }
          if (std::isfinite(add)) {
            EXPECT_GE(bound, add * (1 - 1e-9)) << what;
          }
          if (a == std::floor(a) && sigma == 4) {
            EXPECT_NEAR(bound, remove, 1e-9 * remove) << what;
          }
        }
}

TEST(DiscreteGaussianRdp, ReplaceOneBoundsLatticeSums) {
  const int shifts[][2] = {{1, -1}, {2, 0}, {0, 2}, {2, 1}};  // at distance 2 at most
  for (const L sigma : {1.0L, 4.0L})
    for (const double q : {0.01, 0.1, 0.5, 1.0})
      for (const double a : {1.5, 2.0, 3.0, 7.0}) {
        const double z = static_cast<double>(sigma / 2);
        const double bound = rdp(PoissonDiscreteGaussian{q, z}, a, replace_one);
        for (const auto& [x, y] : shifts) {
          const double truth = divergence(a, integers(), 1, mixture(q, discrete_gaussian(sigma), x),
                                          mixture(q, discrete_gaussian(sigma), y));
          EXPECT_GE(bound, truth * (1 - 1e-9)) << z << " " << q << " " << a << " " << x << " " << y;
        }
        EXPECT_LE(bound, rdp(DiscreteGaussian{z}, a <= 2 ? 2 : std::ceil(a)) * (1 + 1e-9));
      }
}

TEST(DiscreteGaussianRdp, AgainstTheContinuousBounds) {
  for (const double a : {1.5, 2.0, 9.0, 9.5, 500.0}) {
    const double continuous = rdp(PoissonGaussian{0.02, 1.4}, a),
                 discrete = rdp(PoissonDiscreteGaussian{0.02, 1.4}, a);
    if (a == std::floor(a)) {
      EXPECT_EQ(discrete, continuous);
    } else {  // chords
      EXPECT_GT(discrete, continuous);
    }
    EXPECT_GT(rdp(WorDiscreteGaussian{1000, 20, 1.4}, a, replace_one),
              rdp(WorGaussian{1000, 20, 1.4}, a, replace_one));
  }
  EXPECT_THROW(rdp(WorDiscreteGaussian{1000, 20, 1.4}, 2), PrivacyError);
}

// k copies of a record are k replacements: the composed bound at distance k is that of k times the sensitivity.
TEST(GroupPrivacy, LinearCurvesGrowWithTheSquare) {
  for (const double a : {1.5, 2.0, 40.0})
    for (const int k : {2, 5}) {
      EXPECT_NEAR(rdp(Gaussian{4.0 / k}, a), k * k * rdp(Gaussian{4}, a), 1e-10 * k * k);
      EXPECT_GE(rdp(Laplace{4.0 / k}, a), k * rdp(Laplace{4}, a));  // convex in the shift
    }
}

TEST(RdpCurve, KnowsEveryMechanism) {
  const Mechanism mechanisms[] = {Gaussian{1},
                                  PoissonGaussian{0.1, 1},
                                  PoissonGaussianGroup{0.1, 3, 3},
                                  CyclicPoissonGaussian{9, 3, 2, 0.1, 1},
                                  RandomAllocationGaussian{9, 2, 1},
                                  WorGaussian{100, 10, 1},
                                  DiscreteGaussian{1},
                                  PoissonDiscreteGaussian{0.1, 1},
                                  WorDiscreteGaussian{100, 10, 1},
                                  Laplace{1},
                                  PoissonLaplace{0.1, 1},
                                  Tree{.strategy = Strategy::fenwick, .leaves = 8, .noise_multiplier = 1},
                                  with_all_on_directions(G4).run(3),
                                  Zcdp{0.5},
                                  Gdp{1},
                                  Exponential{1},
                                  ApproxDp{1, 1e-6},
                                  RepeatAndSelect{{.shape = 1, .gamma = 0.1}, {{Gaussian{3}, 1}}},
                                  NonPrivate{}};
  static_assert(std::size(mechanisms) == std::variant_size_v<Mechanism>);
  for (const auto& mechanism : mechanisms) {
    double before = 0;
    for (const double value : rdp_curve(mechanism, replace_one, rdp_orders())) {
      EXPECT_GE(value, before * (1 - 1e-10)) << name(mechanism);  // increases with the order
      before = value;
    }
    RdpAccountant accountant(replace_one);
    accountant.compose({mechanism, 3});
    if (std::isfinite(before)) {
      EXPECT_NEAR(accountant.delta(accountant.epsilon(1e-3)), 1e-3, 1e-7) << name(mechanism);  // other orders
    }
  }
}

}  // namespace
}  // namespace dpmpi::rdp_events_test
