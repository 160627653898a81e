// Random copies of images in min-max problems: what a record contributes to either block is the mean over its
// copies.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/auc.hpp"
#include "objective/minimax/layer_options.hpp"
#include "objective/minimax/worst_group.hpp"
#include "objective/saddle_property.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::augmented_saddle_test {
namespace {

const Volume image{2, 4, 5};
constexpr std::size_t features = 40;
const Augmentation five{.shift = 1, .flip = true, .copies = 5};

LayeredShape shape_of_layers() { return shape_of("conv 4 3x3 pad 1, tanh, flatten, dense 1", image); }
std::unique_ptr<SaddleObjective> auc_of(const Augmentation& augmentation) {
  return make_auc({.scorer = {}, .layers = shape_of_layers(), .augmentation = augmentation, .prior = 0.3});
}
std::unique_ptr<SaddleObjective> worst_group_of(const Augmentation& augmentation) {
  return make_worst_group({.model = {.units = {features, 1}, .head = Head::logistic},
                           .group_sizes = {20, 17},
                           .layers = shape_of_layers(),
                           .augmentation = augmentation});
}

struct ProblemCase {
  const char* name;
  std::unique_ptr<SaddleObjective> (*make)(const Augmentation&);
};
std::ostream& operator<<(std::ostream& out, const ProblemCase& c) { return out << c.name; }

class AugmentedSaddles : public testing::TestWithParam<ProblemCase> {
 protected:
  AugmentedSaddles() {
    w_.resize(augmented_->dim());
    augmented_->initialise(PublicStream(3, "initialise"), w_);
    for (std::size_t j = w_.size() - 3; j < w_.size(); ++j) w_[j] = 0.3F + 0.1F * static_cast<float>(j % 3);
    v_ = moved(w_, 0.1);
  }
  static Records images(Storage storage = Storage::dense_f32, std::size_t count = 37) {
    Records records = random_records({.storage = storage, .count = count, .features = features});
    for (std::size_t i = 0; i < records.count; ++i) records.weight.push_back(static_cast<float>(1 + i % 4) / 4);
    return records;
  }
  /// Records that are the copies of record i at w.
  std::vector<Records> copies_of(const Records& records, std::size_t i) const {
    RandomCopies copies(five, image);
    copies.set_point(std::span(w_).first(weights_));
    std::vector<float> as_layers(features);
    for (std::size_t p = 0; p < image.positions(); ++p)
      for (std::size_t c = 0; c < image.channels; ++c)
        as_layers[p * image.channels + c] = records.row_f32(i)[c * image.positions() + p];
    copies.set_record(as_layers.data());
    std::vector<Records> all;
    for (std::size_t k = 0; k < five.copies; ++k) {
      const float* const copy = copies.copy(k);
      Records changed = records;
      for (std::size_t p = 0; p < image.positions(); ++p)
        for (std::size_t c = 0; c < image.channels; ++c)
          changed.f32[i * changed.stride + c * image.positions() + p] = copy[p * image.channels + c];
      all.push_back(std::move(changed));
    }
    return all;
  }

  std::unique_ptr<SaddleObjective> augmented_ = GetParam().make(five), plain_ = GetParam().make({});
  const std::size_t weights_ = 4 * 18 + 4 + 80 + 1;  ///< of the network
  std::vector<float> w_, v_;
};

// Of both blocks, and of differences: at both points the copies are those of the first.
TEST_P(AugmentedSaddles, ContributeMeansOverTheCopies) {
  const Records records = images(Storage::dense_f32, 4);
  const char* names[] = {"dual", "primal", "joint", "difference"};
  for (std::size_t i = 0; i < records.count; ++i)
    for (std::size_t kernel = 0; kernel < 4; ++kernel) {
      std::vector<double> mean;
      for (const Records& copy : copies_of(records, i)) {
        const std::vector<double> own = unclipped(*plain_, w_, v_, kernel, copy, i);
        mean.resize(own.size());
        for (std::size_t j = 0; j < own.size(); ++j) mean[j] += own[j] / static_cast<double>(five.copies);
      }
      const std::vector<double> got = unclipped(*augmented_, w_, v_, kernel, records, i);
      const std::vector<double> itself = unclipped(*plain_, w_, v_, kernel, records, i);
      ASSERT_EQ(got.size(), mean.size());
      double apart = 0;
      for (std::size_t j = 0; j < got.size(); ++j) {
        EXPECT_NEAR(got[j], mean[j], 2e-5 * std::max(norm_of(mean), 0.1)) << names[kernel] << ", coordinate " << j;
        apart = std::max(apart, std::abs(got[j] - itself[j]));
      }
      EXPECT_GT(apart, 1e-3 * norm_of(mean)) << names[kernel] << ": copies are no copies of the record";
    }
}

TEST_P(AugmentedSaddles, KeepTheContract) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const Records records = images(storage);
    check_sensitivity(*augmented_, records, w_, v_, 0.02);
    check_rows_apart(*augmented_, records, w_, v_, 0.02);
    check_joint_parts(*augmented_, records, w_, 0.02);
    check_no_allocation(*augmented_, records, w_, v_);
  }
}

TEST_P(AugmentedSaddles, LoseAndScoreTheImagesThemselves) {
  const Records records = images();
  EXPECT_EQ(losses_of(*augmented_, w_, records, all_rows(records)),
            losses_of(*plain_, w_, records, all_rows(records)));
  EXPECT_DOUBLE_EQ(augmented_->flops_per_record(), 5 * plain_->flops_per_record());
  EXPECT_NO_THROW(plain_->refuse_copies("those of losses"));
  EXPECT_MENTIONS(message_of<ConfigError>([&] { augmented_->refuse_copies("those of losses"); }),
                  "which those of losses never ask for");
}

TEST_P(AugmentedSaddles, BrokenRecordsContributeNothing) {
  const Records good = images();
  for (const auto& make : saddle_kernels(*augmented_, w_, v_, 0.1)) {
    const SaddleKernel k = make();
    Records spoilt = good, without = good;
    spoil_feature(spoilt, 7, std::numeric_limits<float>::infinity());
    empty_slot(without, 7);
    const auto index = all_rows(good);
    if (k.name == "dual") continue;  // a score of an infinite pixel may be a number, and is clipped as one
    EXPECT_EQ(sum_of(k, spoilt, index, 16), sum_of(k, without, index, 16)) << k.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, AugmentedSaddles,
                         testing::Values(ProblemCase{"auc", auc_of}, ProblemCase{"worst_group", worst_group_of}),
                         [](const auto& test) { return std::string(test.param.name); });

std::string refused(const std::string& name, Choices choices) {
  if (name == "auc") choices.emplace_back("prior", "0.3");
  if (name == "worst_group") choices.insert(choices.end(), {{"group_sizes", "3,4"}, {"head", "logistic"}});
  return refusal(name, features, choices);
}

TEST(AugmentedSaddleOptions, MistakesAreTold) {
  for (const char* name : {"auc", "worst_group"}) {
    Choices network{{"layers", "flatten, dense 1"}, {"input", "2x4x5"}};
    if (name == std::string("auc")) network.emplace_back("scorer", "network");
    const auto with = [&](Choices more) {
      more.insert(more.begin(), network.begin(), network.end());
      return refused(name, more);
    };
    EXPECT_MENTIONS(refused(name, {{"augment", "flip"}}), "for a network of layers: set objective.layers");
    EXPECT_MENTIONS(refused(name, {{"augmentations", "4"}}), "for a network of layers: set objective.layers");
    EXPECT_MENTIONS(with({{"augment", "flop"}}), "flop is no way to augment");
    EXPECT_MENTIONS(with({{"augmentations", "4"}}), "would all be the same");
    EXPECT_MENTIONS(with({{"augment", "shift 4"}}), "out of sight: take at most 3");
    if (name == std::string("worst_group"))
      EXPECT_MENTIONS(with({{"augment", "flip"}, {"group_feature", "2"}, {"group_input", "true"}}),
                      "would move the feature of objective.group_feature");
  }
}

}  // namespace
}  // namespace dpmpi::test::augmented_saddle_test
