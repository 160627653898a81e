// gibo: its step against the formula, what a record can change, where its noise goes, and what it charges.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/black_box/box_descent.hpp"
#include "method/black_box/gibo_settings.hpp"
#include "objective/eigen.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/promise/guarantee.hpp"
#include "problems/loss_sums.hpp"
#include "problems/numbered_losses.hpp"
#include "problems/trial.hpp"
#include "support/kolmogorov.hpp"
#include "support/special_numbers.hpp"

namespace dpmpi::gibo_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::distance;
using test::labelled_shard;
using test::NumberedLoss;
using test::quadratic;
using test::random;
using test::sum;
using test::sum_lattice;
using test::Trial;
using test::zero;
using Settings = std::map<std::string, std::string>;
using Cuts = std::vector<std::uint64_t>;
using Loss = test::BlackBox::Loss;

using test::nan, test::infinity;

Settings with(Settings base, const Settings& changes) {
  for (const auto& [key, value] : changes) base[key] = value;
  return base;
}

Trial trial(const Settings& settings, double multiplier, std::size_t dim, Loss loss, Cuts cuts = {0, 9, 20},
            std::uint64_t key = 1, const std::string& name = "gibo") {
  return Trial(name, settings, multiplier, std::make_unique<NumberedLoss>(dim, std::move(loss)),
               labelled_shard(std::move(cuts)), Adjacency::replace_one, key);
}

/// What a method keeps, by its archive.
struct State {
  std::vector<double> theta, squares, points;
  std::vector<std::uint64_t> batches;
  std::uint64_t forgotten = 0;
};
State state(const Trial& t) {
  Archive written;
  t.algorithm->archive(written);
  Archive read(written.bytes());
  State s;
  read.field("gibo.theta", s.theta);
  read.field("gibo.squares", s.squares);
  read.field("gibo.points", s.points);
  read.field("gibo.batches", s.batches);
  read.field("gibo.forgotten", s.forgotten);
  read.finish();
  return s;
}

// ---- W3: two steps with noise that is given, sharded in every way (A3, A16, T2, T3).

struct Reference {
  bool adagrad;
  double theta1[2], trace1, sum1[2], mean1[2], theta2[2];
};
const Reference references[] = {{false,
                                 {0.297893293261, 0.001520836032},
                                 0.3700709594,
                                 {-0.891684805080, -0.314871299387},
                                 {-0.505763913745, 0.015563079311},
                                 {0.500198858759, -0.004704395693}},
                                {true,
                                 {0.000000005696, 0.099999999940},
                                 0.7580433680,
                                 {-0.154682151950, -0.889916278401},
                                 {-0.321513250462, -0.128198165442},
                                 {0.299959762237, 0.173980822643}}};

TEST(Gibo, TwoStepsByHandWhateverTheShards) {
  MatrixXd X(2, 5);
  X << 0.5, 0.1, 0.7, 0.6, -0.1, -0.1, -0.6, 0.3, 0.2, 0.1;
  MatrixXd records(2, 4);
  records << 1, -0.4, 0.6, 2.5, 0.5, 0.2, -1.3, 2.0;
  const double s = 2 * 0.8 * std::sqrt(2.0) / (4 * 1.5), w[2][2] = {{0.5, -1.25}, {-0.75, 0.25}};
  // Points pass as float32: the loss finds the number that was meant.
  const auto loss = [&](std::size_t i, std::span<const double> at) {
    for (Index j = 0; j < 5; ++j)
      if (at[0] == static_cast<float>(X(0, j)) && at[1] == static_cast<float>(X(1, j)))
        return (X.col(j) - records.col(static_cast<Index>(i))).squaredNorm() / 2;
    return nan;
  };
  EXPECT_NEAR(s, 0.377123616633, 1e-12);
  for (const Cuts& cuts : {Cuts{0, 4}, {0, 3, 4}, {0, 1, 4}, {0, 2, 4}, {0, 1, 2, 3, 4}, {0, 4, 4, 4, 4}})
    for (const Reference& r : references) {
      const Shard shard = labelled_shard(cuts);
      NumberedLoss objective(2, loss);
      LossTable table(objective, {});
      GradientPosterior posterior({Covariance::Kind::rbf, Eigen::Vector2d(0.8, 1.25), 1.5}, 0.04);
      BoxDescent descent(r.adagrad ? BoxDescent::Rule::adagrad : BoxDescent::Rule::gd, r.adagrad ? 0.3 : 0.4, {},
                         Eigen::Vector2d(0.3, -0.2));
      for (int t = 0; t < 2; ++t) {
        posterior.append(t == 0 ? X.leftCols(3) : X.rightCols(2));
        posterior.move_to(descent.point());
        const auto total = sum(table, shard, posterior.points(), posterior.weights(), 0.8);
        const double first[] = {-0.733180165880, -0.129590277152}, mean0[] = {0.005266766846, -0.503802090079};
        std::vector<double> mean(2);
        for (std::size_t j = 0; j < 2; ++j) {
          const double S = std::ldexp(static_cast<double>(total[j]), -40);
          EXPECT_NEAR(S, t == 0 ? first[j] : r.sum1[j], 1e-9);
          mean[j] = S / 4 + s * w[t][j];
          EXPECT_NEAR(mean[j], t == 0 ? mean0[j] : r.mean1[j], 1e-9);
        }
        if (t == 1) {
          EXPECT_NEAR(posterior.trace(), r.trace1, 1e-9);
        }
        descent.update(mean);
        for (Index j = 0; j < 2; ++j) EXPECT_NEAR(descent.point()(j), t == 0 ? r.theta1[j] : r.theta2[j], 1e-9);
      }
    }
  // Another fourth record moves the mean by nearly all that is allowed.
  GradientPosterior posterior({Covariance::Kind::rbf, Eigen::Vector2d(0.8, 1.25), 1.5}, 0.04);
  posterior.append(X.leftCols(3));
  posterior.move_to(Eigen::Vector2d(0.3, -0.2));
  const MatrixXd W = posterior.weights(), points = X.leftCols(3);
  const auto before = sum(loss, labelled_shard({0, 4}), points, W, 0.8);
  records.col(3) << -2.5, -2;
  EXPECT_NEAR(distance(sum(loss, labelled_shard({0, 4}), points, W, 0.8), before, sum_lattice) / 4, 0.3999354302,
              1e-9);
}

// ---- The method as a whole.

const Settings usual{{"steps", "6"},     {"trace_tol", "0.2"}, {"obs_noise_std", "0.05"}, {"eta", "0.4"},
                     {"theta0", "0.25"}, {"clip", "0.8"},      {"lengthscale", "1.5"},    {"kernel", "matern52"}};

// Every step again from records and the noise of the known key: factored afresh, one record after the other.
TEST(Gibo, StepFollowsTheFormula) {
  for (const Settings& more :
       {Settings{},
        {{"step", "adagrad"}},
        {{"memory", "window:7"}, {"box_lo", "-0.1"}, {"box_hi", "0.3"}},
        {{"batch", "fixed"}, {"memory", "window:0"}, {"center", "per_sample"}},
        {{"batch", "fixed"}, {"b", "2"}, {"memory", "window:0"}},  // fewer points than parameters
        {{"kernel", "poly2"},
         {"design", "random"},
         {"batch", "fixed"},
         {"prior_mean", "0.3"},
         {"lengthscale", "1"}}}) {
    constexpr std::size_t d = 3, n = 20;
    const Settings settings = with(usual, more);
    Trial t = trial(settings, 0.7, d, quadratic);
    SecretStream noise(SecretKey::from_seed(1).derive("noise"));
    GiboSettings options;
    Options declared("method");
    options.declare(declared);
    dpmpi::Settings parsed;
    for (const auto& [key, value] : settings) parsed["method." + key] = {value, "test"};
    std::vector<std::string> problems;
    declared.read(parsed, problems);
    ASSERT_TRUE(problems.empty()) << problems.front();
    const GiboSetup setup = options.setup(d);
    const Query& query = t.queries[0];
    VectorXd theta = VectorXd::Constant(d, 0.25), squares = VectorXd::Zero(d);
    const bool box = settings.contains("box_lo");
    MatrixXd D(d, 0);
    int clipped = 0;
    for (std::uint64_t step = 0; step < 6; ++step) {
      GradientPosterior posterior(setup.covariance, setup.noise_variance, setup.centre);
      if (D.cols() > 0) posterior.append(D);
      posterior.move_to(theta);
      const MatrixXd more_points = PointSelection(setup.selection).choose(posterior, step);
      posterior.append(more_points);
      posterior.move_to(theta);
      D = MatrixXd(posterior.points());
      VectorXd mean = VectorXd::Zero(d);
      for (std::size_t i = 0; i < n; ++i) {
        VectorXd y(D.cols());
        for (Index q = 0; q < D.cols(); ++q) y(q) = quadratic(i, {D.col(q).data(), d}) - options.prior_mean;
        const VectorXd g = posterior.weights() * y;
        clipped += g.norm() > 0.8;
        mean += g * std::min(1.0, 0.8 / g.norm()) / n;
      }
      VectorXd normals(d);
      noise.normals(step, 0, 0, std::span(normals.data(), d));
      mean += query.noise_std / n * test::turned(posterior, normals);
      squares += mean.cwiseAbs2();
      theta -= 0.4 * (settings.contains("step") ? VectorXd(mean.array() / (squares.array().sqrt() + 1e-10)) : mean);
      if (box) theta = theta.cwiseMax(-0.1).cwiseMin(0.3);
      t.run(1);
      const State now = state(t);
      for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(now.theta[j], theta(static_cast<Index>(j)), 1e-7) << step;
      const std::uint64_t window = setup.window;
      if (static_cast<std::uint64_t>(D.cols()) > window) D = MatrixXd(D.rightCols(static_cast<Index>(window)));
      EXPECT_EQ(now.points.size(), static_cast<std::size_t>(D.size()));
      theta = Eigen::Map<const VectorXd>(now.theta.data(), d);  // so that errors do not add up
    }
    EXPECT_GT(clipped, 0);
  }
}

// A12, T5, T12: the noise of the source's table; a release costs the same however many points it looks at.
TEST(Gibo, NoiseIsThatOfTheTable) {
  struct Row {
    double clip;
    std::uint64_t n;
    int T;
    double mu, s;
  };
  const Row table[] = {{1, 50, 150, 0.5, 0.9797958971},
                       {1, 50, 150, 2, 0.2449489743},
                       {1, 100, 100, 1, 0.2},
                       {std::sqrt(2.0), 100, 100, 1, 0.2828427125},
                       {3, 1000, 25, 1, 0.03},
                       {3, 700, 25, 1, 0.04285714286},
                       {1, 1000, 45, 0.1, 0.1341640786},
                       {1, 9000, 50, 1, 0.001571348403}};
  for (const Row& row : table)
    for (const char* b : {"1", "4"}) {
      const Settings settings{
          {"clip", fmt::format("{}", row.clip)}, {"steps", std::to_string(row.T)}, {"batch", "fixed"}, {"b", b}};
      const Trial t = trial(settings, 1 / row.mu, 4, zero, {0, row.n});
      EXPECT_NEAR(t.derived("s") / (1 + t.queries[0].eta), row.s, 1e-9 * std::max(1.0, row.s));
      EXPECT_LT(t.queries[0].eta, 1e-7);
      EXPECT_NEAR(t.derived("mu"), row.mu, 1e-12);
      EXPECT_NEAR(t.derived("Delta"), 2 * row.clip / static_cast<double>(row.n), 1e-6);
      const auto events = t.queries[0].events(0, static_cast<std::uint64_t>(row.T));
      const double delta = 1e-5;
      EXPECT_NEAR(epsilon_guarantee(events, Adjacency::replace_one, delta, "gdp").epsilon,
                  gdp_epsilon(row.mu, delta), 1e-6);
    }
}

// T12: no release beyond the plan.
TEST(Gibo, RefusesAReleaseMoreThanPlanned) {
  Trial t = trial(usual, 1, 3, quadratic);
  t.run();
  EXPECT_THROW(t.run(1), PrivacyError);
}

// A13, T4: with zero losses a step is noise alone, s in each coordinate, whatever the points.
TEST(Gibo, NoiseHasTheDeclaredLaw) {
  constexpr int T = 20000, d = 4;
  for (const char* b : {"5", "2"}) {  // and with fewer points than parameters
    SCOPED_TRACE(b);
    Trial t =
        trial({{"steps", std::to_string(T)}, {"batch", "fixed"}, {"b", b}, {"memory", "window:0"}, {"eta", "1"}},
              0.3, d, zero);
    const double s = t.derived("s");
    std::vector<double> all, before = state(t).theta;
    double cross = 0;
    for (int step = 0; step < T; ++step) {
      t.run(1);
      const auto now = state(t).theta;
      for (std::size_t j = 0; j < d; ++j) all.push_back((now[j] - before[j]) / s);
      cross += all[all.size() - 1] * all[all.size() - 2];
      before = now;
    }
    double square = 0, mean = 0;
    for (const double x : all) square += x * x, mean += x;
    const auto N = static_cast<double>(all.size());
    EXPECT_NEAR(square / N, 1, 0.02);
    EXPECT_NEAR(mean / N, 0, 4 / std::sqrt(N));
    EXPECT_NEAR(cross / T, 0, 0.03);
    EXPECT_GT(test::normal_p_value(all, 1), 1e-3);
  }
}

// T6: AdaGrad sees the noise: its sums are those of the released gradients.
TEST(Gibo, AdaGradIsFedWithReleasedGradients) {
  constexpr std::size_t d = 3;
  Trial t = trial(with(usual, {{"step", "adagrad"}}), 2, d, zero);
  SecretStream noise(SecretKey::from_seed(1).derive("noise"));
  std::vector<double> squares(d, 0.0);
  for (std::uint64_t step = 0; step < 6; ++step) {
    double normals[8];
    noise.normals(step, 0, 0, std::span(normals, d));
    for (std::size_t j = 0; j < d; ++j) squares[j] += std::pow(t.derived("s") * normals[j], 2);
    t.run(1);
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(state(t).squares[j], squares[j], 1e-6 * squares[j]);
  }
}

// T11: a public seed moves the points and leaves the noise as it is.
TEST(Gibo, DesignAndNoiseDoNotMeet) {
  const Settings settings = with(usual, {{"design", "random"}, {"batch", "fixed"}});
  const auto after_two = [](Trial t) { return t.run(2), state(t); };
  const State first = after_two(trial(settings, 1, 3, zero)),
              second = after_two(trial(with(settings, {{"design_seed", "2"}}), 1, 3, zero)),
              other_key = after_two(trial(settings, 1, 3, zero, {0, 9, 20}, 2));
  EXPECT_EQ(first.theta, second.theta);
  EXPECT_NE(first.points, second.points);
  EXPECT_NE(first.theta, other_key.theta);
}

// T7, T9: along one path of iterates nothing public depends on the records.
TEST(Gibo, PublicStateFollowsFromThePathAlone) {
  const Settings frozen = with(usual, {{"eta", "1e-300"}, {"memory", "window:9"}});
  const auto states = [&](Loss loss) {
    Trial t = trial(frozen, 1, 3, std::move(loss));
    std::vector<std::string> all;
    for (int step = 0; step < 6; ++step) {
      t.run(1);
      Archive archive;
      t.algorithm->archive(archive);
      all.push_back(archive.bytes());
    }
    return all;
  };
  const auto wild = [](std::size_t i, std::span<const double> w) {
    return i % 2 == 0 ? nan : 1e7 * w[0] + static_cast<double>(i);
  };
  EXPECT_EQ(states(quadratic), states(wild));
}

// T16: who holds which record does not matter, to the last bit.
TEST(Gibo, DoesNotDependOnWhoHoldsWhat) {
  const auto end = [](Loss loss, const Cuts& cuts) {
    Trial t = trial(usual, 1, 3, std::move(loss), cuts);
    return t.run(), state(t).theta;
  };
  const auto permuted = [](std::size_t i, std::span<const double> w) { return quadratic(7 * i % 20, w); };
  const auto plain = end(quadratic, {0, 9, 20});
  EXPECT_EQ(plain, end(quadratic, {0, 1, 5, 13, 20}));
  EXPECT_EQ(plain, end(permuted, {0, 9, 20}));
}

// T19: a run that goes on from its archive publishes the same iterates; the table of losses is no part of it.
TEST(Gibo, ResumesToTheSameBits) {
  for (const Settings& more : {Settings{},
                               {{"memory", "window:5"}, {"step", "adagrad"}},
                               {{"memory", "window:0"}, {"eval_noise", "shared"}, {"eval_noise_std", "0.1"}},
                               {{"batch", "fixed"}, {"b", "2"}, {"design", "refined"}},
                               {{"eval_noise", "per_sample"}, {"eval_noise_std", "0.1"}, {"memory", "window:4"}}}) {
    Trial whole = trial(with(usual, more), 1, 3, quadratic);
    whole.run();
    for (std::uint64_t stop = 0; stop <= 6; ++stop) {
      Trial stopped = trial(with(usual, more), 1, 3, quadratic);
      stopped.run(stop);
      Archive saved;
      stopped.algorithm->archive(saved);
      EXPECT_EQ(saved.bytes().find("losses"), std::string::npos);
      Trial rest = trial(with(usual, more), 1, 3, quadratic);
      rest.resume(stopped);
      rest.run();
      EXPECT_EQ(state(rest).theta, state(whole).theta) << stop;
      EXPECT_EQ(state(rest).points, state(whole).points) << stop;
    }
  }
}

TEST(Gibo, WithoutNoiseItFindsTheMinimum) {
  Trial t = trial(with(usual, {{"steps", "60"},
                               {"clip", "10"},
                               {"memory", "window:20"},
                               {"obs_noise_std", "0.001"},
                               {"trace_tol", "0.01"}}),
                  0, 3, quadratic, {0, 9, 20}, 1);
  t.run();
  for (std::size_t j = 0; j < 3; ++j) {
    double mean = 0;
    for (std::size_t i = 0; i < 20; ++i)
      mean += std::sin(1.7 * static_cast<double>(i) + 2.3 * static_cast<double>(j)) / 20;
    EXPECT_NEAR(state(t).theta[j], mean, 0.02);
  }
}

// ---- What one record can do.

// T10: nor do such records stop a run.
TEST(Gibo, RecordsThatAreNotFiniteDoNotStopIt) {
  Trial t = trial(usual, 1, 3, [](std::size_t i, std::span<const double> w) {
    return i == 7 ? (w[0] > 0 ? nan : 1.0) : i == 3 ? infinity : i == 13 ? 1e308 : quadratic(i, w);
  });
  t.run();
  for (const double x : state(t).theta) EXPECT_TRUE(std::isfinite(x));
}

// A15: an observer who knows all records but one, and that this one's loss rises or falls steeply, guesses which
// with probability Phi(mu / 2): no better, and no worse. The steps of one long run are as many short ones.
void expect_guesses(double mu, int trials, double tolerance) {
  constexpr int T = 16, n = 8;
  int right = 0;
  double total = 0;
  for (const double sign : {1.0, -1.0}) {
    const double whole_run = mu * std::sqrt(trials / 2.0);
    Trial t = trial(
        {{"steps", std::to_string(T * trials / 2)},
         {"batch", "fixed"},
         {"b", "2"},
         {"memory", "window:0"},
         {"eta", "1e-3"}},
        1 / whole_run, 1, [&](std::size_t i, std::span<const double> w) { return i == 7 ? sign * 1e6 * w[0] : 0; },
        {0, 3, n}, sign > 0 ? 11 : 12);
    EXPECT_NEAR(t.derived("s"), 2 * std::sqrt(T) / (n * mu), 1e-6);
    for (int k = 0; k < trials / 2; ++k) {
      const double before = state(t).theta[0];
      t.run(T);
      const double statistic = (before - state(t).theta[0]) / 1e-3;
      right += sign * statistic > 0;
      total += sign * statistic;
    }
  }
  const double expected = 0.5 * std::erfc(-mu / 2 / std::sqrt(2.0)), deviation = 2.0 * T / (n * mu);
  EXPECT_NEAR(static_cast<double>(right) / trials, expected, tolerance) << mu;
  EXPECT_NEAR(total / trials, static_cast<double>(T) / n, 4 * deviation / std::sqrt(static_cast<double>(trials)));
}

TEST(Gibo, AnObserverLearnsWhatIsPromised) { expect_guesses(1, 1200, 0.0466); }

TEST(Gibo, SlowObserversLearnWhatIsPromisedAtAnyLevel) {
  for (const double mu : {0.5, 1.0, 2.0}) expect_guesses(mu, 8000, 0.022);
}

// ---- Settings.

// A23; among them kernels without enough derivatives.
TEST(Gibo, RefusesSettingsThatDoNotFit) {
  const auto problems_of = [](const Settings& settings) {
    GiboSettings options;
    Options declared("method");
    options.declare(declared);
    dpmpi::Settings parsed;
    for (const auto& [key, value] : settings) parsed["method." + key] = {value, "test"};
    std::vector<std::string> problems;
    declared.read(parsed, problems);
    options.validate(problems);
    return problems.size();
  };
  EXPECT_EQ(problems_of(usual), 0u);
  for (const Settings& bad : {Settings{{"kernel", "matern32"}},
                              {{"kernel", "matern12"}},
                              {{"kernel", ""}},
                              {{"kernel", "RBF"}},
                              {{"clip", "0"}},
                              {{"clip", "-1"}},
                              {{"steps", "0"}},
                              {{"memory", "window:"}},
                              {{"memory", "window:x"}},
                              {{"memory", "none"}},
                              {{"lengthscale", "0"}},
                              {{"lengthscale", "1,x"}},
                              {{"lengthscale", ""}},
                              {{"kernel", "poly2"}},
                              {{"b", "3"}},
                              {{"theta0", "nan"}},
                              {{"box_lo", "0"}},
                              {{"eval_noise", "shared"}},
                              {{"trace_tol", "0"}},
                              {{"obs_noise_std", "-1"}}})
    EXPECT_GT(problems_of(bad), 0u) << bad.begin()->first << " = " << bad.begin()->second;
  for (const Settings& bad : {Settings{{"trace_tol", "1e-6"}},
                              {{"theta0", "2"}, {"box_lo", "-1"}, {"box_hi", "1"}},
                              {{"lengthscale", "1,2"}},
                              {{"theta0", "1,2,3,4"}},
                              {{"batch", "fixed"}, {"b", "7"}},
                              {{"box_lo", "1"}, {"box_hi", "-1"}}})
    EXPECT_THROW(trial(with(usual, bad), 1, 3, zero), ConfigError) << bad.begin()->first;
  EXPECT_THROW(trial({}, 1, 5000, zero), ConfigError) << "too many parameters";
}

}  // namespace
}  // namespace dpmpi::gibo_test
