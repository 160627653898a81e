// The outer loop: its invariants under any gradients, its output, and what a resumed run needs.
#include "method/zeroth_order/online_to_nonconvex.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi::online_to_nonconvex_test {
namespace {

constexpr std::size_t dim = 3;
using Vector = std::vector<double>;

double norm(std::span<const double> a) { return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0)); }
double distance(std::span<const double> a, std::span<const double> b) {
  Vector difference(a.begin(), a.end());
  for (std::size_t j = 0; j < a.size(); ++j) difference[j] -= b[j];
  return norm(difference);
}
Vector copy(std::span<const double> v) { return {v.begin(), v.end()}; }

constexpr float origin[dim] = {0.5F, -1, 2};

/// Directions that change at every step, of any length.
Vector gradient(std::uint64_t step, double length) {
  Vector g(4);
  PublicStream(3, "test", step).normals(0, g);
  g.resize(dim);
  for (double& v : g) v *= length;
  return g;
}

// For learners that hit the bound D in every step (rate 1e6) and for adaptive ones.
TEST(OnlineToNonconvex, KeepsItsInvariants) {
  for (const double rate : {0.0, 1e-3, 1e6})
    for (const std::uint64_t T : {1u, 2u, 8u, 64u}) {
      constexpr double D = 0.01;
      const std::uint64_t K = 5;
      OnlineToNonconvex loop({.inner = T, .outer = K, .step_radius = D, .rate = rate}, origin);
      for (std::uint64_t k = 0; k < K; ++k) {
        std::vector<Vector> points;
        for (std::uint64_t t = 1; t <= T; ++t) {
          const Vector x = copy(loop.end());
          loop.advance();
          points.push_back(copy(loop.point()));
          if (t == 1) {
            EXPECT_EQ(points[0], x) << "an epoch begins at rest where the last one ended";
          } else {
            EXPECT_EQ(copy(loop.previous()), points[t - 2]);
            EXPECT_EQ(loop.distance(), distance(points[t - 1], points[t - 2]));
            EXPECT_LE(loop.distance(), (t == 2 ? 1 : 2) * D * (1 + 1e-12));
          }
          loop.learn(gradient(k * T + t, 100));
          EXPECT_LE(norm(loop.step()), D * (1 + 1e-12));
          if (rate == 1e6) {
            EXPECT_NEAR(norm(loop.step()), D, 1e-12);
          }
        }
        Vector mean(dim);
        for (const auto& w : points)
          for (std::size_t j = 0; j < dim; ++j) mean[j] += w[j] / static_cast<double>(T);
        const auto n = static_cast<double>(T);
        for (const auto& w : points)
          EXPECT_LE(distance(w, mean), D * (n - 1) * (n + 2) / (2 * n) * (1 + 1e-9) + 1e-15);
        if (!loop.done()) {
          for (std::size_t j = 0; j < dim; ++j) EXPECT_FLOAT_EQ(loop.published()[j], static_cast<float>(mean[j]));
        }
      }
      EXPECT_TRUE(loop.done());
    }
}

// The learner's step by hand: eta fixed, and eta_t = D / sqrt(sum of squares), which starts again with an epoch.
TEST(OnlineToNonconvex, LearnsByItsRule) {
  constexpr double D = 10, eta = 0.25;
  for (const bool adaptive : {false, true}) {
    OnlineToNonconvex loop({.inner = 3, .outer = 2, .step_radius = D, .rate = adaptive ? 0 : eta}, origin);
    for (int k = 0; k < 2; ++k) {
      Vector step(dim);
      double squares = 0;
      for (int t = 0; t < 3; ++t) {
        loop.advance();
        const Vector g = gradient(static_cast<std::uint64_t>(3 * k + t), 1);
        squares += norm(g) * norm(g);
        for (std::size_t j = 0; j < dim; ++j) step[j] -= (adaptive ? D / std::sqrt(squares) : eta) * g[j];
        if (norm(step) > D)
          for (const double by = D / norm(step); double& v : step) v *= by;
        loop.learn(g);
        for (std::size_t j = 0; j < dim; ++j) EXPECT_NEAR(loop.step()[j], step[j], 1e-12);
      }
    }
  }
}

// The points are uniform on the segments, by the published stream.
TEST(OnlineToNonconvex, DrawsSegmentsFromThePublishedStream) {
  OnlineToNonconvex loop({.inner = 3, .outer = 1, .step_radius = 1, .rate = 1, .seed = 0x0123456789abcdef}, origin);
  const double published[] = {0.709734146798, 0.823540623121, 0.838257464795};
  for (const double s : published) {
    const Vector x = copy(loop.end()), delta = copy(loop.step());
    loop.advance();
    for (std::size_t j = 0; j < dim; ++j) EXPECT_NEAR(loop.point()[j], x[j] + s * delta[j], 1e-11);
    loop.learn(Vector{1, 2, 3});
  }
}

std::vector<std::vector<float>> epochs_and_output(OnlineToNonconvex::Output output, std::uint64_t seed) {
  OnlineToNonconvex loop({.inner = 4, .outer = 6, .step_radius = 1, .seed = seed, .output = output}, origin);
  std::vector<std::vector<float>> all;
  double least = 1e300;
  std::vector<float> stationary;
  for (int k = 0; k < 6; ++k) {
    Vector mean(dim);
    Vector sum(dim);
    for (int t = 0; t < 4; ++t) {
      loop.advance();
      for (std::size_t j = 0; j < dim; ++j) mean[j] += loop.point()[j] / 4;
      const Vector g = gradient(static_cast<std::uint64_t>(10 * k + t), k == 2 ? 0.1 : 1);
      for (std::size_t j = 0; j < dim; ++j) sum[j] += g[j] / 4;
      loop.learn(g);
    }
    EXPECT_NEAR(loop.stationarity(), norm(sum), 1e-12);
    all.emplace_back(mean.begin(), mean.end());
    if (norm(sum) < least) least = norm(sum), stationary = all.back();
  }
  all.push_back(stationary);
  all.emplace_back(loop.published().begin(), loop.published().end());
  return all;
}

// A regulariser of 1e308, say: the same message on all ranks, and no iterate that is not a number.
TEST(OnlineToNonconvex, RefusesWhatIsNotFinite) {
  for (const double bad : {HUGE_VAL, std::nan(""), 1e200}) {
    OnlineToNonconvex loop({.inner = 2, .outer = 1, .step_radius = 1}, AlignedVector<float>{0.0f, 0.0f});
    loop.advance();
    EXPECT_THROW(loop.learn(std::vector<double>{1.0, bad}), ConfigError);
  }
}

TEST(OnlineToNonconvex, ChoosesItsOutput) {
  std::map<std::size_t, int> chosen;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto all = epochs_and_output(OnlineToNonconvex::Output::uniform, seed);
    ++chosen[static_cast<std::size_t>(std::find(all.begin(), all.begin() + 6, all.back()) - all.begin())];
  }
  EXPECT_EQ(chosen.size(), 6u);
  for (const auto& [k, times] : chosen) EXPECT_NEAR(times, 100, 5 * std::sqrt(100 * 5.0 / 6)) << k;
  const auto stationary = epochs_and_output(OnlineToNonconvex::Output::stationarity, 1);
  EXPECT_EQ(stationary[7], stationary[6]);
  const auto last = epochs_and_output(OnlineToNonconvex::Output::last, 1);
  EXPECT_EQ(last[7], last[5]);
}

TEST(OnlineToNonconvex, GoesOnAnywhere) {
  const OnlineToNonconvex::Settings settings{.inner = 5, .outer = 4, .step_radius = 0.3};
  const auto steps = [](OnlineToNonconvex& loop, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) loop.advance(), loop.learn(gradient(i, 2));
  };
  OnlineToNonconvex whole(settings, origin);
  steps(whole, 0, 20);
  for (std::uint64_t stop = 0; stop <= 20; ++stop) {
    OnlineToNonconvex first(settings, origin), second(settings, origin);
    steps(first, 0, stop);
    Archive saved;
    first.archive(saved);
    Archive read(saved.bytes());
    second.archive(read);
    read.finish();
    steps(second, stop, 20);
    EXPECT_EQ(copy(second.end()), copy(whole.end())) << stop;
    EXPECT_TRUE(std::equal(whole.published().begin(), whole.published().end(), second.published().begin())) << stop;
  }
}

}  // namespace
}  // namespace dpmpi::online_to_nonconvex_test
