// What images become when they are read.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "data/transform/image_transform.hpp"
#include "support/data_files.hpp"
#include "support/images.hpp"

namespace dpmpi::test::transformed_test {
namespace {

constexpr std::uint32_t count = 12, height = 9, width = 12, pixels = height * width;

class Transformed : public ::testing::Test {
 protected:
  Transformed() {
    options_.train =
        folder_.write("x", striped_images(count, height, width)) + "," + folder_.write("y", striped_labels(count));
    options_.image = "1x9x12";
    options_.transform = {"scattering J=2 L=3"};
  }
  /// Of the image that the file has in this place.
  std::vector<float> expected(std::size_t row, double scale = 1) const {
    std::vector<std::string> problems;
    const auto transform = read_transform(options_.image, options_.transform, problems);
    TransformedImage work(transform.value());
    const std::string bytes = striped_pixels(count, height, width);
    for (std::size_t j = 0; j < pixels; ++j)
      work.image()[j] = scale * static_cast<double>(static_cast<std::uint8_t>(bytes[row * pixels + j]));
    std::vector<float> out(transform->out.size());
    work.transform(out);
    return out;
  }
  static std::vector<float> row_of(const Records& records, std::size_t row) {
    return {records.row_f32(row), records.row_f32(row) + records.features};
  }
  std::string csv() const {
    const std::string bytes = striped_pixels(count, height, width);
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += fmt::format("{}", i % 2);
      for (std::size_t j = 0; j < pixels; ++j)
        text += fmt::format(",{}", static_cast<int>(static_cast<std::uint8_t>(bytes[i * pixels + j])));
      text += "\n";
    }
    return text;
  }

  const Folder folder_;
  DataOptions options_;
};

TEST_F(Transformed, RecordsAreTheTransformsOfTheirImages) {
  const Records records = load_one(options_);
  EXPECT_EQ(records.storage, Storage::dense_f32);
  EXPECT_EQ(records.features, 16U * 2 * 3);
  ASSERT_EQ(records.count, count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(row_of(records, i), expected(i));
    EXPECT_EQ(records.label[i], static_cast<float>(i % 2));
    double square = 1;  // of the bias
    for (const float x : row_of(records, i)) square += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_GE(static_cast<double>(records.norm[i]), std::sqrt(square));
    EXPECT_NEAR(records.norm[i], std::sqrt(square), 1e-4 * std::sqrt(square));
  }
}

TEST_F(Transformed, RecordsOfTablesAreThoseOfBytes) {
  const Records bytes = load_one(options_);
  options_.train = folder_.write("t.csv", csv());
  options_.header = "no";
  options_.label = "first";
  const Records table = load_one(options_);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(record_bytes(table, i), record_bytes(bytes, i));
}

TEST_F(Transformed, RecordsAreScaledBeforeAndNormalisedAfterwards) {
  options_.scale = 0.5;
  EXPECT_EQ(row_of(load_one(options_), 3), expected(3, 0.5));
  options_.normalize = "l2";
  options_.bias = 0;
  EXPECT_NEAR(load_one(options_).norm[3], 1, 1e-6);
}

TEST_F(Transformed, EmptySlotsStayEmpty) {
  options_.only_labels = {"1"};
  options_.records = 20;
  const Records records = load_one(options_);
  ASSERT_EQ(records.count, 20U);
  for (std::size_t i = 0; i < 20; ++i) {
    const bool there = i < count && i % 2 == 1;
    EXPECT_EQ(std::isnan(records.label[i]), !there);
    EXPECT_EQ(row_of(records, i), there ? expected(i) : std::vector<float>(records.features, 0.0F));
  }
}

// As many bytes as both the images and their features take.
TEST_F(Transformed, MemoryIsThatOfTheFeaturesToo) {
  options_.train = folder_.write("t.csv", csv());
  options_.header = "no";
  options_.label = "first";
  options_.records = 1'000'000'000'000;
  const std::string message = message_of([&] { load_one(options_); });
  EXPECT_MENTIONS(message, "1000000000000 records of 96 features");
  EXPECT_MENTIONS(message, fmt::format("needs {} bytes", 1'000'000'000'000 * (4 * 112 + 8 + 4 * 96 + 8)));
}

TEST_F(Transformed, SparseRowsAreRefused) {
  options_.train = folder_.write("t.txt", "1 3:1\n0 2:5\n");
  options_.format = "libsvm";
  options_.features = pixels;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(options_); }), "the rows of this file are sparse");
  options_.storage = "dense";
  EXPECT_EQ(load_one(options_).features, 96U);
}

std::string problems_of(const DataOptions& options) {
  std::vector<std::string> problems;
  options.validate(problems);
  return fmt::format("{}", fmt::join(problems, "\n"));
}

TEST_F(Transformed, WhatMakesNoSenseIsSaidAtOnce) {
  EXPECT_EQ(problems_of(options_), "");
  options_.transform = {"scattering J=4 L=8", "groupnorm", "sort", "batchnorm"};
  options_.columns = "c.txt";
  options_.one_hot = {"a:x|y"};
  options_.storage = "sparse";
  const std::string all = problems_of(options_);
  EXPECT_MENTIONS(
      all,
      "data.transform: step 1 (scattering J=4 L=8): J=4 averages over squares of 16 pixels, and images of "
      "1x9x12 are not larger");
  EXPECT_MENTIONS(all, "step 2 (groupnorm): the number of groups is missing; it is written groupnorm GROUPS");
  EXPECT_MENTIONS(
      all, "step 3 (sort): there is no such step; there are: scattering J=SCALES L=ANGLES, groupnorm GROUPS");
  EXPECT_MENTIONS(all, "step 4 (batchnorm): statistics across records would be private");
  EXPECT_MENTIONS(all, "columns of several kinds");
  EXPECT_MENTIONS(all, "words of data.one_hot are no pixels");
  EXPECT_MENTIONS(all, "images have all their pixels");
}

TEST_F(Transformed, WrongWordsAreNamed) {
  const auto problem = [&](const std::string& image, const std::vector<std::string>& steps) {
    options_.image = image, options_.transform = steps;
    return problems_of(options_);
  };
  EXPECT_MENTIONS(problem("1x4096x4096", {"scattering J=9 L=32"}),
                  "its wavelets of images of 1x4096x4096 take 75.3 GB on every rank");
  EXPECT_EQ(problem("1x224x224", {"scattering J=4 L=8"}), "");
  EXPECT_MENTIONS(problem("9x12", {"groupnorm 1"}), "data.image = 9x12: it takes CHANNELSxHEIGHTxWIDTH");
  EXPECT_MENTIONS(problem("1x9x", {"groupnorm 1"}), "data.image = 1x9x: it takes");
  EXPECT_MENTIONS(problem("", {"groupnorm 1"}), "set data.image");
  EXPECT_MENTIONS(problem("1x9x12", {}), "data.image is the shape of the images that data.transform takes");
  EXPECT_MENTIONS(problem("1x9x12", {"scattering J=2"}), "L is missing");
  EXPECT_MENTIONS(problem("1x9x12", {"scattering J=2 L=99"}), "L is a whole number from 1 to 32");
  EXPECT_MENTIONS(problem("1x9x12", {"scattering J=2 L=8 M=3"}), "M=3 is not a part of it");
  EXPECT_MENTIONS(problem("1x9x12", {"scattering J=2 L=3", "groupnorm 5"}),
                  "step 2 (groupnorm 5): 16 channels cannot be divided into 5 equal groups");
  options_.features = 100;
  EXPECT_MENTIONS(problem("1x9x12", {"groupnorm 1"}), "images of 1x9x12 have 108");
}

}  // namespace
}  // namespace dpmpi::test::transformed_test
