// Weights of records in min-max objectives: what they make of every sum that a method may ask for, of the public
// parts beside them, and of measures.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/group_measures.hpp"
#include "objective/minimax/saddle.hpp"
#include "objective/saddle_property.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::saddle_weights_test {
namespace {

constexpr std::size_t features = 6, rows = 60;

struct Model {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
  LabelKind labels = LabelKind::sign;
};

std::vector<Model> models() {
  return {{"auc", {{"objective.prior", "0.3"}}},
          {"auc", {{"objective.prior", "0.3"}, {"objective.scorer", "mlp"}, {"objective.hidden", "7,5"}}},
          {"worst_group", {{"objective.group_sizes", "20,40"}, {"objective.head", "logistic"}}},
          {"worst_group",
           {{"objective.group_sizes", "1,3,2"}, {"objective.classes", "3"}, {"objective.hidden", "7"}},
           LabelKind::class_},
          {"wgan",
           {{"objective.image_rows", "2"},
            {"objective.image_columns", "3"},
            {"objective.generator", "5"},
            {"objective.critic", "7,4"},
            {"objective.fakes", "10"}}}};
}

/// Records whose weights are eighths above 0.
struct Weighted {
  explicit Weighted(const Model& model, Storage storage = Storage::dense_f32)
      : objective(make_objective(model.name, {features, storage, 1}, model.options)),
        f(*objective->saddle()),
        records(random_records({storage, rows, features, 1, model.labels, 3})),
        w(f.dim()) {
    EXPECT_TRUE(f.heeds().weight) << model.name;
    for (std::size_t i = 0; i < rows; ++i) records.weight.push_back(static_cast<float>(1 + i * 5 % 8) / 8);
    plain = records;
    plain.weight.clear();
    f.initialise(PublicStream(3, "start"), w);
    w = moved(w, 0.4);
    std::fill(w.end() - static_cast<std::ptrdiff_t>(model.name == "wgan" ? 0 : f.dual_dim()), w.end(), 0.5F);
    v = moved(w, 0.3);
  }
  std::unique_ptr<Objective> objective;
  SaddleObjective& f;
  Records records, plain;
  std::vector<float> w, v;
};

// Every part of a record is its part without a weight, times the weight.
TEST(SaddleWeights, MultiplyWhatARecordAdds) {
  for (const Model& model : models()) {
    const Weighted x(model);
    const std::size_t kernels = saddle_kernels(x.f, x.w, x.v, 1).size();
    for (std::size_t k = 0; k < kernels; ++k)
      for (std::size_t i = 0; i < 16; ++i) {
        const auto weighted = unclipped(x.f, x.w, x.v, k, x.records, i),
                   plain = unclipped(x.f, x.w, x.v, k, x.plain, i);
        ASSERT_GT(norm_of(plain), 0) << model.name;
        for (std::size_t j = 0; j < plain.size(); ++j)
          EXPECT_NEAR(weighted[j], x.records.weight_of(i) * plain[j], 1e-5 * (1 + norm_of(plain)))
              << model.name << ", kernel " << k << ", record " << i;
      }
  }
}

// The clip is on the weighted part: a light record stays whole where a heavy one does not.
TEST(SaddleWeights, AreThereBeforeTheClip) {
  for (const Model& model : models()) {
    Weighted x(model);
    x.records.weight.assign(rows, 1.0F / 1024);
    for (std::size_t k = 0; k < saddle_kernels(x.f, x.w, x.v, 1).size(); ++k) {
      const auto plain = unclipped(x.f, x.w, x.v, k, x.plain, 3);
      const SaddleKernel kernel = saddle_kernels(x.f, x.w, x.v, norm_of(plain) / 16)[k]();
      const std::uint32_t one[] = {3};
      const auto sum = sum_of(kernel, x.records, one, 1, 28);
      for (std::size_t j = 0; j < plain.size(); ++j)
        EXPECT_NEAR(static_cast<double>(sum[j]) * test_lattice(kernel.clip, 28).quantum(), plain[j] / 1024,
                    1e-5 * norm_of(plain))
            << model.name << ", " << kernel.name;
    }
  }
}

TEST(SaddleWeights, WeightsOfOneChangeNoBit) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const Model& model : models()) {
      Weighted x(model, storage);
      x.records.weight.assign(rows, 1.0F);
      for (const auto& make : saddle_kernels(x.f, x.w, x.v, 0.1)) {
        const SaddleKernel k = make();
        EXPECT_EQ(sum_of(k, x.records, all_rows(x.records), 64), sum_of(k, x.plain, all_rows(x.plain), 64))
            << model.name << ", " << k.name;
      }
    }
}

// Whatever the weights are, a record moves a sum by the clip at most, in integers.
TEST(SaddleWeights, KeepTheSensitivity) {
  for (const Model& model : models()) {
    const Weighted x(model);
    check_sensitivity(x.f, x.records, x.w, x.v, 0.02);
    check_rows_apart(x.f, x.records, x.w, x.v, 0.02);
    check_no_allocation(x.f, x.records, x.w, x.v);
  }
}

// A record of weight 0 adds nothing, and spoils nothing where it is no number.
TEST(SaddleWeights, OfZeroAddNothing) {
  for (const Model& model : models()) {
    Weighted x(model);
    Records without = x.records;
    x.records.weight[7] = 0;
    empty_slot(without, 7);
    for (const auto& make : saddle_kernels(x.f, x.w, x.v, 0.1)) {
      const SaddleKernel k = make();
      const auto alone = sum_of(k, without, all_rows(x.records), 64);
      EXPECT_EQ(sum_of(k, x.records, all_rows(x.records), 64), alone) << model.name << ", " << k.name;
      Records spoiled = x.records;
      spoil_feature(spoiled, 7, std::numeric_limits<float>::infinity());
      EXPECT_EQ(sum_of(k, spoiled, all_rows(x.records), 64), alone) << model.name << ", " << k.name;
    }
  }
}

// The public parts keep their proportion to those of the records: f is a mean weight times the f without weights.
TEST(SaddleWeights, PublicPartsHaveTheMeanWeight) {
  for (const Model& model : models()) {
    Weighted x(model);
    const auto parts = [&] {
      std::vector<double> all(x.f.dim());
      x.f.add_public_primal(x.w, 3, std::span(all).first(x.f.primal_dim()));
      x.f.add_public_dual(x.w, 3, std::span(all).subspan(x.f.primal_dim()));
      if (x.f.dual_curvature()) all.push_back(*x.f.dual_curvature());
      return all;
    };
    x.f.given_mean_weight = 0.25;
    const auto plain = parts();
    EXPECT_GT(norm_of(plain), 0) << model.name;
    x.f.record_factors.weight = true;
    const auto weighted = parts();
    for (std::size_t j = 0; j < plain.size(); ++j)
      EXPECT_NEAR(weighted[j], plain[j] / 4, 1e-12 * norm_of(plain)) << model.name;
    x.f.given_mean_weight = 1;
    EXPECT_EQ(parts(), plain) << model.name;
  }
}

// Measures of groups are those of records that stand there as often as they weigh, whatever the largest weight is.
TEST(SaddleWeights, MeasuresAreThoseOfRepeatedRecords) {
  const Model model = models()[3];
  Weighted x(model);
  std::vector<std::uint32_t> often;
  for (std::uint32_t i = 0; i < rows; ++i) {
    const std::uint32_t times = 1 + i * 5 % 8;
    often.insert(often.end(), times, i);
  }
  Records repeated = random_records({Storage::dense_f32, often.size(), features, 1, model.labels, 3});
  for (std::size_t i = 0; i < often.size(); ++i) {
    std::copy_n(x.plain.row_f32(often[i]), repeated.stride, repeated.f32.data() + i * repeated.stride);
    repeated.label[i] = x.plain.label[often[i]], repeated.norm[i] = x.plain.norm[often[i]];
  }
  const auto expected = x.f.at(x.w).measures(SetTotals(), one_block(repeated));
  x.f.record_factors.weight = true;
  for (const float largest : {1.0F, 0x1p-40F}) {
    Records scaled = x.records;
    for (float& weight : scaled.weight) weight *= largest;
    const auto measures = x.f.at(x.w).measures(SetTotals(), one_block(scaled));
    ASSERT_EQ(measures.size(), 8U);
    for (std::size_t k = 0; k < 8; ++k) {
      EXPECT_EQ(measures[k].name, expected[k].name);
      EXPECT_NEAR(measures[k].value, expected[k].value, 1e-7) << measures[k].name;
    }
  }
}

}  // namespace
}  // namespace dpmpi::test::saddle_weights_test
