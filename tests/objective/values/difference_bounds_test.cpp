#include "objective/values/projected_differences.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/values/difference_cases.hpp"

namespace dpmpi::test::difference_bounds_test {
namespace {

constexpr std::uint64_t key = difference_key;
using enum DirectionLaw;

/// Squared loss, K directions, at w = 0: q = -label U^T x.
struct SquaredModel {
  static constexpr std::size_t features = 20, K = 8;
  Glm objective{{features, Storage::dense_f32, 0}, squared_loss()};
  Records records = random_records({Storage::dense_f32, 6, features, 0, LabelKind::real});
  Frames frames{stiefel, features, K, key};
  Values w = Values(features);

  SquaredModel() { frames.begin(0); }
  Totals sums(DifferenceRule rule, std::span<const std::uint32_t> index, double clip, Lattice lattice = fine) {
    ProjectedDifferences probe(objective, frames, rule);
    return totals(probe.kernel(w), K, records, index, clip, lattice);
  }
};

TEST(DifferenceBounds, RecordsAreClippedOneByOneAfterDividing) {
  SquaredModel model;
  model.records.label[2] = 1e6F;
  const std::uint32_t steep = 2;
  for (const double clip : {0.5, 3.0}) {
    const Totals joint = model.sums({}, {&steep, 1}, clip);
    double square = 0;
    for (const auto v : joint) square += static_cast<double>(v) * static_cast<double>(v);
    EXPECT_NEAR(std::sqrt(square) * fine.quantum(), clip, 8 * fine.quantum());
    // Every coordinate of this record is beyond its clip.
    for (const auto v : model.sums({.joint = false}, {&steep, 1}, clip))
      EXPECT_EQ(std::abs(v), std::llrint(clip / std::sqrt(8.0) * fine.scale()));
  }
}

// Replace one record by its opposite: every coordinate of the sum moves by twice the clip, not by the clip.
TEST(DifferenceBounds, AdversarialNeighboursMoveTheSumByTwiceTheClip) {
  constexpr double clip = 2;
  for (const bool joint : {true, false}) {
    SquaredModel model;
    const auto index = all_of(model.records);
    model.records.label[3] = 1e6F;
    const Totals with = model.sums({.joint = joint}, index, clip);
    model.records.label[3] = -1e6F;
    const Totals without = model.sums({.joint = joint}, index, clip);
    const auto most = 2 * std::llrint(clip / std::sqrt(8.0) * fine.scale());
    double square = 0;
    for (std::size_t k = 0; k < with.size(); ++k) {
      const auto moved = with[k] - without[k];
      square += static_cast<double>(moved) * static_cast<double>(moved);
      EXPECT_TRUE(joint || std::abs(moved) == most) << moved;
    }
    EXPECT_NEAR(std::sqrt(square) * fine.quantum(), 2 * clip, 8 * fine.quantum());
  }
}

TEST(DifferenceBounds, RecordsThatAreNotFiniteContributeZero) {
  constexpr std::size_t features = 40, K = 4;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const bool joint : {true, false}) {
        const auto objective = loss.make({features, storage, 1});
        Records records = records_for(loss, storage, 12, features, 1);
        Frames frames(stiefel, objective->dim(), K, key);
        frames.begin(1);
        ProjectedDifferences probe(*objective, frames, {.joint = joint});
        const Values w = some_point(objective->dim(), 1);
        std::vector<std::uint32_t> good;
        for (std::uint32_t i = 0; i < records.count; ++i)
          if (i % 3 != 1) good.push_back(i);
        const Totals expected = totals(probe.kernel(w), K, records, good, 4, fine);
        empty_slot(records, 1);
        ASSERT_TRUE(spoil_feature(records, 4, std::numeric_limits<float>::quiet_NaN()));
        ASSERT_TRUE(spoil_feature(records, 7, infinity));
        if (loss.labels == LabelKind::real)
          records.label[10] = infinity;
        else
          empty_slot(records, 10);
        EXPECT_EQ(totals(probe.kernel(w), K, records, all_of(records), 4, fine), expected) << loss.name;
      }
}

TEST(DifferenceBounds, FeatureAndLabelBoundsHoldWhateverTheRecords) {
  constexpr std::size_t features = 30, K = 5;
  constexpr double Rx = 0.75, Y = 0.5;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages) {
      const auto objective = loss.make({features, storage, 1});
      Records records = records_for(loss, storage, 8, features, 1);
      Frames frames(stiefel, objective->dim(), K, key);
      frames.begin(1);
      ProjectedDifferences probe(*objective, frames, {.radius = 1e-2, .feature_bound = Rx, .label_bound = Y});
      const Values w = some_point(objective->dim(), 1);
      for (std::uint32_t i = 0; i < records.count; ++i) {
        const float own = records.label[i];
        const double norm_of = records.norm[i];
        if (loss.labels == LabelKind::real) records.label[i] = std::clamp(own, -0.5F, 0.5F);
        const Values expected = references(loss, records, i, w, frames, 1e-2, std::min(1.0, Rx / norm_of));
        records.label[i] = own;
        expect_contribution(probe.kernel(w), records, i, expected, loss.name);
      }
    }
}

// lambda / 2 |w|^2 in each loss adds lambda <w, u_k>, with no rounding of two losses.
TEST(DifferenceBounds, ARidgeInsideTheLossIsProbedWithIt) {
  SquaredModel model;
  model.w = some_point(model.features, 2);
  const Values plain =
      contribution(ProjectedDifferences(model.objective, model.frames, {.radius = 1e-9}).kernel(model.w), model.K,
                   model.records, 0, 16);
  ProjectedDifferences probe(model.objective, model.frames, {.radius = 1e-9, .l2 = 0.7});
  const Values ridged = contribution(probe.kernel(model.w), model.K, model.records, 0, 16);
  Values along(model.K);
  model.frames.project(model.w, along);
  for (std::size_t k = 0; k < along.size(); ++k) EXPECT_NEAR(ridged[k] - plain[k], 0.7 * along[k], 5e-8);
}

// With d = 1000, L = M = 1 and K = 16 directions, coordinates beyond this clip have probability 1e-6 for 1000
// records and 5000 steps (section 4.2 of the method's derivation: 2 n N K P[Beta(1/2, (d-1)/2) > Delta^2]).
TEST(DifferenceBounds, TheHighProbabilityClipIsInactive) {
  constexpr std::size_t d = 1000, K = 16, n = 100;
  constexpr double Delta = 0.2430933665;
  Glm objective({d, Storage::dense_f32, 0}, squared_loss());
  Records records = random_records({Storage::dense_f32, n, d, 0, LabelKind::real});
  for (std::size_t i = 0; i < n; ++i) {
    records.label[i] = 1;  // gradient -x at w = 0
    for (std::size_t j = 0; j < d; ++j) records.f32[i * records.stride + j] /= records.norm[i];
    update_norm(records, i);
  }
  const auto index = all_of(records);
  const Values w(d);
  Frames frames(stiefel, d, K, key);
  ProjectedDifferences probe(objective, frames, {.radius = 1e-8, .joint = false});
  for (std::uint64_t t = 0; t < 625; ++t) {  // 1e6 evaluations
    frames.begin(t);
    const Kernel kernel = probe.kernel(w);
    ASSERT_EQ(totals(kernel, K, records, index, Delta * 4, fine), totals(kernel, K, records, index, 4, fine)) << t;
  }
}

}  // namespace
}  // namespace dpmpi::test::difference_bounds_test
