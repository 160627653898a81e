// The gradient posterior of gibo against vectors that were computed independently, finite differences and what must
// hold for any points.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "method/black_box/gradient_posterior.hpp"
#include "method/black_box/reduced_weights.hpp"
#include "objective/eigen.hpp"

namespace dpmpi::gradient_posterior_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::ReducedWeights;
using Kind = Covariance::Kind;

VectorXd vector(const std::vector<double>& values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}

MatrixXd rows(Index count, const std::vector<double>& values) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(values.data(), count, static_cast<Index>(values.size()) / count);
}

/// Uniform in [-1, 1].
MatrixXd random(Index d, Index count, std::uint64_t seed) {
  const PublicStream stream(seed, "gradient posterior test");
  MatrixXd points(d, count);
  for (Index i = 0; i < points.size(); ++i)
    points.data()[i] = 2 * stream.uniform(static_cast<std::uint64_t>(i)) - 1;
  return points;
}

Covariance kernel(Kind kind, Index d, double length = 0.9, double scale = 1.3) {
  return {kind, VectorXd::LinSpaced(d, length, 1.4 * length), kind == Kind::poly2 ? 1 : scale};
}

GradientPosterior posterior(const Covariance& k, double variance, const MatrixXd& points, const VectorXd& theta) {
  GradientPosterior p(k, variance);
  if (points.cols() > 0) p.append(points);
  p.move_to(theta);
  return p;
}

void expect_near(const MatrixXd& a, const MatrixXd& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.rows(), b.rows()) << what;
  ASSERT_EQ(a.cols(), b.cols()) << what;
  EXPECT_LE((a - b).cwiseAbs().maxCoeff(), tolerance) << what << "\n" << a << "\nexpected\n" << b;
}

const Kind all_kinds[] = {Kind::rbf, Kind::matern52, Kind::poly2};

struct Vectors {
  Kind kind;
  std::vector<double> k, J, W, C, G;
  double prior;
};

// A1, W1: three points in two dimensions, all kernels.
TEST(GradientPosterior, GivesTheReferenceVectors) {
  const MatrixXd X = rows(3, {0.5, -0.1, 0.1, -0.6, 0.7, 0.3}).transpose();
  const MatrixXd Y = rows(4, {0.9, 0.4, 1.3, 0.2, 0.1, -0.5, -1.1, 0.8, 0.6, 2, 2, 2});
  const VectorXd theta = vector({0.3, -0.2});
  const Vectors cases[] = {{Kind::rbf,
                            {1.2219709746, 1.3812862194, 0.8737291120},
                            {0.4528765525, -0.4316519436, 0.7637318591, 0.0927491179, -0.3536092722, 0.3910307119},
                            {1.1175121165, -1.2973038161, 0.2296233012, -0.1405237378, -0.4920817103, 0.6591430716},
                            {1.1023006210, -0.6521766842, -0.6521766842, 0.5412836128},
                            {0.7853496700, 0.5335819449, -0.0210396089, -0.4068844544, -2.1293324003, 0.1563965863,
                             0.0996632032, 0.0530752469},
                            3.3037500000},
                           {Kind::matern52,
                            {1.1162213791, 1.3205893222, 0.7520766926},
                            {0.6893591391, -0.6012082258, 0.9076734169, 0.1411807517, -0.4925097786, 0.4647287895},
                            {1.5162097283, -1.4999941257, 0.0217491302, 0.1457974047, -0.6720980058, 0.5049737265},
                            {1.9394870525, -0.9629288509, -0.9629288509, 1.0137255441},
                            {0.7928649745, 0.5188443065, 0.1423679680, -0.2905371829, -2.8547765237, -0.3950713139,
                             0.0759294656, -0.0426537490},
                            5.5062500000},
                           {Kind::poly2,
                            {1.2321, 1.7424, 0.7921},
                            {1.17, 0.23, 1.61, -0.234, -1.38, 0.69},
                            {1.1987545229, -0.6573622031, 0.0165536668, -0.3435360698, -0.8140858082, 0.7622672358},
                            {1.1619991114, -0.7580733120, -0.7580733120, 0.6102097516},
                            {0.8374539562, 0.3561306203, 0.1657378509, -0.5312494127, -1.8345875376, 0.1839813717,
                             1.1158919731, -0.7907092846},
                            4.78}};
  for (const auto& c : cases) {
    const std::string name = std::to_string(static_cast<int>(c.kind));
    const Covariance k(c.kind, vector({0.8, 1.25}), c.kind == Kind::poly2 ? 1 : 1.5);
    const MatrixXd K = k.between(X, X);
    expect_near(vector({K(0, 1), K(0, 2), K(1, 2)}), vector(c.k), 1e-8, name + " K");
    expect_near(k.gradients(theta, X), rows(2, c.J), 1e-8, name + " J");
    const GradientPosterior p = posterior(k, 0.04, X, theta);
    expect_near(p.weights(), rows(2, c.W), 1e-8, name + " W");
    expect_near(p.covariance(), rows(2, c.C), 1e-8, name + " C");
    expect_near(p.weights() * Y.transpose(), rows(4, c.G).transpose(), 1e-8, name + " G");
    EXPECT_NEAR(k.mixed(theta, theta).trace(), c.prior, 1e-8) << name;
  }
}

// A1: the trace's gradient, one more point, and centred functions.
TEST(GradientPosterior, GivesTheReferenceDerivativesAndGains) {
  const MatrixXd X = rows(3, {0.5, -0.1, 0.1, -0.6, 0.7, 0.3}).transpose();
  const VectorXd theta = vector({0.3, -0.2}), z = vector({0.2, 0.2});
  const Covariance rbf(Kind::rbf, vector({0.8, 1.25}), 1.5), matern(Kind::matern52, vector({0.8, 1.25}), 1.5);
  const GradientPosterior p = posterior(rbf, 0.04, X, theta), m = posterior(matern, 0.04, X, theta);
  const GradientPosterior none = posterior(rbf, 0.04, MatrixXd(2, 0), theta),
                          no_matern = posterior(matern, 0.04, MatrixXd(2, 0), theta);
  expect_near(none.trace_slope(X).gradient.transpose(),
              rows(3, {-2.5023990632, 1.5194685418, 2.0128871576, -1.2118059417, 0.5423610681, -0.2434470470}),
              1e-8, "rbf");
  expect_near(no_matern.trace_slope(X).gradient.transpose(),
              rows(3, {-3.9186489187, 2.3281026416, 2.1253358608, -2.5523645453, 0.9940665043, -0.3605127932}),
              1e-8, "matern");
  EXPECT_NEAR(p.trace_with(z), 0.5574128793, 1e-8);
  EXPECT_NEAR(m.trace_with(z), 1.3013357473, 1e-8);
  GradientPosterior centred(rbf, 0.04, true);
  centred.append(X);
  centred.move_to(theta);
  expect_near(centred.weights(),
              rows(2, {1.1554235, -1.33664272, 0.18121922, -0.12033418, -0.51303149, 0.63336567}), 1e-8, "centred");
  EXPECT_NEAR(p.weights().squaredNorm(), 3.6809183014, 1e-8);
}

// A function with an offset: the process without a constant takes it for a slope.
TEST(GradientPosterior, CentringFindsTheSlopeOfFunctionsWithAnOffset) {
  const Covariance k(Kind::rbf, vector({1, 1}), 1);
  const VectorXd theta = vector({0.2, -0.1});
  MatrixXd X(2, 3);
  X << theta, theta + vector({0.3, 0}), theta + vector({0, 0.3});
  const VectorXd y = (5 + X.row(0).array() - theta(0)).matrix();
  for (const bool centre : {false, true}) {
    GradientPosterior p(k, 1e-4, centre);
    p.append(X);
    p.move_to(theta);
    const VectorXd g = p.weights() * y;
    expect_near(g, centre ? vector({0.97597205, -0.02253041}) : vector({1.72976032, 0.73125786}), 1e-7, "slope");
  }
}

// A2, W2: central differences along three axes.
TEST(GradientPosterior, GivesTheCentralStencilsOfThreeAxes) {
  const VectorXd theta = vector({0.2, -0.3, 0.5}), lengths = vector({0.8, 1.2, 0.6});
  MatrixXd X(3, 6);
  X << 0.25 * MatrixXd::Identity(3, 3), -0.25 * MatrixXd::Identity(3, 3);
  X.colwise() += theta;
  for (const Kind kind : {Kind::rbf, Kind::matern52}) {
    const bool rbf = kind == Kind::rbf;
    const GradientPosterior p = posterior({kind, lengths, 1.5}, 0.04, X, theta);
    EXPECT_NEAR(p.trace(), rbf ? 0.929002444349 : 2.089344085797, 1e-9);
    const MatrixXd W = p.weights();
    expect_near(W.leftCols(3).diagonal(),
                rbf ? vector({1.82278073488, 1.54705461942, 1.98958913117})
                    : vector({2.01389336104, 1.75326181681, 2.18596931823}),
                1e-9, "weights of the points ahead");
    EXPECT_LE(W.rowwise().sum().cwiseAbs().maxCoeff(), 1e-12);
    MatrixXd off = p.covariance();
    off.diagonal().setZero();
    EXPECT_LE(off.cwiseAbs().maxCoeff(), 1e-12);
  }
}

// A4: J and H by differences of k, the trace's gradient by differences of the trace.
TEST(GradientPosterior, DerivativesAgreeWithDifferences) {
  constexpr double h = 1e-5;
  for (const Kind kind : all_kinds)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Index d = 1 + static_cast<Index>(seed % 5);
      const Covariance k = kernel(kind, d);
      const MatrixXd xz = random(d, 2, seed);
      const VectorXd x = xz.col(0), z = seed % 10 == 0 ? x : VectorXd(xz.col(1));  // and where q = 0
      const VectorXd J = k.gradients(x, z);
      const MatrixXd H = k.mixed(x, z);
      for (Index i = 0; i < d; ++i) {
        const VectorXd step = h * VectorXd::Unit(d, i);
        EXPECT_NEAR(J(i), (k.between(x + step, z) - k.between(x - step, z))(0, 0) / (2 * h), 1e-7);
        expect_near(H.col(i), (k.gradients(x, z + step) - k.gradients(x, z - step)) / (2 * h), 1e-7, "H");
      }
    }
}

TEST(GradientPosterior, TheTraceFallsAlongItsGradient) {
  constexpr double h = 1e-5;
  for (const Kind kind : all_kinds)
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Index d = 1 + static_cast<Index>(seed % 5), N = 4;
      const Covariance k = kernel(kind, d);
      const MatrixXd X = random(d, N, seed);
      const VectorXd theta = random(d, 1, seed + 1000);
      const auto slope = posterior(k, 0.05, X.leftCols(1), theta).trace_slope(X.rightCols(N - 1));
      EXPECT_NEAR(slope.trace, posterior(k, 0.05, X, theta).trace(), 1e-10);
      for (Index q = 1; q < N; ++q)
        for (Index i = 0; i < d; ++i) {
          MatrixXd up = X, down = X;
          up(i, q) += h, down(i, q) -= h;
          const double difference =
              (posterior(k, 0.05, up, theta).trace() - posterior(k, 0.05, down, theta).trace()) / (2 * h);
          EXPECT_NEAR(slope.gradient(i, q - 1), difference, 1e-6) << "kernel " << static_cast<int>(kind);
        }
    }
}

// A5: what trace_with foretells is what append brings; one point by the formula |c|^2 / (v + sigma^2).
TEST(GradientPosterior, ForetellsTheTrace) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Index d = 1 + static_cast<Index>(seed % 4), b = 1 + static_cast<Index>(seed % 3);
    const Covariance k = kernel(all_kinds[seed % 3], d);
    const MatrixXd X = random(d, static_cast<Index>(seed % 6), seed), Z = random(d, b, seed + 1000);
    const VectorXd theta = random(d, 1, seed + 2000);
    GradientPosterior p = posterior(k, 0.02, X, theta);
    const double foretold = p.trace_with(Z);
    if (b == 1) {
      VectorXd c = k.gradients(theta, Z);
      double v = k.between(Z, Z)(0, 0);
      if (X.cols() > 0) {
        const VectorXd kz = k.between(X, Z);
        const MatrixXd A = k.between(X, X) + 0.02 * MatrixXd::Identity(X.cols(), X.cols());
        c -= p.weights() * kz;
        v -= kz.dot(A.householderQr().solve(kz));
      }
      EXPECT_NEAR(p.trace() - foretold, c.squaredNorm() / (v + 0.02), 1e-10);
    }
    p.append(Z);
    EXPECT_NEAR(p.trace(), foretold, 1e-10);
    const MatrixXd weights = p.weights(), covariance = p.covariance();  // where it stands, new points and all
    p.move_to(theta);
    EXPECT_NEAR(p.trace(), foretold, 1e-10);
    expect_near(weights, p.weights(), 1e-9, "weights");
    expect_near(covariance, p.covariance(), 1e-10, "covariance");
  }
}

// A6, T13: between 0 and the prior; falls with points, rises with noise.
TEST(GradientPosterior, TheTraceFallsWithPointsAndRisesWithNoise) {
  for (const Kind kind : all_kinds)
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Index d = 1 + static_cast<Index>(seed % 4);
      const Covariance k = kernel(kind, d);
      const MatrixXd X = random(d, 12, seed);
      const VectorXd theta = random(d, 1, seed + 1000);
      const double prior = k.mixed(theta, theta).trace();
      double before = prior;
      for (Index N = 1; N <= X.cols(); ++N) {
        const double trace = posterior(k, 0.01, X.leftCols(N), theta).trace();
        EXPECT_LE(trace, before + 1e-12);
        EXPECT_GE(trace, -1e-8 * prior);
        EXPECT_LE(trace, posterior(k, 0.02, X.leftCols(N), theta).trace() + 1e-12);
        before = trace;
      }
    }
}

// T13: 60 points of Poly-2 in 5 dimensions span 21 features; the Gram matrix is singular but for the floor, and the
// trace knows of the floor. A11: gradients of a quadratic are found.
TEST(GradientPosterior, SurvivesSingularGramMatrices) {
  const Covariance k(Kind::poly2, VectorXd::Ones(5), 1);
  const VectorXd theta = random(5, 1, 1), record = random(5, 1, 2);
  const MatrixXd X = random(5, 60, 3);
  double before = k.mixed(theta, theta).trace();
  const double prior = before;
  for (const Index N : {21, 30, 60}) {
    const GradientPosterior p = posterior(k, 0, X.leftCols(N), theta);
    const VectorXd y = (X.leftCols(N).colwise() - record).colwise().squaredNorm().transpose() / 2;
    expect_near(p.weights() * y, theta - record, N >= 30 ? 1e-5 : 1e-4, "gradient");
    EXPECT_LE(p.trace(), before + 1e-8 * prior);
    EXPECT_GE(p.trace(), -1e-8 * prior);
    before = p.trace();
  }
  MatrixXd cluster = 1e-6 * random(3, 40, 4);
  const GradientPosterior p = posterior(kernel(Kind::rbf, 3), 0, cluster, VectorXd::Zero(3));
  EXPECT_TRUE(p.weights().allFinite());
  EXPECT_GE(p.trace(), 0);
}

// T15: the gradient of a linear function points along it, and a step against it lowers the function.
TEST(GradientPosterior, PointsUphill) {
  for (const Kind kind : {Kind::rbf, Kind::matern52}) {
    const VectorXd a = vector({0.7, -1.1, 0.4}), theta = vector({0.1, 0.2, -0.3});
    MatrixXd X(3, 6);
    X << 0.2 * MatrixXd::Identity(3, 3), -0.2 * MatrixXd::Identity(3, 3);
    X.colwise() += theta;
    const VectorXd g = posterior(kernel(kind, 3), 1e-6, X, theta).weights() * (X.transpose() * a);
    EXPECT_GT(g.dot(a), 0.9 * a.squaredNorm());
    EXPECT_LT(a.dot(theta - 0.1 * g), a.dot(theta));
  }
}

// A10: nothing but differences of points counts, and no direction is special.
TEST(GradientPosterior, KnowsNoOriginAndNoAxes) {
  const Index d = 4;
  const MatrixXd X = random(d, 7, 1);
  const VectorXd theta = random(d, 1, 2), shift = 10 * random(d, 1, 3);
  const MatrixXd Q = ReducedWeights(random(d, d, 4)).Q;
  for (const Kind kind : {Kind::rbf, Kind::matern52}) {
    const Covariance k(kind, VectorXd::Constant(d, 0.8), 1.1);
    const GradientPosterior p = posterior(k, 0.01, X, theta);
    const GradientPosterior shifted = posterior(k, 0.01, X.colwise() + shift, theta + shift);
    const GradientPosterior turned = posterior(k, 0.01, Q * X, Q * theta);
    expect_near(shifted.weights(), p.weights(), 1e-10, "shifted");
    expect_near(shifted.covariance(), p.covariance(), 1e-10, "shifted");
    expect_near(turned.weights(), Q * p.weights(), 1e-10, "turned");
    expect_near(turned.covariance(), Q * p.covariance() * Q.transpose(), 1e-10, "turned");
  }
}

// A25: fewer points than dimensions: N numbers carry the norm, an orthogonal matrix the rest.
TEST(GradientPosterior, ReducedWeightsKeepNormsAndGradients) {
  const Index d = 9, N = 4;
  const GradientPosterior p = posterior(kernel(Kind::rbf, d), 0.01, random(d, N, 1), random(d, 1, 2));
  const MatrixXd W = p.weights(), Y = random(N, 30, 3);
  const ReducedWeights reduced(W);
  expect_near(reduced.R.triangularView<Eigen::Upper>().toDenseMatrix(), reduced.R, 0, "R");
  expect_near((W * Y).colwise().norm(), (reduced.R * Y).colwise().norm(), 1e-10, "norms");
  expect_near(reduced.Q.leftCols(N) * reduced.R * Y, W * Y, 1e-10, "gradients");
  expect_near(reduced.Q.transpose() * reduced.Q, MatrixXd::Identity(d, d), 1e-12, "Q");
}

// A26: twenty appends, then a window that forgets.
TEST(GradientPosterior, ExtendingIsFactoringAfresh) {
  for (const Kind kind : all_kinds) {
    const Index d = 3;
    const Covariance k = kernel(kind, d);
    const VectorXd theta = random(d, 1, 1);
    const MatrixXd X = random(d, 60, 2);
    GradientPosterior p(k, 0.01);
    for (Index i = 0; i < 20; ++i) p.append(X.middleCols(3 * i, 3));
    p.move_to(theta);
    expect_near(p.weights(), posterior(k, 0.01, X, theta).weights(), 1e-9, "appended");
    p.forget_first(17);
    p.append(random(d, 2, 3));
    p.move_to(theta);
    MatrixXd kept(d, 45);
    kept << X.rightCols(43), random(d, 2, 3);
    expect_near(p.weights(), posterior(k, 0.01, kept, theta).weights(), 1e-9, "after forgetting");
  }
}

// T19: a resumed run must have the same weights to the last bit, or its replayed step would publish another sum
// under the same noise.
TEST(GradientPosterior, RestoresEveryBit) {
  const Index d = 5;
  const VectorXd theta = random(d, 1, 1);
  GradientPosterior p(kernel(Kind::matern52, d), 1e-4), restored(kernel(Kind::matern52, d), 1e-4);
  for (Index i = 0; i < 12; ++i) {
    p.append(random(d, 1 + i % 7, static_cast<std::uint64_t>(i + 10)));
    if (i == 8) p.forget_first(11);
    const MatrixXd points = p.points();
    const std::vector<std::uint64_t> batches = p.batches();
    restored.restore(points, batches);
    p.move_to(theta);
    restored.move_to(theta);
    EXPECT_EQ(p.weights(), restored.weights()) << i;
    EXPECT_EQ(p.trace(), restored.trace()) << i;
  }
}

}  // namespace
}  // namespace dpmpi::gradient_posterior_test
