// The planner against the published table (section 2.6 of the specification): integers exactly, reals to 1e-6.
#include "method/zeroth_order/planner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/zeroth_order/paper.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi::planner_test {
namespace {

using test::paper_sigma, test::PaperLengths;

constexpr std::uint64_t one[] = {1};

ZoProblem million() { return {.records = 1e6, .dim = 32, .lipschitz = 1, .radius = 0.5, .gap = 1, .rho = 1}; }

struct Row {
  std::uint64_t T, B1, K;
  double sigma, V, N, bound;
};

void expect_row(const ZoPlan& plan, const Row& row) {
  EXPECT_EQ(plan.shape.inner, row.T);
  EXPECT_EQ(plan.shape.first_batch, row.B1);
  EXPECT_EQ(plan.shape.outer, row.K);
  EXPECT_NEAR(plan.bound.sigma / row.sigma, 1, 1e-6);
  EXPECT_NEAR(plan.bound.V / row.V, 1, 1e-6);
  EXPECT_NEAR(plan.bound.N / row.N, 1, 1e-6);
  EXPECT_NEAR(plan.bound.value / row.bound, 1, 1e-6);
}

const ZoEstimator exact = ZoEstimator::directions(32, 32, 1, 1);         // tier X: independent directions
const ZoEstimator orthonormal = ZoEstimator::directions(32, 32, 32, 1);  // tier O

TEST(ZoPlanner, PublishedTable) {
  const std::uint64_t sixteen[] = {16};
  ZoProblem large = million();
  large.records = 1e8;
  expect_row(plan_zo(million(), exact, one), {65536, 33777, 10, 0.0078125, 0.034620292, 0.12500012, 0.72377059});
  expect_row(plan_zo(million(), orthonormal, one),
             {32768, 16922, 20, 0.0026744266, 0.03464569, 0.041432122, 0.35810017});
  expect_row(plan_zo(million(), orthonormal, sixteen),
             {1024, 8592, 40, 0.0043673203, 0.048977419, 0.055248112, 0.34295811});
  expect_row(plan_zo(large, orthonormal, one),
             {262144, 134664, 252, 0.00036621094, 0.012250747, 0.006214807, 0.054793314});
}

// Starting the running sum again every q steps; the bound is the one that the specification quotes.
TEST(ZoPlanner, RestartsHelpInHighDimension) {
  const ZoProblem p{.records = 1e8, .dim = 1024, .lipschitz = 1, .radius = 0.5, .gap = 1, .rho = 1};
  ZoEstimator e = ZoEstimator::directions(1024, 1024, 1024, 1);
  e.gradient_clip = 2;
  ZoShape shape{.inner = 4096, .restart = 256, .first_batch = 32768, .batch = 256};
  shape.outer = 100'000'000 / shape.records_per_epoch();
  EXPECT_EQ(shape.outer, 63u);
  const ZoBound bound = zo_bound(p, e, shape, zo_sigma(p, e, shape),
                                 mean_prefix_noise_variance({Strategy::fenwick, 256, 1}), p.radius / 4096);
  EXPECT_NEAR(bound.value, 0.146686, 1e-6);
}

// Trap: min for max. M = 1e6, d = 10, L = delta = F* = 1.
TEST(ZoPlanner, CandidatesForTheEpochLength) {
  ZoProblem p{.records = 1e6, .dim = 10, .lipschitz = 1, .radius = 1, .gap = 1, .rho = 1};
  EXPECT_NEAR(PaperLengths(p).a, 13572.0881, 1e-4);
  EXPECT_NEAR(PaperLengths(p).b, 3976.3536, 1e-4);
  p.rho = 1e-2;
  EXPECT_NEAR(PaperLengths(p).b, 39763.5364, 1e-4);
  // A T + B / sqrt(T) + C / T of the proof, over M: with the minimum a term stays large.
  p.rho = 1e-4;
  const PaperLengths lengths(p);
  const auto terms = [&](double T) {
    const double A = p.gap + p.lipschitz * p.radius;
    return A * T / (p.radius * p.records) + std::sqrt(p.dim) * p.lipschitz / std::sqrt(T) +
           std::pow(p.dim, 1.5) * p.lipschitz / (p.rho * T);
  };
  EXPECT_NEAR(terms(lengths.printed()), 23.354, 1e-3);
  EXPECT_NEAR(terms(lengths.proven()), 1.5956, 1e-4);
}

// Section 3.4: sigma of the paper, of independent and of orthonormal directions, and of other strategies.
TEST(ZoPlanner, NoiseTable) {
  struct Case {
    double d, L, rho;
    std::uint64_t T, B1, B2;
    double paper, iid, haar, haar_add_remove, honaker, toeplitz;
  };
  constexpr Case table[] = {
      {32, 1, 1, 1024, 1025, 1, 0.465412176, 0.395284708, 0.0698771243, 0.0349385621, 0.0732877462, 0.039972177},
      {16, 1, 0.5, 512, 2048, 8, 0.11038219, 0.0988211769, 0.0247052942, 0.0123526471, 0.0247052942, 0.0136480615},
      {100, 2, 1, 64, 65, 1, 36.0506722, 30.6186218, 3.06186218, 1.53093109, 3.30718914, 1.92995125},
      {10, 1, 1, 4, 2, 1, 16.6510922, 17.3205081, 5.47722558, 2.73861279, 5.47722558, 3.85782484},
      {10, 1, 0.25, 1000, 500, 1, 0.59470755, 0.505964426, 0.16, 0.08, 0.16, 0.0914243287},
      {1000, 1, 0.26805112, 4096, 34000, 16, 0.92871142, 0.791234342, 0.0250210268, 0.0125105134, 0.0259617588,
       0.0138762474}};
  for (const Case& c : table) {
    ZoProblem p{.records = 1e9, .dim = c.d, .lipschitz = c.L, .radius = 0.5, .gap = 1, .rho = c.rho};
    const ZoShape shape{c.T, c.T, c.B1, c.B2, 1};
    const auto haar = ZoEstimator::directions(c.d, c.d, c.d, c.L);
    EXPECT_NEAR(paper_sigma(p, static_cast<double>(c.T), static_cast<double>(c.B2)) / c.paper, 1, 1e-8) << c.d;
    EXPECT_NEAR(zo_sigma(p, ZoEstimator::directions(c.d, c.d, 1, c.L), shape) / c.iid, 1, 1e-8) << c.d;
    EXPECT_NEAR(zo_sigma(p, haar, shape) / c.haar, 1, 1e-8) << c.d;
    const double s_1 = 2 * haar.gradient_clip / static_cast<double>(c.B1);
    const double s_d = 2 * haar.kappa * c.L * 2 / static_cast<double>(c.T * c.B2);
    const auto with = [&](Strategy strategy) {
      return s_d * std::sqrt(squared_sensitivity({strategy, c.T, 1, 0, s_1 / s_d})) / c.rho;
    };
    EXPECT_NEAR(with(Strategy::fenwick) / c.haar, 1, 1e-8) << c.d;
    EXPECT_NEAR(with(Strategy::full_honaker) / c.honaker, 1, 1e-8) << c.d;
    EXPECT_NEAR(with(Strategy::sqrt_toeplitz) / c.toeplitz, 1, 1e-8) << c.d;
    p.change = 1;  // trap: half the noise under add_remove, and under add_remove only
    EXPECT_NEAR(zo_sigma(p, haar, shape) / c.haar_add_remove, 1, 1e-8) << c.d;
  }
}

// Noise of the paper over that of orthonormal directions at equal T and B2: sqrt(d) sqrt(2 ln T / h).
TEST(ZoPlanner, NoiseRatioOfThePaper) {
  const ZoProblem p = million();
  const ZoShape shape{1024, 1024, zo_first_batch(p, orthonormal, 1024, 1, p.radius / 1024), 1, 1};
  EXPECT_NEAR(paper_sigma(p, 1024, 1) / zo_sigma(p, orthonormal, shape), 6.66043688, 1e-7);
}

TEST(ZoPlanner, ChoosesTheBestBatch) {
  const std::uint64_t batches[] = {1, 4, 16, 32};
  const double best = plan_zo(million(), orthonormal, batches).bound.value;
  for (const auto& b : batches) EXPECT_LE(best, plan_zo(million(), orthonormal, std::span(&b, 1)).bound.value);
  ZoProblem tiny = million();
  tiny.records = 1;
  EXPECT_THROW(plan_zo(tiny, orthonormal, one), ConfigError);
}

}  // namespace
}  // namespace dpmpi::planner_test
