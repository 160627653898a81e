// Real files: counts and sums that are known of them. Skipped where DPMPI_DATA is not set.
#include <string>

#include "support/data_files.hpp"

#include <gtest/gtest.h>

namespace dpmpi::test::real_data_test {
namespace {

class RealData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!real_data()) GTEST_SKIP() << "DPMPI_DATA does not name the folder of real datasets";
  }
  Records read(const std::string& file, LabelKind kind, std::size_t classes = 0) {
    options_.train = file;
    return load_one(options_, kind, classes);
  }
  static std::size_t positives(const Records& r) {
    return static_cast<std::size_t>(std::count(r.label.begin(), r.label.end(), 1.0F));
  }
  DataOptions options_;
};

TEST_F(RealData, Libsvm) {
  options_.features = 123;
  Records r = read("libsvm/a9a", LabelKind::sign);
  EXPECT_EQ(r.count, 32561U);
  EXPECT_EQ(r.column.size(), 451592U);
  EXPECT_EQ(positives(r), 7841U);
  r = read("libsvm/a9a.t", LabelKind::sign);
  EXPECT_EQ(r.count, 16281U);
  EXPECT_EQ(r.column.size(), 225731U);
  options_.features = 300;
  r = read("libsvm/w8a", LabelKind::sign);
  EXPECT_EQ(r.count, 49749U);
  EXPECT_EQ(r.column.size(), 579586U);
  EXPECT_EQ(positives(r), 1479U);
  options_.features = 24;
  EXPECT_EQ(positives(read("libsvm/german.numer_scale", LabelKind::sign)), 300U);
  options_.features = 126;
  r = read("libsvm/agaricus.txt.train", LabelKind::sign);
  EXPECT_EQ(r.count, 6513U);
  EXPECT_EQ(r.column.size(), 143286U);
}

TEST_F(RealData, Adult) {
  options_.label = std::string("last");
  options_.positive = {">50K", ">50K."};
  options_.comment = std::string("|");
  options_.drop = {"2", "4", "6", "7", "8", "9", "14"};
  options_.one_hot = {"10:Female|Male"};
  Records r = read("tabular/adult.data", LabelKind::sign);
  EXPECT_EQ(r.count, 32561U);
  EXPECT_EQ(r.features, 8U);
  EXPECT_EQ(positives(r), 7841U);
  EXPECT_EQ(r.row_f32(0)[0], 39);
  EXPECT_EQ(r.row_f32(0)[4], 1);  // Male
  r = read("tabular/adult.test", LabelKind::sign);
  EXPECT_EQ(r.count, 16281U);
  EXPECT_EQ(positives(r), 3846U);
}

TEST_F(RealData, AdultUnknownWorkclassIsRefusedWithItsLine) {
  options_.show_values = true;
  options_.label = std::string("last");
  options_.positive = {">50K"};
  options_.drop = {"4", "6", "7", "8", "9", "10", "14"};
  options_.one_hot = {
      "2:Private|Self-emp-not-inc|Self-emp-inc|Federal-gov|Local-gov|State-gov|Without-pay|Never-worked"};
  EXPECT_MENTIONS(message_of([&] { read("tabular/adult.data", LabelKind::sign); }),
                  "adult.data:28: column '2': '?' is not in its vocabulary");
}

TEST_F(RealData, Tables) {
  options_.label = std::string("last");
  options_.one_hot = {"1:M|F|I"};
  Records r = read("tabular/abalone.data", LabelKind::real);
  EXPECT_EQ(r.count, 4177U);
  EXPECT_EQ(r.features, 10U);
  EXPECT_EQ(r.label.front(), 15);
  EXPECT_EQ(r.label.back(), 12);
  options_.one_hot = {};
  options_.positive = {"g"};
  r = read("tabular/magic04.data", LabelKind::sign);
  EXPECT_EQ(r.count, 19020U);
  EXPECT_EQ(positives(r), 12332U);
  options_.positive = {};
  options_.skip_lines = 1;
  r = read("tabular/breast_cancer.csv", LabelKind::sign);
  EXPECT_EQ(r.count, 569U);
  EXPECT_EQ(positives(r), 357U);
  options_.skip_lines = 0;
  r = read("tabular/digits.csv.gz", LabelKind::class_, 10);
  EXPECT_EQ(r.count, 1797U);
  EXPECT_EQ(r.features, 64U);
  options_.label = std::string("first");
  r = read("tabular/higgs7k.train.tsv", LabelKind::sign);
  EXPECT_EQ(r.count, 7000U);
  EXPECT_EQ(r.features, 28U);
}

TEST_F(RealData, MnistOneClassAgainstRest) {
  options_.scale = 1.0 / 255;
  options_.positive = {"3"};
  const Records r = read("mnist/train-images-idx3-ubyte.gz,mnist/train-labels-idx1-ubyte.gz", LabelKind::sign);
  EXPECT_EQ(r.storage, Storage::dense_u8);
  EXPECT_EQ(r.count, 60000U);
  EXPECT_EQ(r.features, 784U);
  EXPECT_EQ(positives(r), 6131U);
  double sum = 0;
  for (const std::uint8_t b : r.u8) sum += b;
  EXPECT_NEAR(sum / 255 / 60000 / 784, 0.13066, 1e-5);  // the published mean
}

}  // namespace
}  // namespace dpmpi::test::real_data_test
