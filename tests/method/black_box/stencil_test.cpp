// Closed-form designs and the rule that chooses among them, against tables that were computed independently.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "method/black_box/point_selection.hpp"
#include "method/black_box/stencil.hpp"

namespace dpmpi::stencil_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Kind = Covariance::Kind;

Covariance isotropic(Kind kind, Index d) { return {kind, VectorXd::Ones(d), 1}; }

/// The trace after these blocks alone, by the posterior itself.
double trace_of(const Covariance& k, double variance, const std::vector<Index>& blocks) {
  GradientPosterior p(k, variance);
  const VectorXd theta = VectorXd::LinSpaced(k.dim(), -0.4, 0.7);
  const MatrixXd directions = MatrixXd::Identity(k.dim(), k.dim());
  MatrixXd z = k.lengths().asDiagonal() * block_offsets(k, variance / k.scale(), blocks, directions);
  z.colwise() += theta;
  p.append(z);
  p.move_to(theta);
  return p.trace();
}

TEST(Stencil, VerticesOfSimplicesAreRegular) {
  for (const Index q : {1, 2, 5, 15}) {
    const MatrixXd v = unit_simplex(q), products = v.transpose() * v;
    for (Index i = 0; i <= q; ++i)
      for (Index j = 0; j <= q; ++j) EXPECT_NEAR(products(i, j), i == j ? 1 : -1 / static_cast<double>(q), 1e-14);
  }
}

// A7, T14: least traces and their radii; sigma = 0.05 enters as sigma^2 = 0.0025.
TEST(Stencil, SimplicesHaveTheTabledTracesAndRadii) {
  struct Row {
    Kind kind;
    Index q;
    double trace[4], radius[4];
  };
  const double gammas[] = {1e-8, 1e-4, 0.05 * 0.05, 0.01};
  const Row table[] = {
      {Kind::rbf,
       1,
       {3.046098e-6, 1.460835e-3, 1.324762e-2, 3.484830e-2},
       {0.049660, 0.230439, 0.393128, 0.493196}},
      {Kind::rbf,
       2,
       {1.633060e-4, 1.639519e-2, 8.314058e-2, 1.685639e-1},
       {0.012778, 0.127270, 0.280046, 0.388304}},
      {Kind::rbf,
       5,
       {5.773398e-4, 5.762837e-2, 2.857643e-1, 5.645355e-1},
       {0.012014, 0.119836, 0.265180, 0.369945}},
      {Kind::rbf, 15, {1.984239e-3, 1.976781e-1, 9.727985e-1, 1.904467}, {0.011905, 0.118769, 0.262973, 0.367115}},
      {Kind::rbf, 103, {1.442500e-2, 1.435934, 7.044259, 13.73917}, {0.011892, 0.118642, 0.262707, 0.366771}},
      {Kind::matern52,
       1,
       {4.489167e-5, 1.035009e-2, 6.633246e-2, 1.451633e-1},
       {0.013673, 0.092230, 0.186973, 0.255578}},
      {Kind::matern52,
       15,
       {5.703759e-3, 5.458130e-1, 2.528001, 4.714427},
       {0.007029, 0.072030, 0.164906, 0.235524}}};
  for (const auto& row : table)
    for (std::size_t g = 0; g < 4; ++g) {
      const Covariance k = isotropic(row.kind, row.q);
      const double R = best_radius(k, gammas[g], row.q), q = static_cast<double>(row.q);
      const double expected = row.trace[g];
      EXPECT_NEAR(q * simplex_trace(k, gammas[g], row.q, R), expected, 1e-6 * expected) << "q " << row.q;
      EXPECT_NEAR(R, row.radius[g], 2e-6) << "q " << row.q << " gamma " << gammas[g];
      EXPECT_NEAR(trace_of(k, gammas[g], {row.q}), q * simplex_trace(k, gammas[g], row.q, R), 1e-8) << row.q;
    }
}

// With a length-scale for each coordinate.
TEST(Stencil, SimplicesStretchWithTheLengthScales) {
  const Covariance k(Kind::rbf, Eigen::Vector3d(0.5, 1, 2), 2);
  EXPECT_NEAR(trace_of(k, 0.005, {3}), 0.5253280721, 1e-8);
}

// A8: blocks add up.
TEST(Stencil, BlocksHaveTheTabledTraces) {
  const Covariance k = isotropic(Kind::rbf, 5);
  const auto sum = [](const std::vector<Index>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), static_cast<Index>(blocks.size()));
  };
  EXPECT_NEAR(trace_of(k, 0.0025, {4, 1}), 0.230961, 1e-6);
  EXPECT_NEAR(trace_of(k, 0.0025, {3, 2}), 0.233234, 1e-6);
  for (const auto& [b, trace] : {std::pair{6, 0.285764}, {8, 0.176589}, {9, 0.122883}, {10, 0.066238}}) {
    const auto blocks = simple_partition(5, b);
    EXPECT_EQ(sum(blocks), b);
    EXPECT_NEAR(trace_of(k, 0.0025, blocks), trace, 1e-6) << b;
  }
}

/// The least sum of q A_q over partitions of d into `blocks` parts, by dynamic programming.
double least_trace(const Covariance& k, double gamma, Index d, Index blocks) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<double> own{0}, best(static_cast<std::size_t>(d + 1), inf);
  for (Index q = 1; q <= d; ++q)
    own.push_back(static_cast<double>(q) * simplex_trace(k, gamma, q, best_radius(k, gamma, q)));
  best[0] = 0;
  for (Index block = 0; block < blocks; ++block)
    for (std::size_t m = best.size(); m-- > 0;) {
      double least = inf;
      for (std::size_t q = 1; q <= m; ++q) least = std::min(least, best[m - q] + own[q]);
      best[m] = least;
    }
  return best.back();
}

// Pairs and simplices of nearly one size are as good as the best of all partitions.
TEST(Stencil, NoPartitionBeatsTheBest) {
  for (const Kind kind : {Kind::rbf, Kind::matern52})
    for (const double gamma : {1e-8, 1e-4, 0.0025, 0.1, 2.0})
      for (const Index d : {2, 3, 7, 15}) {
        const Covariance k = isotropic(kind, d);
        for (Index b = d + 1; b <= 2 * d; ++b) {
          const auto blocks = best_partition(k, gamma, d, b);
          EXPECT_EQ(std::accumulate(blocks.begin(), blocks.end(), Index{0}), d);
          EXPECT_EQ(static_cast<Index>(blocks.size()), b - d);
          double sum = 0;
          for (const Index q : blocks)
            sum += static_cast<double>(q) * simplex_trace(k, gamma, q, best_radius(k, gamma, q));
          EXPECT_NEAR(sum, least_trace(k, gamma, d, b - d), 1e-9) << "d " << d << " b " << b << " gamma " << gamma;
        }
      }
  const Covariance k = isotropic(Kind::rbf, 15);
  for (const auto& [b, trace] : {std::pair{17, 0.91373}, {18, 0.85729}, {20, 0.74769}, {24, 0.52816}})
    EXPECT_NEAR(trace_of(k, 0.0025, best_partition(k, 0.0025, 15, b)), trace, 1e-5) << b;
}

// A21: how much noise the weights of a simplex let through.
TEST(Stencil, WeightsGrowAsTheAssumedNoiseShrinks) {
  for (const auto& [gamma, norm] : {std::pair{1e-4, 31.378}, {1.0, 1.5312}, {1e-8, 314.975}}) {
    const Covariance k = isotropic(Kind::rbf, 15);
    GradientPosterior p(k, gamma);
    p.append(block_offsets(k, gamma, {15}, MatrixXd::Identity(15, 15)));
    p.move_to(VectorXd::Zero(15));
    EXPECT_NEAR(p.weights().norm(), norm, 1e-3 * norm);
  }
}

SelectionRule adaptive(double tolerance, Index most) {
  SelectionRule rule;
  rule.tolerance = tolerance;
  rule.most = most;
  return rule;
}

// A9, A20, T1: the first batch of d = 15, sigma = 0.05. The trace counts, not the acquisition without the prior,
// which would ask for one point always.
TEST(PointSelection, TakesTheFewestPointsWithinTheTolerance) {
  const Covariance k = isotropic(Kind::rbf, 15);
  GradientPosterior p(k, 0.05 * 0.05);
  p.move_to(VectorXd::LinSpaced(15, -0.5, 0.5));
  const double traces[] = {14.63304, 14.01325, 11.21771, 6.55985, 5.62859, 3.76619, 2.83504, 1.90391, 0.97280,
                           0.91716,  0.86154,  0.75036,  0.52855, 0.47331, 0.30907, 0.25536, 0.19871};
  const Index sizes[] = {1, 2, 5, 10, 11, 13, 14, 15, 16, 17, 18, 20, 24, 25, 28, 29, 30};
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    const MatrixXd z = PointSelection(adaptive(0, 30)).points(p, 0, sizes[i]);
    EXPECT_EQ(z.cols(), sizes[i]);
    EXPECT_NEAR(p.trace_with(z), traces[i], 1e-5) << sizes[i];
  }
  for (const auto& [tolerance, b] : {std::pair{0.3, 29}, {0.5, 25}, {1.0, 16}, {3.0, 14}, {6.0, 11}}) {
    const MatrixXd z = PointSelection(adaptive(tolerance, 30)).choose(p, 0);
    EXPECT_EQ(z.cols(), b) << tolerance;
    EXPECT_LE(p.trace_with(z), tolerance);
  }
  EXPECT_EQ(PointSelection(adaptive(0.3, 20)).choose(p, 0).cols(), 20) << "the most that is allowed";
}

// A20: what earlier steps left makes later batches smaller.
TEST(PointSelection, MemoryMakesBatchesSmaller) {
  GradientPosterior p(isotropic(Kind::rbf, 15), 0.0025);
  VectorXd theta = VectorXd::Zero(15);
  std::vector<Index> sizes;
  for (std::uint64_t t = 0; t < 25; ++t) {
    p.move_to(theta);
    p.append(PointSelection(adaptive(0.3, 30)).choose(p, t));
    p.move_to(theta);
    EXPECT_LE(p.trace(), 0.3);
    sizes.push_back(p.count() - std::accumulate(sizes.begin(), sizes.end(), Index{0}));
    for (Index j = 0; j < 15; ++j)
      theta(j) += 0.1 * std::cos(static_cast<double>(j) + 0.2 * static_cast<double>(t));
  }
  EXPECT_EQ(sizes.front(), 29);
  EXPECT_LT(sizes.back(), sizes.front() - 5);
}

SelectionRule refining(SelectionRule rule) {
  rule.design = SelectionRule::Design::refined;
  rule.refinement = 200;
  return rule;
}

// Around a lone iterate the closed form has nothing left to gain, whatever the number of points.
TEST(PointSelection, RefiningFindsNothingBetterThanTheBestPartition) {
  for (const Kind kind : {Kind::rbf, Kind::matern52}) {
    const Index d = 4;
    const Covariance k = isotropic(kind, d);
    GradientPosterior p(k, 0.0025);
    p.move_to(VectorXd::LinSpaced(d, -0.5, 0.5));
    for (Index b = 1; b <= 2 * d; ++b) {
      SelectionRule rule = refining(adaptive(0, b));
      rule.adaptive = false;
      const double closed = p.trace_with(PointSelection(rule).points(p, 0, b)),
                   found = p.trace_with(PointSelection(rule).choose(p, 0));
      EXPECT_LE(found, closed);
      EXPECT_GT(found, closed * (1 - 1e-5)) << b;
    }
  }
}

// What earlier steps left is used: fewer points on the same path, all within the tolerance, and one fewer is too
// few even where points may go anywhere.
TEST(PointSelection, RefiningSavesPoints) {
  const Index d = 6;
  const Covariance k(Kind::rbf, VectorXd::LinSpaced(d, 0.7, 1.4), 1);
  std::vector<Index> spent;
  for (const bool refine : {false, true}) {
    GradientPosterior p(k, 0.0025);
    VectorXd theta = VectorXd::Zero(d);
    for (std::uint64_t t = 0; t < 12; ++t) {
      p.move_to(theta);
      const SelectionRule rule = refine ? refining(adaptive(0.2, 12)) : adaptive(0.2, 12);
      const MatrixXd z = PointSelection(rule).choose(p, t);
      if (refine && z.cols() > 1) {
        SelectionRule fewer = rule;
        fewer.adaptive = false, fewer.most = z.cols() - 1;
        EXPECT_GT(p.trace_with(PointSelection(fewer).choose(p, t)), 0.2) << "step " << t;
      }
      p.append(z);
      p.move_to(theta);
      EXPECT_LE(p.trace(), 0.2);
      for (Index j = 0; j < d; ++j)
        theta(j) += 0.15 * std::cos(static_cast<double>(j) + 0.3 * static_cast<double>(t));
    }
    spent.push_back(p.count());
  }
  fmt::print("points of 12 steps: {}, refined {}\n", spent[0], spent[1]);
  EXPECT_LT(static_cast<double>(spent[1]), 0.9 * static_cast<double>(spent[0]));
}

// In a corner of the box half of every pair is moved onto its partner: refined points spread along the walls.
TEST(PointSelection, RefinedPointsLeaveCorners) {
  const Index d = 5;
  GradientPosterior p(isotropic(Kind::rbf, d), 0.0025);
  p.move_to(VectorXd::Ones(d));
  SelectionRule rule = adaptive(0, 2 * d);
  rule.adaptive = false;
  rule.box = {VectorXd::Constant(d, -1), VectorXd::Ones(d)};
  const MatrixXd closed = PointSelection(rule).choose(p, 0), refined = PointSelection(refining(rule)).choose(p, 0);
  EXPECT_LT(p.trace_with(refined), 0.85 * p.trace_with(closed)) << p.trace_with(closed);
  EXPECT_LE(refined.maxCoeff(), 1);
  EXPECT_EQ(refined, refined.cast<float>().cast<double>());
}

// Points are those at which losses are evaluated: float32 numbers within the box.
TEST(PointSelection, PointsStayInTheBoxAsFloats) {
  SelectionRule rule = adaptive(0.2, 8);
  rule.box = {VectorXd::Constant(4, -0.1), VectorXd::Constant(4, 0.1)};
  for (const auto design : {SelectionRule::Design::stencil, SelectionRule::Design::random}) {
    rule.design = design;
    GradientPosterior p(isotropic(Kind::rbf, 4), 0.01);
    p.move_to(VectorXd::Constant(4, 0.1));
    for (Index b = 1; b <= 8; ++b) {
      const MatrixXd z = PointSelection(rule).points(p, 3, b);
      EXPECT_LE(z.maxCoeff(), 0.1);
      EXPECT_GE(z.minCoeff(), -0.1);
      EXPECT_EQ(z, z.cast<float>().cast<double>());
    }
  }
}

// T11: random designs follow their seed and the step.
TEST(PointSelection, RandomPointsFollowSeedAndStep) {
  SelectionRule rule;
  rule.design = SelectionRule::Design::random;
  rule.adaptive = false;
  rule.most = 3;
  GradientPosterior p({Kind::poly2, VectorXd::Ones(5), 1}, 0);
  p.move_to(VectorXd::Ones(5));
  const MatrixXd first = PointSelection(rule).choose(p, 0);
  EXPECT_EQ(first, PointSelection(rule).choose(p, 0));
  EXPECT_NE(first, PointSelection(rule).choose(p, 1));
  rule.seed = 2;
  EXPECT_NE(first, PointSelection(rule).choose(p, 0));
  EXPECT_LE((first.array() - 1).abs().maxCoeff(), 1);
}

}  // namespace
}  // namespace dpmpi::stencil_test
