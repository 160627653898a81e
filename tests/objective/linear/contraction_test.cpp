// One pass of clamped steps over neighbouring data: how far the averages of its points part.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/linear/link_cases.hpp"
#include "objective/linear/steps.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test::contraction_test {
namespace {

struct Pass {
  StepMode mode;
  double eta, clip;
  std::size_t batch, steps;
};

/// The mean of x_0 .. x_{T-1} of one pass from 0.
std::vector<double> averaged(const Glm& glm, const Pass& pass, const Records& records) {
  const double h = static_cast<double>(pass.batch) * pass.eta, cap = h * pass.clip;
  LatticeAccumulator sum(glm.dim(), lattice_of(cap, 45), cap * 1.001, 0, Width::int64);
  ClampedSteps steps(glm);
  std::vector<double> x(glm.dim(), 0.0), mean(glm.dim(), 0.0);
  const auto index = all_rows(records);
  for (std::size_t t = 0; t < pass.steps; ++t) {
    for (std::size_t j = 0; j < x.size(); ++j) mean[j] += x[j] / static_cast<double>(pass.steps);
    sum.clear();
    steps.steps(x, {pass.mode, h})(Rows{records, std::span(index).subspan(t * pass.batch, pass.batch)},
                                   L2Bound{.clip = cap}, sum);
    const double factor = sum.lattice().quantum() / static_cast<double>(pass.batch);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] -= factor * static_cast<double>(sum.totals()[j]);
  }
  return mean;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

void set_dense(Records& r, std::size_t i, std::span<const double> a, double y) {
  for (std::size_t j = 0; j < r.features; ++j) r.f32[i * r.stride + j] = static_cast<float>(a[j]);
  r.label[i] = static_cast<float>(y);
  update_norm(r, i);
}

// A9: heavy-tailed records, one of them replaced by one 30 times as long; the averages part by at most 2 eta C.
TEST(Contraction, NeighbouringPassesStayWithinTheSensitivity) {
  std::mt19937_64 bits(9);
  std::student_t_distribution<double> heavy(1.5);
  constexpr std::size_t d = 5;
  for (const LinkCase& link : links())
    for (const StepMode mode : {StepMode::explicit_, StepMode::proximal}) {
      const Glm glm({d, Storage::dense_f32, 0}, link.make());
      if (!has_steps(glm, mode)) continue;
      double worst = 0;
      for (int trial = 0; trial < 1000; ++trial) {
        constexpr std::size_t batches[] = {1, 4, 8};
        const Pass pass{mode, decades(-2, 1, bits), decades(-1, 1, bits), batches[bits() % 3], 8};
        const std::size_t n = pass.batch * pass.steps;
        Records records = random_records({Storage::dense_f32, n, d, 0, LabelKind::real});
        std::vector<double> a(d);
        const auto draw = [&](std::size_t i, double size) {
          for (double& v : a) v = size * heavy(bits);
          set_dense(records, i, a, random_label(link, bits));
        };
        for (std::size_t i = 0; i < n; ++i) draw(i, 1);
        const auto before = averaged(glm, pass, records);
        draw(bits() % pass.batch, 30);  // in the first step, whose effect lasts longest
        const auto after = averaged(glm, pass, records);
        worst = std::max(worst, distance(before, after) / (2 * pass.eta * pass.clip));
      }
      EXPECT_LE(worst, 1 + 1e-9) << link.name;
      EXPECT_GE(worst, 0.2) << link.name;
      RecordProperty(link.name + (mode == StepMode::proximal ? "_proximal" : "_explicit"),
                     fmt::format("{}", worst));
    }
}

// A9 and T10: the bound is reached, but for the factor (T - 1) / T of an average that leaves x_T out.
TEST(Contraction, AdversarialNeighboursReachTheSensitivity) {
  constexpr std::size_t d = 3;
  const Glm glm({d, Storage::dense_f32, 0}, absolute_loss());
  for (const std::size_t batch : {1U, 4U}) {
    const Pass pass{StepMode::proximal, 0.25, 0.75, batch, 20};
    Records records = random_records({Storage::dense_f32, batch * pass.steps, d, 0, LabelKind::real});
    const std::vector<double> zero(d, 0.0), first{1, 0, 0};
    for (std::size_t i = 0; i < records.count; ++i) set_dense(records, i, zero, 1);
    set_dense(records, 0, first, 1e9);
    const auto up = averaged(glm, pass, records);
    set_dense(records, 0, first, -1e9);
    const auto down = averaged(glm, pass, records);
    // Norms are float32, rounded up: the clip of a record of norm 1 is that much shorter.
    EXPECT_NEAR(distance(up, down) / (2 * pass.eta * pass.clip) * records.norm[0], 19.0 / 20, 1e-9);
  }
}

// T2: smoothness of typical records is no property of all of them. Two runs are 2 eta C apart, a little of it along
// the next record, which is long. With the step clipped, but not shortened to 1 / (beta |a|^2), both jump across
// its minimum, and end further apart.
TEST(Contraction, LongRecordsNeedTheirOwnCap) {
  const Glm glm({2, Storage::dense_f32, 0}, squared_loss());
  Records records = random_records({Storage::dense_f32, 2, 2, 0, LabelKind::real});
  const std::vector<double> oblique{std::sqrt(0.99), 0.1}, along{0, 1e6};
  const double cap = 0.5;
  ClampedSteps steps(glm);
  std::vector<std::vector<double>> capped, uncapped;
  for (const double y : {1e9, -1e9}) {
    set_dense(records, 0, oblique, y);
    set_dense(records, 1, along, 0);
    const std::uint32_t first[] = {0}, second[] = {1};
    std::vector<double> x(2, 0.0);
    const auto walk = [&](std::span<const std::uint32_t> row) {
      steps.walk({records, row}, {StepMode::explicit_, 0.5}, {.clip = cap}, lattice_of(cap, 45), x);
    };
    walk(first);
    uncapped.push_back(x);
    const double step = 0.5 * along[1] * x[1], limit = cap / along[1];
    uncapped.back()[1] -= std::clamp(step, -limit, limit) * along[1];
    walk(second);
    capped.push_back(x);
  }
  EXPECT_GT(distance(uncapped[0], uncapped[1]), 1.3 * 2 * cap);
  EXPECT_LE(distance(capped[0], capped[1]), 2 * cap);
}

}  // namespace
}  // namespace dpmpi::test::contraction_test
