// Points that come in few calls: the same sums as one after the other, in fewer readings.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "objective/values/clipped_losses.hpp"
#include "objective/values/difference_cases.hpp"
#include "objective/values/loss_table.hpp"
#include "objective/values/points_of_a_call.hpp"
#include "problems/black_box.hpp"

namespace dpmpi::test::losses_together_test {
namespace {

double bend(std::size_t i, std::span<const double> w) {
  return std::abs(std::sin(static_cast<double>(i) + w.front()) + 0.3 * w.back() * w[w.size() / 2]);
}

/// `together`: whether it takes points so. Counts calls.
class InCalls final : public BlackBox, public LossesTogether {
 public:
  InCalls(std::size_t dim, bool together, bool apart = true)
      : BlackBox(dim, bend), together_(together), apart_(apart) {}
  bool points_are_apart() const override { return apart_; }
  void losses_together(std::span<const float> points, const Rows& rows, std::span<double> losses) override {
    ++calls;
    most = std::max(most, points.size() / dim());
    std::vector<double> w(dim());
    for (std::size_t p = 0; p * dim() < points.size(); ++p) {
      std::ranges::copy(points.subspan(p * dim(), dim()), w.begin());
      for (std::size_t r = 0; r < rows.size(); ++r) losses[p * rows.size() + r] = bend(rows.index[r], w);
    }
  }
  std::size_t calls = 0, most = 0;

 protected:
  Capabilities capabilities() override {
    return {.values = this, .together = together_ ? this : nullptr, .pairs = this};
  }

 private:
  bool together_, apart_;
};

Totals differences(InCalls& objective, std::size_t K, std::size_t& readings) {
  Frames frames(DirectionLaw::sphere_iid, objective.dim(), K, difference_key);
  frames.begin(3);
  ProjectedDifferences probe(objective, frames, {.radius = 0.01, .l2 = 0.2});
  const Values w = some_point(objective.dim(), 1);
  const Records records = numbered_records(11);
  const Kernel kernel = probe.kernel(w);
  readings = kernel.readings;
  return totals(kernel, K, records, all_of(records), 4, fine, 4);
}

TEST(LossesTogether, DifferencesNeedOneReading) {
  InCalls one(9, false), many(9, true);
  std::size_t slow = 0, quick = 0;
  EXPECT_EQ(differences(one, 5, slow), differences(many, 5, quick));
  EXPECT_EQ(slow, 10U);
  EXPECT_EQ(quick, 1U);
  EXPECT_EQ(one.calls, 0U);
  EXPECT_EQ(many.calls, 3U) << "micro-batches of 4, 4 and 3 records";
  EXPECT_EQ(many.most, 10U);
}

// As many points as 64 MiB hold: 4 of 4 million numbers, which are 2 directions.
TEST(LossesTogether, LargeModelsTakeAFewPointsAtATime) {
  constexpr std::size_t d = 4'000'000;
  InCalls one(d, false), many(d, true);
  std::size_t slow = 0, quick = 0;
  EXPECT_EQ(differences(one, 3, slow), differences(many, 3, quick));
  EXPECT_EQ(slow, 6U);
  EXPECT_EQ(quick, 2U);
  EXPECT_EQ(many.most, 4U);
  EXPECT_EQ(points_of_a_call(7, std::size_t{1} << 40), 1U);
  EXPECT_EQ(points_of_a_call(7, 1), 7U);
}

TEST(LossesTogether, ClippedLossesNeedOneReading) {
  const Records records = numbered_records(11);
  std::vector<Totals> sums;
  for (const bool together : {false, true}) {
    InCalls objective(5, together);
    ClippedLosses losses(objective, 7, 1.2);
    for (std::size_t j = 0; j < 7; ++j)
      for (std::size_t k = 0; k < 5; ++k) losses.point(j)[k] = std::sin(static_cast<float>(5 * j + k));
    const Kernel kernel = losses.sum();
    EXPECT_EQ(kernel.readings, together ? 1U : 7U);
    sums.push_back(totals(kernel, 7, records, all_of(records), ClippedLosses::bound(7, 1.2).clip, fine, 4));
    EXPECT_EQ(objective.calls, together ? 3U : 0U);
  }
  EXPECT_EQ(sums[0], sums[1]);
}

/// Sums of a table after 3 points, and after 5 more.
std::vector<Totals> sums_of_table(InCalls& objective, LossRule::Noise noise, std::size_t& readings) {
  constexpr std::size_t d = 3;
  const Records records = numbered_records(11);
  std::vector<std::uint32_t> slots = all_of(records);
  const Values points = some_point(8 * d, 2), map = some_point(8 * d, 1);
  LossTable table(objective, {.offset = 0.25, .noise = noise, .noise_std = 0.1, .seed = 4});
  std::vector<Totals> sums;
  for (const std::size_t count : {3, 8}) {
    const std::span<const double> those = std::span(map).first(count * d);
    const Kernel kernel = table.kernel(std::span(points).first(count * d), 0, [=] { return those; });
    readings += kernel.readings;
    LatticeAccumulator sum(d, fine, 4, 0, Width::int64);
    sum.clear();
    kernel.run({.clip = 3}, sum, [&](const auto& visit) {
      for (std::size_t first = 0; first < slots.size(); first += 4) {
        const std::size_t n = std::min<std::size_t>(4, slots.size() - first);
        visit(Rows{records, std::span(slots).subspan(first, n), std::span(slots).subspan(first, n)});
      }
    });
    sums.emplace_back(sum.totals().begin(), sum.totals().end());
  }
  return sums;
}

TEST(LossesTogether, TablesReadTheRecordsOnceForAllNewPoints) {
  for (const auto noise : {LossRule::Noise::none, LossRule::Noise::shared, LossRule::Noise::per_record}) {
    InCalls one(3, false), many(3, true);
    std::size_t slow = 0, quick = 0;
    EXPECT_EQ(sums_of_table(one, noise, slow), sums_of_table(many, noise, quick));
    EXPECT_EQ(slow, 3U + 1 + 5 + 1);
    EXPECT_EQ(quick, 2U + 2) << "evaluations, and the product";
    EXPECT_EQ(many.most, 5U);
  }
}

// A run that goes on asks for all points at once, where it had asked for those of each step.
TEST(LossesTogether, TablesTakePointsOneByOneWhereTheirCompanyDecidesBits) {
  InCalls one(3, false), many(3, true, false);
  std::size_t slow = 0, same = 0;
  EXPECT_EQ(sums_of_table(one, LossRule::Noise::none, slow), sums_of_table(many, LossRule::Noise::none, same));
  EXPECT_EQ(slow, same);
  EXPECT_EQ(many.calls, 0U);
}

}  // namespace
}  // namespace dpmpi::test::losses_together_test
