// The min-max methods on a synthetic AUC problem against an independent reference's means: 20000 records, 2000 of
// them positive, 20 normal features, positives shifted by 2 along the first, rows of norm at most sqrt(20) over
// that; linear scorer under a sigmoid; 800 rounds with expected batch 512; calibrated by Renyi divergence. At equal
// budgets private-diff estimates the primal gradient better than dp-sgda; its AUC is not better here, and need not
// be.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objective/minimax/auc.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "problems/trial.hpp"
#include "support/shards.hpp"

namespace dpmpi::auc_test {
namespace {

using Given = std::map<std::string, std::string>;
constexpr std::size_t features = 20, records = 20000;

Records gaussians(std::size_t positives, std::uint64_t seed) {
  Records r;
  r.count = records, r.features = features, r.stride = 32, r.bias = 1;
  r.f32.assign(r.count * r.stride, 0.0F), r.label.assign(r.count, -1.0F), r.norm.assign(r.count, 0.0F);
  const PublicStream stream(seed, "synthetic AUC");
  std::vector<double> x(features);
  for (std::size_t i = 0; i < r.count; ++i) {
    stream.normals(i * features, x);
    // Positives are spread evenly over the records, and so over blocks.
    const bool positive = (i + 1) * positives / records > i * positives / records;
    if (positive) x[0] += 2, r.label[i] = 1;
    double square = 0;
    for (const double v : x) square += v * v;
    const double scale = 1 / std::max(std::sqrt(1.0 * features), std::sqrt(square));
    for (std::size_t j = 0; j < features; ++j) r.f32[i * r.stride + j] = static_cast<float>(scale * x[j]);
    r.norm[i] = static_cast<float>(std::sqrt(scale * scale * square + 1) * (1 + 1e-6));
  }
  return r;
}

double area(const Records& r, const test::AucReference& f, const std::vector<double>& w) {
  std::vector<std::pair<double, bool>> order;
  for (std::size_t i = 0; i < r.count; ++i) order.emplace_back(f.score(i, w), r.label[i] > 0);
  std::sort(order.begin(), order.end());
  double negatives = 0, right = 0, positives = 0;
  for (const auto& [score, positive] : order) positive ? (right += negatives, ++positives) : ++negatives;
  return right / (positives * negatives);
}

struct Outcome {
  double auc = 0, error = 0, clipped = 0;
};

// One run: AUC of the last iterate, mean squared error of the gradient estimate at every 7th round, and the share
// of differences that the radius clips there.
Outcome run(const std::string& method, const Given& own, double multiplier, double rate, std::uint64_t seed) {
  const Records test_set = gaussians(records / 2, 1000 + seed);
  const AucSettings settings{.scorer = {.units = {features, 1}, .input_bias = 1}, .prior = 0.1};
  Given given{{"batch", "512"},
              {"steps", "800"},
              {"clip", "0.5"},
              {"rate", fmt::format("{}", rate)},
              {"dual_rate", fmt::format("{}", 0.3 / 0.18)}};
  for (const auto& [key, value] : own) given[key] = value;
  test::Trial trial(method, given, multiplier, make_auc(settings), test::one_block(gaussians(records / 10, seed)),
                    Adjacency::add_remove, 77 + seed);
  const Records& data = trial.shard.blocks[0].records;
  const test::AucReference f(settings, data), tested(settings, test_set);
  const bool difference = method == "private-diff";
  const std::size_t d1 = trial.saddle()->primal_dim();

  Outcome outcome;
  double errors = 0, differences = 0;
  std::vector<double> before, point, last_point, g(d1), h(d1), mean(d1);
  for (std::uint64_t r = 0; r < trial.steps; ++r) {
    const auto w = trial.iterate();
    before.assign(w.begin(), w.end());
    trial.run(1);
    const auto now = trial.iterate();
    point = before;
    if (difference) point[d1] = now[d1];  // its dual moves first
    if (r % 7 == 6) {
      std::fill(mean.begin(), mean.end(), 0.0);
      const bool fresh = r % 8 == 0;
      const double radius = [&] {
        double dx = 0;
        for (std::size_t j = 0; j < d1; ++j) dx += std::pow(point[j] - last_point[j], 2);
        return 0.5 * std::sqrt(dx) + 0.5 * std::abs(point[d1] - last_point[d1]) + 0.005;
      }();
      for (std::size_t i = 0; i < records; ++i) {
        f.gradient(i, point, g);
        for (std::size_t j = 0; j < d1; ++j) mean[j] += g[j] / records;
        if (!difference || fresh || i % 10 != 0) continue;
        f.gradient(i, last_point, h);
        double square = 0;
        for (std::size_t j = 0; j < d1; ++j) square += std::pow(g[j] - h[j], 2);
        outcome.clipped += std::sqrt(square) > radius, ++differences;
      }
      for (std::size_t j = 0; j < d1; ++j) outcome.error += std::pow((before[j] - now[j]) / rate - mean[j], 2);
      ++errors;
    }
    last_point = point;
  }
  const auto w = trial.iterate();
  outcome.auc = area(test_set, tested, {w.begin(), w.end()});
  outcome.error /= errors;
  outcome.clipped /= std::max(1.0, differences);
  return outcome;
}

Outcome mean_of(int seeds, const std::string& method, const Given& own, double multiplier, double rate) {
  Outcome mean;
  for (int seed = 1; seed <= seeds; ++seed) {
    const Outcome one = run(method, own, multiplier, rate, static_cast<std::uint64_t>(seed));
    mean.auc += one.auc / seeds, mean.error += one.error / seeds, mean.clipped += one.clipped / seeds;
  }
  return mean;
}

struct Row {
  double epsilon, rate, sgda_noise, restart_noise, sgda_auc, diff_auc, ratio;
};
void expect_row(const Row& row, int seeds) {
  const Outcome sgda =
      mean_of(seeds, "dp-sgda", {{"dual_share", "0.5"}}, row.sgda_noise / std::sqrt(2.0), row.rate);
  const Outcome diff =
      mean_of(seeds, "private-diff",
              {{"difference_slope", "0.5"}, {"difference_dual_slope", "0.5"}, {"difference_least", "0.005"}},
              row.restart_noise / std::sqrt(100 / 0.6), row.rate);
  EXPECT_NEAR(sgda.auc, row.sgda_auc, 0.004);
  EXPECT_NEAR(diff.auc, row.diff_auc, 0.004);
  EXPECT_LE(diff.error / sgda.error, row.ratio);
  EXPECT_LT(diff.clipped, 0.06);
  fmt::print("epsilon {} rate {}: AUC {:.4f} {:.4f}, squared error {:.3g} {:.3g} (ratio {:.3f}), clipped {:.3f}\n",
             row.epsilon, row.rate, sgda.auc, diff.auc, sgda.error, diff.error, diff.error / sgda.error,
             diff.clipped);
}

// A22 of min-max methods.
TEST(MinimaxAuc, DifferencesEstimateTheGradientBetterAtAnEqualBudget) {
  expect_row({0.5, 0.5, 7.7113, 2.6005, 0.9191, 0.9182, 0.45}, 1);
}

TEST(MinimaxAuc, SlowAllBudgets) {
  expect_row({0.5, 0.5, 7.7113, 2.6005, 0.9191, 0.9182, 0.45}, 5);
  expect_row({0.5, 2, 7.7113, 2.6005, 0.9174, 0.9151, 0.45}, 5);
  expect_row({1, 0.5, 4.2133, 1.5327, 0.9199, 0.9195, 0.55}, 5);
  expect_row({1, 2, 4.2133, 1.5327, 0.9193, 0.9186, 0.55}, 5);
  expect_row({5, 0.5, 1.4078, 0.7395, 0.9202, 0.9199, 1.0}, 5);
}

}  // namespace
}  // namespace dpmpi::auc_test
