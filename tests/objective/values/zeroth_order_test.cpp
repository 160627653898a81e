#include "objective/values/zeroth_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/eigen.hpp"
#include "objective/linear/glm.hpp"
#include "objective/random_records.hpp"
#include "problems/black_box.hpp"

namespace dpmpi::test::zeroth_order_test {
namespace {

constexpr std::uint64_t seed = 0x0123456789abcdef;
using enum DirectionScheme;
using Point = std::vector<double>;

/// One record with the given features and label 0, without a constant column.
Records single_record(const std::vector<float>& z) {
  Records r;
  r.count = 1;
  r.features = z.size();
  r.stride = round_up(z.size(), 16);
  r.f32.assign(r.stride, 0.0F);
  std::copy(z.begin(), z.end(), r.f32.begin());
  r.label = {0};
  r.norm = {0};
  update_norm(r, 0);
  return r;
}

Eigen::VectorXd estimate(ZerothOrder& zo, const Records& records, std::uint32_t slot, std::uint32_t record = 0) {
  const auto values = zo.estimate({records, {&record, 1}}, slot);
  EXPECT_FALSE(values.empty());
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

Eigen::VectorXd vector(std::initializer_list<double> values) {
  return Eigen::Map<const Eigen::VectorXd>(values.begin(), static_cast<Eigen::Index>(values.size()));
}

/// The first two moments of estimates over many slots.
struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double count;
  template <class Draw>
  Moments(std::uint32_t draws, Draw draw) : count(draws) {
    for (std::uint32_t slot = 0; slot < draws; ++slot) {
      const Eigen::VectorXd v = draw(slot);
      if (slot == 0) mean = Eigen::VectorXd::Zero(v.size()), covariance = Eigen::MatrixXd::Zero(v.size(), v.size());
      mean += v;
      covariance += v * v.transpose();
    }
    mean /= count;
    covariance = covariance / count - mean * mean.transpose();
  }
  /// Squared standard errors of the mean.
  Eigen::VectorXd error2() const { return covariance.diagonal() / count; }
};

Moments moments(ZerothOrder& zo, const Records& records, std::uint32_t draws) {
  return {draws, [&](std::uint32_t slot) { return estimate(zo, records, slot); }};
}

/// Means of two independent samples agree within five standard errors.
void expect_same_mean(const Eigen::VectorXd& a, const Eigen::VectorXd& b, const Eigen::VectorXd& error2) {
  for (Eigen::Index k = 0; k < a.size(); ++k)
    EXPECT_LE(std::abs(a[k] - b[k]), 5 * std::sqrt(error2[k]) + 1e-12) << "coordinate " << k;
}

double sum_of_absolutes(std::span<const double> w) {
  double sum = 0;
  for (double v : w) sum += std::abs(v);
  return sum / std::sqrt(static_cast<double>(w.size()));
}
double largest(std::span<const double> w) { return *std::max_element(w.begin(), w.end()); }
double relu_net(std::span<const double> w) {
  const auto relu = [](double s) { return std::max(s, 0.0); };
  return w[0] * relu(0.7 * w[1] + w[2]) + w[3] * relu(w[4] - 0.2 * w[5]);
}

// ---- the definition ----

TEST(ZerothOrder, HasItsPublishedValues) {
  const Records records = single_record({1, 2, -1});
  Glm glm({3, Storage::dense_f32, 0}, absolute_loss());
  ZerothOrder zo(glm, {.scheme = iid, .radius = 0.5, .seed = seed});
  EXPECT_FALSE(zo.fast());
  const Point x = {.1, -.2, .3}, y = {.12, -.21, .28};
  (void)zo.gradient(x, 0, 1);
  EXPECT_LT((estimate(zo, records, 0) - vector({0.472019771, -2.153432363, 1.033660293})).cwiseAbs().maxCoeff(),
            1e-8);
  (void)zo.difference(x, y, 0, 1);
  EXPECT_LT((estimate(zo, records, 0) - vector({-0.028679689, -0.047292770, 0.017214652})).cwiseAbs().maxCoeff(),
            1e-8);
}

// Haar directions see linear and quadratic losses exactly: sum_j <c, u_j> u_j = c.
TEST(ZerothOrder, HaarIsExactForLinearAndQuadraticLosses) {
  constexpr Eigen::Index d = 24;
  const Records records = numbered_records(1);
  const Eigen::VectorXd c = Eigen::VectorXd::LinSpaced(d, -1, 2);
  Eigen::MatrixXd a = (c * c.transpose()).array().sin();
  const Point x(d, 0.3), y(d, 0.25);
  const Eigen::Map<const Eigen::VectorXd> at_x(x.data(), d), at_y(y.data(), d);
  BlackBox linear(d, [&](std::size_t, std::span<const double> w) {
    return c.dot(Eigen::Map<const Eigen::VectorXd>(w.data(), d));
  });
  BlackBox quadratic(d, [&](std::size_t, std::span<const double> w) {
    const Eigen::Map<const Eigen::VectorXd> v(w.data(), d);
    return v.dot(a * v) / 2;
  });
  ZerothOrder of_linear(linear, {.scheme = haar, .radius = 0.5, .centre = true, .seed = seed});
  ZerothOrder of_quadratic(quadratic, {.scheme = haar, .radius = 0.5, .seed = seed});
  for (std::uint32_t slot = 0; slot < 20; ++slot) {
    (void)of_linear.gradient(x, 1, 1);
    EXPECT_LT((estimate(of_linear, records, slot) - c).norm(), 1e-12);
    (void)of_linear.difference(x, y, 1, 1);
    EXPECT_LT(estimate(of_linear, records, slot).norm(), 1e-12);
    (void)of_quadratic.gradient(x, 1, 1);
    EXPECT_LT((estimate(of_quadratic, records, slot) - a * at_x).norm(), 1e-10);
  }
}

TEST(ZerothOrder, GradientHasTheMeanOfTheSmoothedGradient) {
  const Records records = numbered_records(1);
  BlackBox f(6, [](std::size_t, std::span<const double> w) { return sum_of_absolutes(w); });
  ZerothOrder zo(f, {.scheme = haar, .radius = 0.5, .seed = seed});
  const Point x = {.3, -.2, .1, .05, -.4, 0};
  (void)zo.gradient(x, 0, 1);
  const Eigen::VectorXd expected = vector({0.372476420, -0.291446372, 0.160890131, 0.082477710, -0.404317707, 0});
  EXPECT_LT((moments(zo, records, 40000).mean - expected).cwiseAbs().maxCoeff(), 2e-3);
}

// The mean of DIFF1 is the difference of GRAD1's, with and without centring and for every kind of directions.
TEST(ZerothOrder, DifferenceHasTheMeanOfTheDifferenceOfGradients) {
  const Records records = numbered_records(1);
  const Point x = {.3, -.2, .1, .05, -.4, 0}, y = {.2, -.1, .2, -.05, -.3, .1};
  constexpr std::uint32_t draws = 20000;
  for (auto* loss : {sum_of_absolutes, largest, relu_net}) {
    BlackBox f(6, [=](std::size_t, std::span<const double> w) { return loss(w); });
    ZerothOrder reference(f, {.scheme = haar, .radius = 0.5, .seed = 1});
    (void)reference.gradient(x, 0, 1);
    const Moments at_x = moments(reference, records, draws);
    (void)reference.gradient(y, 1, 1);
    const Moments at_y = moments(reference, records, draws);
    for (const bool centre : {false, true}) {
      for (const Probes& probes :
           {Probes{.scheme = haar}, {.scheme = iid}, {.scheme = block, .count = 9, .block = 3}}) {
        Probes full = probes;
        full.radius = 0.5, full.centre = centre, full.seed = seed;
        ZerothOrder zo(f, full);
        (void)zo.difference(x, y, 0, 1);
        const Moments m = moments(zo, records, draws);
        expect_same_mean(m.mean, at_x.mean - at_y.mean, m.error2() + at_x.error2() + at_y.error2());
      }
    }
  }
}

// Fewer directions than parameters: d / m and m / (m - 1) in their places.
TEST(ZerothOrder, FewDirectionsAreUnbiased) {
  constexpr Eigen::Index d = 8;
  const Records records = numbered_records(1);
  const Eigen::VectorXd slope = Eigen::VectorXd::LinSpaced(d, -1, 2),
                        curvature = Eigen::VectorXd::LinSpaced(d, 3, -1);
  BlackBox f(d, [&](std::size_t, std::span<const double> w) {
    const Eigen::Map<const Eigen::VectorXd> v(w.data(), d);
    return slope.dot(v) + curvature.dot(v.cwiseAbs2()) / 2;
  });
  const Point x(d, 0.1), y(d, -0.1);
  for (const std::size_t m : {1U, 3U}) {
    ZerothOrder zo(f, {.scheme = iid, .count = m, .radius = 0.5, .centre = m > 1, .seed = seed});
    (void)zo.gradient(x, 0, 1);
    const Moments gradient = moments(zo, records, 20000);
    expect_same_mean(gradient.mean, slope + 0.1 * curvature, gradient.error2());
    (void)zo.difference(x, y, 0, 1);
    const Moments difference = moments(zo, records, 20000);
    expect_same_mean(difference.mean, 0.2 * curvature, difference.error2());
  }
}

TEST(ZerothOrder, DifferenceOfAPointWithItselfIsZero) {
  const Records records = numbered_records(1);
  BlackBox f(5, [](std::size_t, std::span<const double> w) { return 1e6 * std::sin(1e6 * w[0] + w[3]) - w[4]; });
  const Point x = {1, 2, 3, 4, 5};
  for (const Probes& probes : {Probes{.scheme = haar, .centre = true}, {.scheme = iid, .count = 70}}) {
    ZerothOrder zo(f, probes);
    const Point same = x;
    (void)zo.difference(x, same, 3, 1);
    for (std::uint32_t slot = 0; slot < 50; ++slot) EXPECT_EQ(estimate(zo, records, slot).norm(), 0.0);
  }
}

TEST(ZerothOrder, ScalarClipBoundsEachSlope) {
  constexpr std::size_t d = 5;
  const Records records = numbered_records(1);
  const auto loss = [](std::span<const double> w) { return 40 * w[0] * w[0] * w[1] + std::exp(3 * w[2]); };
  BlackBox f(d, [&](std::size_t, std::span<const double> w) { return loss(w); });
  const double clip = 0.8, radius = 0.5;
  const Point x = {.1, .2, .3, .4, .5}, y = {.1, .2, 0, .4, .1};  // distance 1/2
  ZerothOrder zo(f, {.scheme = iid, .count = 90, .radius = radius, .scalar_clip = clip, .seed = seed});
  for (const bool gradient : {true, false}) {
    (void)(gradient ? zo.gradient(x, 2, 1) : zo.difference(x, y, 2, 1));
    Directions directions(iid, d, 90, 1, seed);
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(d);
    std::size_t clipped = 0;
    for (std::size_t first = 0; first < 90;) {
      const DirectionTile tile = directions.tile(2, 4, first);
      for (std::size_t j = 0; j < tile.count; ++j) {
        const Eigen::Map<const Eigen::VectorXd> u(tile.row(j), d);
        const auto at = [&](const Point& from, double step) {
          const Eigen::VectorXd w = Eigen::Map<const Eigen::VectorXd>(from.data(), d) + step * u;
          return loss({w.data(), d});
        };
        const double slope =
            gradient ? (at(x, radius) - at(x, -radius)) / (2 * radius) : (at(x, radius) - at(y, radius)) / radius;
        clipped += std::abs(slope) > clip;
        expected += std::clamp(slope, -clip, clip) * u * d / 90.0;
      }
      first += tile.count;
    }
    EXPECT_GT(clipped, 3U);
    EXPECT_LT((estimate(zo, records, 4) - expected).norm(), 1e-12);
  }
}

// ---- bounds ----

// |GRAD1| <= (d / m) |U| |a| with |U| <= sqrt(m / b) for groups of b orthonormal directions and |a_j| <= L.
double largest_gradient(double d, double group, double lipschitz) { return d / std::sqrt(group) * lipschitz; }

// Likewise with |c_j| <= L |x - y| / delta. Centring is a projection of c, so it lengthens by m / (m - 1) at most.
double largest_difference(const Probes& probes, double d, double group, double lipschitz, double distance) {
  const double m = probes.count > 0 ? static_cast<double>(probes.count) : d;
  return largest_gradient(d, group, lipschitz) * distance / probes.radius * (probes.centre ? m / (m - 1) : 1);
}

TEST(ZerothOrder, LipschitzLossesKeepTheBounds) {
  const Records records = numbered_records(1);
  constexpr std::size_t d = 16;
  BlackBox f(d, [](std::size_t, std::span<const double> w) { return sum_of_absolutes(w); });
  for (const Probes& probes :
       {Probes{.scheme = haar}, {.scheme = haar, .centre = true}, {.scheme = block, .count = 8, .block = 4}}) {
    ZerothOrder zo(f, probes);
    const double group = probes.scheme == haar ? d : static_cast<double>(probes.block);
    for (std::uint32_t slot = 0; slot < 2000; ++slot) {
      Point x(d), y(d);
      const PublicStream points(seed, "points", slot);
      points.normals(0, x);
      points.normals(d, y);
      double square = 0;
      for (std::size_t k = 0; k < d; ++k) y[k] = x[k] + 0.05 * y[k], square += (x[k] - y[k]) * (x[k] - y[k]);
      (void)zo.gradient(x, 0, 1);
      EXPECT_LE(estimate(zo, records, slot).norm(), largest_gradient(d, group, 1) * (1 + 1e-12));
      (void)zo.difference(x, y, 0, 1);
      EXPECT_LE(estimate(zo, records, slot).norm(),
                largest_difference(probes, d, group, 1, std::sqrt(square)) * (1 + 1e-12));
    }
  }
}

TEST(ZerothOrder, FastGradientIsNoLongerThanTheLipschitzConstant) {
  const Records records = single_record({0.3F, -1.2F, 0.8F, 0, 0.5F, 2});
  const double lipschitz = std::sqrt(0.09F + 1.2F * 1.2F + 0.8F * 0.8F + 0.25F + 4) * (1 + 1e-7);
  Glm glm({6, Storage::dense_f32, 0}, phase_retrieval_loss());
  const Probes probes{.scheme = haar, .radius = 0.5, .seed = seed};
  ZerothOrder zo(glm, probes);
  EXPECT_TRUE(zo.fast());
  const Point x(6, 0.15), y(6, 0.18);
  (void)zo.gradient(x, 0, 1);
  double longest = 0;
  for (std::uint32_t slot = 0; slot < 20000; ++slot)
    longest = std::max(longest, estimate(zo, records, slot).norm());
  EXPECT_LE(longest, lipschitz);
  EXPECT_GT(longest, 0.3 * lipschitz);
  (void)zo.difference(x, y, 0, 1);
  for (std::uint32_t slot = 0; slot < 20000; ++slot)
    EXPECT_LE(estimate(zo, records, slot).norm(), largest_difference(probes, 6, 6, lipschitz, 0.03 * std::sqrt(6)));
}

// ---- the estimator of linear models ----

// At one dimension and d directions the fast estimator is the mean of the generic one given p = U^T z / |z|: same
// mean, less variance; with the missing part, uniform across z with |w|^2 = |c|^2 - q^2, it has the same
// covariance.
TEST(ZerothOrder, FastEstimatorIsTheRaoBlackwellisedHaarEstimator) {
  constexpr std::uint32_t draws = 60000;
  constexpr Eigen::Index d = 6;
  const Records records = single_record({0.3F, -0.7F, 0.8F, 0, 0.5F, 0.2F});
  const Eigen::VectorXd z = vector({0.3F, -0.7F, 0.8F, 0, 0.5F, 0.2F});
  Glm glm({d, Storage::dense_f32, 0}, absolute_loss());
  const Point x(d, 0.1), y = {0.3, 0.1, -0.1, 0.1, 0.2, 0};
  const double radius = 0.5, s_x = 0.1 * z.sum(), s_y = Eigen::Map<const Eigen::VectorXd>(y.data(), d).dot(z);
  for (const bool centre : {false, true}) {
    const Probes probes{.scheme = haar, .radius = radius, .centre = centre, .seed = 5};
    Probes generic_probes = probes;
    generic_probes.fast = false, generic_probes.seed = 6;
    ZerothOrder fast(glm, probes), generic(glm, generic_probes);
    ASSERT_TRUE(fast.fast() && !generic.fast());
    (void)fast.difference(x, y, 0, 1);
    (void)generic.difference(x, y, 0, 1);
    const Moments reduced = moments(fast, records, draws), full = moments(generic, records, draws);
    expect_same_mean(reduced.mean, full.mean, reduced.error2() + full.error2());
    EXPECT_LT(reduced.covariance.trace(), 0.9 * full.covariance.trace());

    Directions vectors(iid, d, 2, 1, 5);
    const Moments restored(draws, [&](std::uint32_t slot) -> Eigen::VectorXd {
      const DirectionTile tile = vectors.tile(0, slot, 0);
      const Eigen::Map<const Eigen::VectorXd> p(tile.row(0), d), v(tile.row(1), d);
      Eigen::VectorXd c =
          (((s_x + radius * z.norm() * p.array()).abs() - (s_y + radius * z.norm() * p.array()).abs()) / radius)
              .matrix();
      if (centre) c = (c.array() - c.mean()) * d / (d - 1.0);
      const double q = c.dot(p);
      const Eigen::VectorXd along = z.normalized(), across = (v - v.dot(along) * along).normalized();
      EXPECT_LT((estimate(fast, records, slot) - q * along).norm(), 1e-7);
      return q * along + std::sqrt(std::max(0.0, c.squaredNorm() - q * q)) * across;
    });
    EXPECT_LT((restored.covariance - full.covariance).cwiseAbs().maxCoeff(),
              0.05 * full.covariance.diagonal().maxCoeff());
  }
}

TEST(ZerothOrder, RecordOfZerosContributesZero) {
  const Records records = single_record({0, 0, 0});
  Glm glm({3, Storage::dense_f32, 0}, phase_retrieval_loss());
  for (const bool fast : {true, false}) {
    ZerothOrder zo(glm, {.scheme = haar, .radius = 0.5, .fast = fast});
    const Point x = {1, 2, 3};
    (void)zo.gradient(x, 0, 1);
    EXPECT_EQ(estimate(zo, records, 0).norm(), 0.0);
  }
}

TEST(ZerothOrder, RefusesProbesThatDoNotFit) {
  BlackBox f(4, [](std::size_t, std::span<const double>) { return 0.0; });
  EXPECT_THROW(ZerothOrder(f, {.radius = 0}), ConfigError);
  EXPECT_THROW(ZerothOrder(f, {.radius = std::nan("")}), ConfigError);
  EXPECT_THROW(ZerothOrder(f, {.scheme = iid, .count = 1, .centre = true}), ConfigError);
  EXPECT_THROW(ZerothOrder(f, {.scalar_clip = -1}), ConfigError);
  EXPECT_THROW(ZerothOrder(f, {.scheme = haar, .count = 3}), ConfigError);
  Glm glm({4, Storage::dense_f32, 0}, absolute_loss());
  EXPECT_THROW(ZerothOrder(glm, {.scheme = haar, .count = 3}), ConfigError);
}

}  // namespace
}  // namespace dpmpi::test::zeroth_order_test
