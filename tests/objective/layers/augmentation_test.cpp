// Random copies of images, and the mean of their gradients.
#include "objective/layers/augmentation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/layered.hpp"
#include "objective/objective_property.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::augmentation_test {
namespace {

const Volume image{1, 3, 4};
/// 1 .. 12, row by row.
std::vector<float> numbered() {
  std::vector<float> values(image.size());
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

std::vector<float> copy_of(RandomCopies& copies, const std::vector<float>& record, std::size_t k) {
  copies.set_record(record.data());
  const float* const copy = copies.copy(k);
  return {copy, copy + record.size()};
}

/// Moved by so many rows and columns.
std::vector<float> moved(const std::vector<float>& record, int down, int right, bool flipped) {
  std::vector<float> to(record.size(), 0.0F);
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x)
      if (y + down >= 0 && y + down < 3 && x + right >= 0 && x + right < 4)
        to[static_cast<std::size_t>((y + down) * 4 + (flipped ? 3 - (x + right) : x + right))] =
            record[static_cast<std::size_t>(y * 4 + x)];
  return to;
}

TEST(RandomCopies, AreAllMovesAndFlipsAboutEquallyOften) {
  std::map<std::vector<float>, int> seen;
  std::set<std::vector<float>> possible;
  const std::vector<float> record = numbered();
  for (int down = -1; down <= 1; ++down)
    for (int right = -1; right <= 1; ++right)
      for (const bool flipped : {false, true}) possible.insert(moved(record, down, right, flipped));
  ASSERT_EQ(possible.size(), 18U);
  RandomCopies copies({.shift = 1, .flip = true, .copies = 1000}, image);
  std::vector<float> w{1, 2, 3};
  for (int point = 0; point < 9; ++point) {
    w[1] += 1;
    copies.set_point(w);
    for (std::size_t k = 0; k < 1000; ++k) ++seen[copy_of(copies, record, k)];
  }
  // 500 of each are expected, with a deviation of 22.
  for (const auto& [copy, times] : seen) {
    EXPECT_TRUE(possible.contains(copy));
    EXPECT_NEAR(times, 500, 110);
  }
  EXPECT_EQ(seen.size(), 18U);
}

TEST(RandomCopies, FollowFromTheRecordAndThePointAlone) {
  const Augmentation augmentation{.shift = 2, .flip = true, .copies = 8};
  RandomCopies copies(augmentation, image), others(augmentation, image);
  const std::vector<float> record = numbered(), w{0.5F, -1};
  std::vector<float> other = record;
  other[7] += 1;
  copies.set_point(w);
  std::vector<std::vector<float>> first, again;
  for (std::size_t k = 0; k < 8; ++k) first.push_back(copy_of(copies, record, k));
  others.set_point(std::vector<float>{3});
  copy_of(others, other, 5);
  others.set_point(w);
  for (std::size_t k = 0; k < 8; ++k) again.push_back(copy_of(others, record, k));
  EXPECT_EQ(first, again);
  EXPECT_GT(std::set(first.begin(), first.end()).size(), 3U);
  // Another record, and another point, have copies of their own.
  const std::vector<float> flat(image.size(), 1.0F);
  std::set<std::vector<std::vector<float>>> ways;
  for (const float level : {1.0F, 2.0F, 3.0F, 4.0F}) {
    std::vector<float> scaled = flat;
    for (float& x : scaled) x *= level;
    std::vector<std::vector<float>> shapes;
    for (std::size_t k = 0; k < 8; ++k) {
      shapes.push_back(copy_of(copies, scaled, k));
      for (float& x : shapes.back()) x /= level;
    }
    ways.insert(shapes);
  }
  EXPECT_EQ(ways.size(), 4U);
}

class AugmentedNetwork : public testing::Test {
 protected:
  std::unique_ptr<Objective> network(const Augmentation& augmentation) {
    std::vector<std::string> problems;
    auto made = make_layered({read_layers("conv 4 3x3 pad 1, tanh, flatten, dense 3", problems), {2, 4, 5}},
                             Head::softmax, 3, {}, augmentation);
    w_.resize(made->dim());
    made->initialise(PublicStream(3, "initialise"), w_);
    return made;
  }
  std::vector<float> w_;
};

TEST_F(AugmentedNetwork, GradientsAreMeansOverTheCopies) {
  const Augmentation augmentation{.shift = 1, .flip = true, .copies = 5};
  const auto augmented = network(augmentation), plain = network({});
  Records records = random_records({.count = 3, .features = 40, .labels = LabelKind::class_, .classes = 3});
  for (std::size_t i = 0; i < records.count; ++i) {
    RandomCopies copies(augmentation, {2, 4, 5});
    copies.set_point(w_);
    // Layers take the channels of a position side by side, records one channel behind the other.
    std::vector<float> as_layers(40);
    for (std::size_t p = 0; p < 20; ++p)
      for (std::size_t c = 0; c < 2; ++c) as_layers[p * 2 + c] = records.row_f32(i)[c * 20 + p];
    std::vector<double> mean(w_.size(), 0.0);
    for (std::size_t k = 0; k < 5; ++k) {
      const std::vector<float> copy = copy_of(copies, as_layers, k);
      Records changed = records;
      for (std::size_t p = 0; p < 20; ++p)
        for (std::size_t c = 0; c < 2; ++c) changed.f32[i * changed.stride + c * 20 + p] = copy[p * 2 + c];
      const std::vector<double> of_copy = gradient_of(*plain, w_, changed, i);
      for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += of_copy[j] / 5;
    }
    const std::vector<double> gradient = gradient_of(*augmented, w_, records, i);
    EXPECT_GT(norm_of(gradient), 0.01);
    for (std::size_t j = 0; j < mean.size(); ++j) EXPECT_NEAR(gradient[j], mean[j], 1e-5);
  }
  EXPECT_EQ(losses_of(*augmented, w_, records, all_rows(records)),
            losses_of(*plain, w_, records, all_rows(records)));
  EXPECT_DOUBLE_EQ(augmented->flops_per_record(), 5 * plain->flops_per_record());
}

TEST_F(AugmentedNetwork, KeepsTheContract) {
  const auto objective = network({.shift = 2, .flip = true, .copies = 3});
  const Records records = random_records({.count = 37, .features = 40, .labels = LabelKind::class_, .classes = 3});
  const PropertyCase property{
      .objective = *objective, .records = records, .w = w_, .clippings = {Clipping::flat, Clipping::per_layer}};
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_points_are_replaced(property);
  check_no_allocation(property);
  check_gradient_norms(property);
}

TEST(Augmentations, AreReadFromText) {
  std::vector<std::string> problems;
  EXPECT_FALSE(read_augmentation("", problems).any());
  const Augmentation both = read_augmentation(" shift 2 , flip", problems);
  EXPECT_EQ(both.shift, 2U);
  EXPECT_TRUE(both.flip);
  EXPECT_TRUE(problems.empty());
  for (const char* wrong :
       {"shift", "shift 0", "shift -1", "shift 2x", "flop", "flip,,", "shift 99999999999999999999"}) {
    problems.clear();
    read_augmentation(wrong, problems);
    ASSERT_EQ(problems.size(), 1U) << wrong;
    EXPECT_MENTIONS(problems[0], "there are: shift N");
  }
}

TEST(Augmentations, ThatMakeNoSenseAreRefused) {
  const auto refused = [](const Augmentation& augmentation, const Volume& in) {
    return message_of<ConfigError>([&] { check_augmentation(augmentation, in); });
  };
  EXPECT_MENTIONS(refused({.copies = 4}, image), "would all be the same");
  EXPECT_MENTIONS(refused({.flip = true}, {12, 1, 1}), "are lists of numbers");
  EXPECT_MENTIONS(refused({.shift = 3}, image), "out of sight: take at most 2");
  EXPECT_NO_THROW(check_augmentation({}, {12, 1, 1}));
}

}  // namespace
}  // namespace dpmpi::test::augmentation_test
