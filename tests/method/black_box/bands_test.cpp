// gibo on problems of which the source reports curves: where it ends, and how near it is to descent on exact
// clipped gradients with the very same noise.
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "problems/numbered_losses.hpp"
#include "problems/trial.hpp"

namespace dpmpi::bands_test {
namespace {

using test::labelled_shard;
using test::NumberedLoss;
using test::Trial;
using Settings = std::map<std::string, std::string>;
using Vector = std::vector<double>;

Vector normals(std::size_t count, std::uint64_t seed, const char* purpose) {
  Vector out(round_up(count, 2));
  PublicStream(seed, purpose).normals(0, out);
  out.resize(count);
  return out;
}

double distance(const Vector& a, const Vector& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

/// Losses of n records in d dimensions, and their gradients.
struct Problem {
  std::size_t d, n;
  test::BlackBox::Loss loss;
  std::function<Vector(std::size_t, const Vector&)> gradient;
  Vector goal;
};

Problem normal_mean(std::uint64_t seed) {
  constexpr std::size_t d = 5, n = 50;
  Vector x = normals(d * n, seed, "records"), mean(d, 0.0);
  for (std::size_t i = 0; i < d * n; ++i) x[i] += 1, mean[i % d] += x[i] / n;
  const auto loss = [x](std::size_t i, std::span<const double> w) {
    double square = 0;
    for (std::size_t j = 0; j < d; ++j) square += (w[j] - x[i * d + j]) * (w[j] - x[i * d + j]);
    return square / 2;
  };
  const auto gradient = [x](std::size_t i, const Vector& w) {
    Vector g(d);
    for (std::size_t j = 0; j < d; ++j) g[j] = w[j] - x[i * d + j];
    return g;
  };
  return {d, n, loss, gradient, mean};
}

Problem huber(std::uint64_t seed) {
  constexpr std::size_t d = 4, n = 100;
  const Vector x = normals(d * n, seed, "records"), noise = normals(n, seed, "labels");
  const auto residual = [=](std::size_t i, const auto& w) {
    double r = noise[i];
    for (std::size_t j = 0; j < d; ++j) r += x[i * d + j] * (1 - w[j]);
    return r;
  };
  const auto weight = [=](std::size_t i) {
    double square = 0;
    for (std::size_t j = 0; j < d; ++j) square += x[i * d + j] * x[i * d + j];
    return std::min(1.0, 2 / square);
  };
  const auto loss = [=](std::size_t i, std::span<const double> w) {
    const double r = std::abs(residual(i, w));
    return weight(i) * (r <= 1 ? r * r / 2 : r - 0.5);
  };
  const auto gradient = [=](std::size_t i, const Vector& w) {
    Vector g(d);
    for (std::size_t j = 0; j < d; ++j) g[j] = -weight(i) * std::clamp(residual(i, w), -1.0, 1.0) * x[i * d + j];
    return g;
  };
  Vector goal(d, 1.0);  // the minimiser, by descent
  for (int t = 0; t < 3000; ++t) {
    Vector mean(d, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < d; ++j) mean[j] += gradient(i, goal)[j] / n;
    for (std::size_t j = 0; j < d; ++j) goal[j] -= mean[j];
  }
  return {d, n, loss, gradient, goal};
}

/// The step that exact gradients would take, without noise.
Vector exact_mean(const Problem& p, const Vector& w) {
  Vector mean(p.d, 0.0);
  for (std::size_t i = 0; i < p.n; ++i) {
    const Vector g = p.gradient(i, w);
    const double norm = distance(g, Vector(p.d, 0.0)), factor = std::min(1.0, 1 / norm);
    for (std::size_t j = 0; j < p.d; ++j) mean[j] += factor * g[j] / static_cast<double>(p.n);
  }
  return mean;
}

struct Ends {
  double gibo = 0, descent = 0;  ///< root mean square distance from the goal in the last iterates, mean over seeds
  std::vector<double> bias;      ///< of the mean clipped gradient at each step, largest over seeds
};

Ends ends(const std::function<Problem(std::uint64_t)>& make, Settings settings, double mu, int seeds, int last) {
  const int T = std::stoi(settings["steps"]);
  const double eta = std::stod(settings["eta"]);
  Ends all;
  all.bias.assign(static_cast<std::size_t>(T), 0.0);
  for (int seed = 0; seed < seeds; ++seed) {
    const auto key = static_cast<std::uint64_t>(seed);
    const Problem p = make(key);
    settings["design_seed"] = std::to_string(seed);
    Trial t("gibo", settings, mu > 0 ? 1 / mu : 0, std::make_unique<NumberedLoss>(p.d, p.loss),
            labelled_shard({0, p.n}), Adjacency::replace_one, key);
    SecretStream stream(SecretKey::from_seed(key).derive("noise"));
    const bool rbf = !settings.contains("kernel");
    GradientPosterior first({rbf ? Covariance::Kind::rbf : Covariance::Kind::poly2,
                             Eigen::VectorXd::Ones(static_cast<Eigen::Index>(p.d)), 1},
                            std::pow(std::stod(settings["obs_noise_std"]), 2));
    Vector w(p.d, 0.0), v(p.d, 0.0);
    Eigen::VectorXd noise = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(p.d));
    double of_gibo = 0, of_descent = 0;
    for (int step = 0; step < T; ++step) {
      const auto number = static_cast<std::uint64_t>(step);
      if (mu > 0) stream.normals(number, 0, 0, std::span(noise.data(), p.d));
      const double s = t.queries[0].noise_std / static_cast<double>(p.n);
      t.run(1);
      Archive written;
      t.algorithm->archive(written);
      Archive read(written.bytes());
      Vector now, squares, points;
      read.field("gibo.theta", now);
      read.field("gibo.squares", squares);
      read.field("gibo.points", points);
      if (step == 0) {  // the only one with fewer points than parameters
        const auto d = static_cast<Eigen::Index>(p.d);
        first.append(Eigen::Map<const Eigen::MatrixXd>(points.data(), d, std::ssize(points) / d));
        first.move_to(Eigen::VectorXd::Zero(d));
        noise = test::turned(first, noise);
      }
      const Vector there = exact_mean(p, w), own = exact_mean(p, v);
      double bias = 0;
      for (std::size_t j = 0; j < p.d; ++j) {
        bias += std::pow((w[j] - now[j]) / eta - s * noise(static_cast<Eigen::Index>(j)) - there[j], 2);
        v[j] -= eta * (own[j] + s * noise(static_cast<Eigen::Index>(j)));
      }
      all.bias[number] = std::max(all.bias[number], std::sqrt(bias));
      w = now;
      if (step < T - last) continue;
      of_gibo += std::pow(distance(w, p.goal), 2) / last;
      of_descent += std::pow(distance(v, p.goal), 2) / last;
    }
    all.gibo += std::sqrt(of_gibo) / seeds;
    all.descent += std::sqrt(of_descent) / seeds;
  }
  return all;
}

// A18: the window holds more points than the 21 features of the kernel, so that nothing more is known from older
// ones.
TEST(GiboBands, SlowNormalMean) {
  const Settings settings{
      {"kernel", "poly2"}, {"design", "random"}, {"batch", "fixed"},        {"b", "3"},
      {"steps", "150"},    {"eta", "0.1"},       {"obs_noise_std", "1e-4"}, {"memory", "window:60"}};
  for (const auto& [mu, low, high] : {std::array{0.5, 0.62, 0.88}, {2.0, 0.16, 0.25}, {0.0, 0.06, 0.13}}) {
    const Ends found = ends(normal_mean, settings, mu, 20, 50);
    fmt::print("mu {}: {:.4f}, descent {:.4f}\n", mu, found.gibo, found.descent);
    EXPECT_GT(found.gibo, low) << mu;
    EXPECT_LT(found.gibo, high) << mu;
    EXPECT_NEAR(found.gibo, found.descent, 0.01 * found.descent) << mu;
    for (std::size_t t = 7; t < 150; ++t) EXPECT_LT(found.bias[t], 1e-3) << mu << " " << t;
  }
}

// A19.
TEST(GiboBands, SlowHuber) {
  const Settings settings{
      {"batch", "fixed"}, {"b", "2"}, {"steps", "100"}, {"eta", "0.5"}, {"obs_noise_std", "1e-3"}};
  const Ends found = ends(huber, settings, 1, 20, 30), without = ends(huber, settings, 0, 20, 30);
  fmt::print("{:.4f}, descent {:.4f}, without noise {:.4f}; bias {:.4f} {:.4f}\n", found.gibo, found.descent,
             without.gibo, found.bias[0], found.bias[50]);
  EXPECT_GT(found.gibo, 0.33);
  EXPECT_LT(found.gibo, 0.47);
  EXPECT_NEAR(found.gibo, found.descent, 0.02 * found.descent);
  EXPECT_GT(found.bias[0], 0.2);
  EXPECT_LT(found.bias[50], 0.02);
  EXPECT_LT(without.gibo, 0.05);
}

// A17: where nothing is clipped and gradients are exact, noise alone keeps the iterate from the mean. A step is
// theta - eta (theta - mean + s w), so that in the long run E|theta - mean|^2 = eta s^2 d / (2 - eta).
TEST(GiboBands, SlowNoiseFloor) {
  constexpr double eta = 0.1, s = 0.2, B = 100;
  constexpr int T = 24000, settled = 500;
  Problem p = normal_mean(3);
  p.n = 4, p.goal.assign(p.d, 0.0);
  for (std::size_t i = 0; i < p.n; ++i) {
    const Vector g = p.gradient(i, Vector(p.d, 0.0));
    for (std::size_t j = 0; j < p.d; ++j) p.goal[j] -= g[j] / static_cast<double>(p.n);
  }
  const double multiplier = s * static_cast<double>(p.n) / (2 * B * std::sqrt(static_cast<double>(T)));
  Trial t("gibo",
          {{"kernel", "poly2"},
           {"design", "random"},
           {"batch", "fixed"},
           {"b", "3"},
           {"steps", std::to_string(T)},
           {"eta", fmt::format("{}", eta)},
           {"clip", fmt::format("{}", B)},
           {"obs_noise_std", "1e-4"},
           {"memory", "window:36"}},
          multiplier, std::make_unique<NumberedLoss>(p.d, p.loss), labelled_shard({0, p.n}));
  EXPECT_NEAR(t.derived("s"), s, 1e-6);
  double square = 0;
  for (int step = 0; step < T; ++step) {
    t.run(1);
    Vector now(t.algorithm->iterate().begin(), t.algorithm->iterate().end());
    if (step >= settled) square += std::pow(distance(now, p.goal), 2) / (T - settled);
  }
  const double expected = eta * s * s * static_cast<double>(p.d) / (2 - eta);
  EXPECT_NEAR(expected, 0.0105263158, 1e-9);
  fmt::print("{:.6f}, expected {:.6f}\n", square, expected);
  EXPECT_NEAR(square, expected, 0.05 * expected);
}

}  // namespace
}  // namespace dpmpi::bands_test
