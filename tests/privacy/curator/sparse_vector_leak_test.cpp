// A12, T1: why no test here shares its noise with another one. The published one-pass method for smooth losses
// draws one noisy threshold, keeps it until a query is above and halts after about c of those. The pair of datasets
// here has linear losses, so its gradients do not depend on the path and everything else in the method is the same
// for both.
#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "support/halting_layer.hpp"

namespace dpmpi::sparse_vector_leak_test {
namespace {

using test::HaltingLayer;
using Case = test::HaltingCase;
constexpr auto& cases = test::halting_cases;
const double L = test::halting_cut;

double cut_off_laplace_cdf(double x, double scale, double cut) {
  if (x <= -cut) return 0;
  if (x >= cut) return 1;
  const double tail = std::exp(-cut / scale), side = (std::exp(-std::abs(x) / scale) - tail) / (2 * (1 - tail));
  return x < 0 ? side : 1 - side;
}
// Pr[Lap(scale) > x]
double laplace_tail(double x, double scale) {
  return x > 0 ? std::exp(-x / scale) / 2 : 1 - std::exp(x / scale) / 2;
}

// s[l]: no hit in l borderline queries after the threshold was drawn.
std::vector<double> survival(int most) {
  constexpr int nodes = 40001;
  const double step = 2 * L / (nodes - 1);
  std::vector<double> s(static_cast<std::size_t>(most) + 1);
  for (int i = 0; i < nodes; ++i) {
    const double xi = -L + i * step, below = cut_off_laplace_cdf(xi, 2, 2 * L);
    double weight =
        std::exp(-std::abs(xi)) / (2 * (1 - std::exp(-L))) * step * (i == 0 || i == nodes - 1 ? 0.5 : 1);
    for (double& value : s) value += weight, weight *= below;
  }
  const double total = s[0];
  for (double& value : s) value /= total;
  return s;
}

// The law of the number of hits among `queries` borderline ones, a fresh threshold at the beginning and after each
// hit.
std::vector<double> hits(int queries, const std::vector<double>& s) {
  const auto n = static_cast<std::size_t>(queries);
  std::vector<double> last(n + 1), law(n + 1);  // last[t]: the c-th hit is at t
  last[0] = 1;
  for (std::size_t c = 0; c <= n; ++c) {
    for (std::size_t t = 0; t <= n; ++t) law[c] += last[t] * s[n - t];
    std::vector<double> next(n + 1);
    for (std::size_t t = 0; t <= n; ++t)
      for (std::size_t l = 1; t + l <= n; ++l) next[t + l] += last[t] * (s[l - 1] - s[l]);
    last = next;
  }
  return law;
}

double alive(const std::vector<double>& law, std::size_t more, const Case& c) {
  double sum = 0;
  for (std::size_t h = 0; h < law.size(); ++h)
    sum += law[h] * laplace_tail(static_cast<double>(h + more) - c.room, 3 / c.epsilon);
  return sum;
}

TEST(SparseVectorLeak, HaltingTellsWithASharedThreshold) {
  const std::vector<double> s = survival(160);
  for (const Case& c : cases) {
    const auto half = hits(c.m, s), whole = hits(2 * c.m, s);
    std::vector<double> halves(2 * half.size() - 1);
    for (std::size_t i = 0; i < half.size(); ++i)
      for (std::size_t j = 0; j < half.size(); ++j) halves[i + j] += half[i] * half[j];
    const double with = alive(halves, 1, c), without = alive(whole, 0, c);
    EXPECT_NEAR(with, c.alive, 1e-6 * c.alive);
    EXPECT_NEAR(without, c.other_alive, 1e-6 * c.other_alive);
    const double delta = without - std::exp(c.epsilon) * with;
    EXPECT_GT(delta, 1e-6);                                     // the delta that is claimed
    EXPECT_GT(without, std::exp(c.epsilon / 3) * with + 1e-3);  // T1
  }
  const Case& c = cases[1];
  EXPECT_NEAR(c.other_alive - std::exp(c.epsilon) * c.alive, 6.54e-3, 1e-5);
}

TEST(SparseVectorLeak, HaltingDoesNotTellWithFreshNoise) {
  const Case& c = cases[1];
  std::vector<double> law(static_cast<std::size_t>(2 * c.m) +
                          1);  // a borderline query is a hit with probability 1/2
  law[0] = std::pow(0.5, 2 * c.m);
  for (std::size_t h = 1; h < law.size(); ++h)
    law[h] = law[h - 1] * static_cast<double>(law.size() - h) / static_cast<double>(h);
  const double with = alive(law, 1, c), without = alive(law, 0, c);
  EXPECT_NEAR(with, 3.0566852e-6, 1e-13);
  EXPECT_NEAR(without, 4.1260934e-6, 1e-13);
  EXPECT_LE(without / with, std::exp(c.epsilon / 3) * (1 + 1e-12));
}

double frequency_alive(HaltingLayer& layer, const Case& c, bool differing_record_hits, int runs) {
  int alive = 0;
  for (int run = 0; run < runs; ++run) alive += layer.alive(c, differing_record_hits);
  return static_cast<double>(alive) / runs;
}

// T1: the two layers run as programs.
TEST(SparseVectorLeak, SimulatedLayers) {
  constexpr int runs = 15000;
  Case c = cases[1];
  HaltingLayer shared(false), fresh(true);
  const double with = frequency_alive(shared, c, true, runs), without = frequency_alive(shared, c, false, runs);
  EXPECT_NEAR(with, c.alive, 5 * std::sqrt(c.alive / runs));
  EXPECT_NEAR(without, c.other_alive, 5 * std::sqrt(c.other_alive / runs));
  EXPECT_GT(without, std::exp(c.epsilon / 3) * with + 1e-3);
  c.room = c.m;  // where fresh noise halts about half of the time
  EXPECT_LE(frequency_alive(fresh, c, false, runs),
            std::exp(c.epsilon / 3) * frequency_alive(fresh, c, true, runs) + 1e-3);
}

}  // namespace
}  // namespace dpmpi::sparse_vector_leak_test
