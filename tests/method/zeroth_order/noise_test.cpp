// The size of the error of g_t: what the tree adds, and what clipping adds up to over an epoch.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "method/zeroth_order/paper.hpp"
#include "method/zeroth_order/planner.hpp"
#include "objective/values/zeroth_order.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "problems/black_box.hpp"

namespace dpmpi::noise_test {
namespace {

/// E |TREE(t)|, t uniform on 1..leaves, over this many runs.
double mean_norm(double sigma, std::uint64_t leaves, std::size_t dim, std::uint64_t runs, std::uint64_t seed) {
  PrefixNoise noise({.strategy = Strategy::fenwick, .leaves = leaves, .noise_multiplier = 1}, dim);
  SecretStream stream(SecretKey::from_seed(seed));
  double sum = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    noise.restart();
    for (std::uint64_t t = 0; t < leaves; ++t) {
      const auto draw = [&](std::uint32_t, std::span<double> out) { stream.normals(run * leaves + t, 0, 0, out); };
      double square = 0;
      for (const double x : noise.next(1, std::cref(draw))) square += x * x;
      sum += sigma * std::sqrt(square);
    }
  }
  return sum / static_cast<double>(runs * leaves);
}

// The paper's calibration for independent directions against the exact one for orthonormal ones.
TEST(ZoNoise, RatioToThePapersNoise) {
  constexpr std::uint64_t T = 1024, runs = 300;
  constexpr std::size_t d = 32;
  const ZoProblem problem{.records = 1e6, .dim = d, .lipschitz = 1, .radius = 0.5, .gap = 1, .rho = 1, .change = 2};
  const ZoEstimator orthonormal = ZoEstimator::directions(d, d, d, 1);
  const ZoShape shape{T, T, zo_first_batch(problem, orthonormal, T, 1, problem.radius / T), 1, 1};
  const double papers = mean_norm(test::paper_sigma(problem, T, 1), T, d, runs, 1);
  const double ours = mean_norm(zo_sigma(problem, orthonormal, shape), T, d, runs, 2);
  EXPECT_NEAR(papers / ours, 6.66043688, 0.01 * 6.66043688);
}

// f(x, z) = <c, x> + sqrt(2) cos(omega x_1 + phi_z) / omega with phi_z = +-pi/4: the slopes have the same mean
// square everywhere, and the smoothed mean loss over a ball of radius delta has the gradient c - k sin(omega x_1)
// e_1, k = E cos(omega delta v_1) = 3 (sin a - a cos a) / a^3, a = omega delta, v uniform in the unit ball of R^3.
class Oscillating {
 public:
  /// Root mean square over `runs` paths of the error that g_T has gathered since g_0, which is exact. The steps are
  /// one long, so that T of `quarter` are a quarter of a period: the gradient changes one way.
  double error(std::uint64_t T, double clip) {
    constexpr int runs = 300;
    double squares = 0;
    for (std::uint32_t run = 0; run < runs; ++run) {
      Vector g = gradient(0), x(3), y(3);
      for (std::uint64_t t = 1; t <= T; ++t) {
        x[0] = static_cast<double>(t), y[0] = static_cast<double>(t - 1);
        add_difference(x, y, t, run, clip, g);
      }
      const Vector exact = gradient(x[0]);
      for (std::size_t j = 0; j < 3; ++j) squares += std::pow(g[j] - exact[j], 2);
    }
    return std::sqrt(squares / runs);
  }
  /// Steps of a quarter of a period.
  static constexpr std::uint64_t quarter = 256;

 private:
  using Vector = std::vector<double>;
  static constexpr double omega = std::numbers::pi / 2 / quarter, delta = 0.25 / omega;
  static constexpr double c[3] = {0, -0.2, 0.5};

  static Vector gradient(double x) {
    const double a = omega * delta, k = 3 * (std::sin(a) - a * std::cos(a)) / (a * a * a);
    return {c[0] - k * std::sin(omega * x), c[1], c[2]};
  }

  void add_difference(const Vector& x, const Vector& y, std::uint64_t t, std::uint32_t run, double clip,
                      Vector& g) {
    const auto record = static_cast<std::uint32_t>(PublicStream(7, "records", t).below(run, 2));
    const Kernel kernel = oracle_.difference(x, y, t, 1);
    sum_.clear();
    const std::uint32_t index[] = {record}, slot[] = {run};
    kernel({records_, index, slot}, {.clip = clip}, sum_);
    const auto totals = sum_.totals();
    for (std::size_t j = 0; j < 3; ++j) g[j] += static_cast<double>(totals[j]) * lattice_.quantum();
  }

  static double loss(std::size_t record, std::span<const double> w) {
    const double phase = record == 0 ? std::numbers::pi / 4 : -std::numbers::pi / 4;
    return c[0] * w[0] + c[1] * w[1] + c[2] * w[2] + std::numbers::sqrt2 * std::cos(omega * w[0] + phase) / omega;
  }

  test::BlackBox objective_{3, loss};
  ZerothOrder oracle_{objective_, {.scheme = DirectionScheme::iid, .radius = delta}};
  Records records_ = test::numbered_records(2);
  Lattice lattice_{28};
  LatticeAccumulator sum_{3, lattice_, 1.01};
};

// Errors of single steps, with their own records and directions, add up like a random walk while none is clipped. A
// clip that binds everywhere holds g_t back from a gradient that changes one way: by sin(omega T).
TEST(ZoNoise, ErrorGrowsLikeTheRootOfTheStepsUnlessClipped) {
  Oscillating path;
  constexpr std::uint64_t T = Oscillating::quarter;
  const double early = path.error(T / 16, 1), late = path.error(T, 1);
  EXPECT_NEAR(late / early, 4, 0.5) << "16 times the steps";
  const double clipped_early = path.error(T / 16, 0.002), clipped_late = path.error(T, 0.002);
  EXPECT_GT(clipped_late / clipped_early, 8) << "the bias adds up";
  EXPECT_LT(clipped_early, early) << "a clip helps for few steps";
  EXPECT_GT(clipped_late, late) << "and harms for many";
}

}  // namespace
}  // namespace dpmpi::noise_test
