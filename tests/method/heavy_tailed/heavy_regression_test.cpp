// X3: linear regression on features and noise with heavy tails: how the cost of privacy falls with the records, the
// budget and the dimension, and the methods side by side. Slow; prints tables of docs/results/heavy-tailed.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/synthetic/generate.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "problems/trial.hpp"
#include "support/log_slope.hpp"

namespace dpmpi::heavy_regression_test {
namespace {

using test::Trial;
using Options = std::map<std::string, std::string>;

double real(std::uint64_t n) { return static_cast<double>(n); }

/// y = <w, x> + noise with w = (1, -1, 1, ...) / sqrt(d): x has a Pareto radius of tail index k + 1/4 and E |x|^2 =
/// d, the noise k + 0.1 degrees of freedom. w minimises the risk of all three losses.
Shard regression(double k, std::size_t d, std::uint64_t n, std::uint64_t sample) {
  GenerateOptions data;
  data.kind = "pareto-linear";
  data.features = static_cast<std::int64_t>(d);
  data.moment = k;
  Shard made;
  made.facts = {n, d, Storage::dense_f32};
  made.layout = BlockLayout::of(made.facts, 1);
  made.blocks.push_back({0, 0, generate_records(data, sample << 24, n)});
  return made;
}

/// |x - w|^2 after a run.
double error(const char* method, const Options& options, double multiplier, const char* loss, const Shard& records,
             std::uint64_t key) {
  const std::size_t d = records.facts.features;
  Trial trial(method, options, multiplier, test::make_objective(loss, {d, Storage::dense_f32, 0}), records,
              Adjacency::replace_one, key);
  trial.run();
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j)
    sum += std::pow(trial.iterate()[j] - (j % 2 == 0 ? 1 : -1) / std::sqrt(real(d)), 2);
  return sum;
}

constexpr double steps = 30;
constexpr std::uint64_t repeats = 4;
const std::vector<const char*> losses{"huber", "absolute", "squared"};

/// Means over samples of the error of clipped-gd, less that of a run without noise on the same records: what is
/// left is the noise, which theory speaks of. Grids of clips are shifted against each other, so that their width
/// averages out.
struct Cost {
  double privacy, statistics;
};
std::vector<Cost> costs(double k, std::uint64_t n, double mu, std::size_t d) {
  std::vector<Cost> mean(losses.size(), Cost{});
  for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
    const Shard records = regression(k, d, n, repeat);
    const std::string lowest = fmt::format("{}", 0.1 * std::pow(1.25, (real(repeat) + 0.5) / repeats));
    const Options common{{"steps", fmt::format("{}", steps)}, {"rate", "1"}, {"radius", "2"}};
    Options with_noise = common, without = common;
    with_noise["clip_lowest"] = lowest;
    without.insert({{"clip_rule", "fixed"}, {"clip", fmt::format("{}", 2 * std::sqrt(real(d)))}});
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const double plain = error("clipped-gd", without, 0, losses[i], records, repeat + 1);
      const double noisy =
          error("clipped-gd", with_noise, std::sqrt(steps / 0.95) / mu, losses[i], records, repeat + 1);
      mean[i].privacy += (noisy - plain) / repeats, mean[i].statistics += plain / repeats;
    }
  }
  return mean;
}

// Where gradients of length l have P(|g| > l) = l^-q, the clip that cuts 32 sqrt(d / rho) records is (n mu /
// sqrt(d))^(1/q) and the noise's square d (C / (n mu))^2: slopes -2 (1 - 1/q) in n and mu; in d, with |x| growing
// like sqrt(d), 1 + (1 - 1/q). For bounded slopes q = k + 1/4, that of the features; for squared losses the
// clip is found at 0, where gradients have |x|^2: half of it.
TEST(HeavyRegressionSlow, SlopesOfTheCostOfPrivacy) {
  fmt::print(
      "| loss | k | slope in n | in mu | predicted | in d | predicted | privacy / statistics |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const double k : {2.0, 3.0, 4.0, 8.0}) {
    constexpr std::size_t dim = 64;
    constexpr double mu = 0.05;
    const std::vector<double> n{1 << 15, 1 << 16, 1 << 17, 1 << 18}, budgets{0.025, 0.05, 0.1}, dims{16, 64, 256};
    std::vector<std::vector<Cost>> by_n, by_mu, by_d;
    for (const double count : n) by_n.push_back(costs(k, static_cast<std::uint64_t>(count), mu, dim));
    for (const double m : budgets) by_mu.push_back(m == mu ? by_n[1] : costs(k, 1 << 16, m, dim));
    for (const double d : dims)
      by_d.push_back(d == dim ? by_n[1] : costs(k, 1 << 16, mu, static_cast<std::size_t>(d)));
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const auto slope = [&](const std::vector<double>& x, const std::vector<std::vector<Cost>>& all) {
        std::vector<double> y;
        for (const auto& cost : all) y.push_back(cost[i].privacy);
        return test::log_slope(x, y);
      };
      const double tail = (k + 0.25) / (std::string(losses[i]) == "squared" ? 2 : 1), rate = 1 - 1 / tail;
      const double in_n = slope(n, by_n), in_mu = slope(budgets, by_mu), in_d = slope(dims, by_d);
      fmt::print("| {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.1f} to {:.1f} |\n", losses[i], k,
                 in_n, in_mu, -2 * rate, in_d, 1 + rate, by_n.back()[i].privacy / by_n.back()[i].statistics,
                 by_n.front()[i].privacy / by_n.front()[i].statistics);
      std::fflush(stdout);
      // At least as fast as that, at most like 1 / n^2: fewer clipped records also restore curvature.
      for (const double slope_found : {in_n, in_mu}) {
        EXPECT_LT(slope_found, -2 * rate + 0.1) << losses[i] << " " << k;
        EXPECT_GT(slope_found, -2) << losses[i] << " " << k;
      }
      EXPECT_GT(in_d, 1 + rate - 0.1) << losses[i] << " " << k;
      EXPECT_LT(in_d, 1 + rate + 0.6) << losses[i] << " " << k;
    }
  }
}

/// n = 2^14 and 2^17, d = 20, epsilon = 1, delta = n^-1.5, Huber loss: E |x - w|^2, 1 at the start.
TEST(HeavyRegressionSlow, MethodsSideBySide) {
  constexpr std::size_t d = 20;
  const std::vector<double> moments{2, 3, 4, 8};
  const Options full{{"steps", "30"}, {"rate", "1"}, {"radius", "2"}};
  std::map<std::string, std::vector<double>> rows;
  std::vector<std::string> order;
  for (const int log_n : {14, 17})
    for (const double k : moments) {
      const std::uint64_t n = std::uint64_t{1} << log_n;
      const double mu = gdp_mu(1, std::pow(real(n), -1.5)), index = k + 0.25;
      // Of the slope-1 losses: |x|, where E r^j = r_0^j index / (index - j).
      const double scale = std::sqrt((index - 2) / index * real(d)), second = std::sqrt(real(d)),
                   moment = scale * std::pow(index / 0.25, 1 / k);
      const Options guess{{"moment", fmt::format("{}", k)},
                          {"g2", fmt::format("{}", second)},
                          {"gk", fmt::format("{}", moment)},
                          {"radius", "2"}};
      std::map<std::string, double> mean;
      for (std::uint64_t repeat = 0; repeat < repeats; ++repeat) {
        const Shard records = regression(k, d, n, repeat);
        const auto& norms = records.blocks[0].records.norm;
        const double largest = *std::max_element(norms.begin(), norms.end());
        const auto run = [&](const std::string& what, const char* method, Options options, const Options& rest,
                             double releases) {
          options.insert(rest.begin(), rest.end());
          if (std::ranges::find(order, what) == order.end()) order.push_back(what);
          mean[what] += error(method, options, std::sqrt(releases) / mu, "huber", records, repeat + 1) / repeats;
        };
        const auto fixed = [](double clip) {
          return Options{{"clip_rule", "fixed"}, {"clip", fmt::format("{}", clip)}};
        };
        run("clipped-gd, `count`", "clipped-gd", {}, full, steps / 0.95);
        run("clipped-gd, `median`", "clipped-gd", {{"clip_rule", "median"}}, full, steps / 0.95);
        for (const double factor : {0.1, 1.0, 10.0})
          run(fmt::format("clipped-gd, {} G_2", factor), "clipped-gd", fixed(factor * second), full, steps);
        run("clipped-gd, the largest norm, as if it were public", "clipped-gd", fixed(largest), full, steps);
        run("ht-glm", "ht-glm", {}, guess, 1);
        Options known = guess;
        known["g1"] = known["g2"];
        run("ht-known-lipschitz", "ht-known-lipschitz", {}, known, 1);
        run("ht-known-lipschitz, G_2 / 2, `lambda_scale` = 0.3", "ht-known-lipschitz",
            {{"clip", fmt::format("{}", second / 2)}, {"lambda_scale", "0.3"}}, known, 1);
        for (const char* folds : {"1", "5", "27"})
          run(fmt::format("ht-localize, {} folds, `lambda_scale` = 0.001, `rate` = 1", folds), "ht-localize",
              {{"folds", folds}, {"phases", "1"}, {"lambda_scale", "0.001"}, {"rate", "1"}}, known, 1);
        const std::string without = "no noise, 2 G_2";
        if (std::ranges::find(order, without) == order.end()) order.push_back(without);
        Options plain = full;
        plain.insert({{"clip_rule", "fixed"}, {"clip", fmt::format("{}", 2 * second)}});
        mean[without] += error("clipped-gd", plain, 0, "huber", records, repeat + 1) / repeats;
      }
      for (const auto& [what, value] : mean) rows[what].push_back(value);
    }
  fmt::print(
      "| method | n = 2^14, k = 2 | 3 | 4 | 8 | n = 2^17, k = 2 | 3 | 4 | 8 |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& what : order) {
    fmt::print("| {} |", what);
    for (const double value : rows[what]) fmt::print(" {:.4f} |", value);
    fmt::print("\n");
    // 8 times the records help every method.
    for (std::size_t i = 0; i < moments.size(); ++i)
      EXPECT_LT(rows[what][i + moments.size()], rows[what][i]) << what;
  }
  for (std::size_t i = 0; i < 2 * moments.size(); ++i)
    EXPECT_LT(rows.at("clipped-gd, `count`")[i], rows.at("clipped-gd, the largest norm, as if it were public")[i]);
}

}  // namespace
}  // namespace dpmpi::heavy_regression_test
