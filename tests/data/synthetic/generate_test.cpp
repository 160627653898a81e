#include <sys/stat.h>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/synthetic/generate.hpp"

#include "support/data_files.hpp"

namespace dpmpi::test::generate_test {
namespace {

TEST(Generate, RecordsDependOnSeedAndNumberOnly) {
  for (const char* kind : {"heavy-tailed", "blobs", "regression", "phase", "smooth"}) {
    GenerateOptions o;
    o.kind = kind;
    const Records all = generate_records(o, 0, 50), part = generate_records(o, 20, 10);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(record_bytes(all, 20 + i), record_bytes(part, i));
    o.seed = 2;
    EXPECT_NE(record_bytes(generate_records(o, 0, 1), 0), record_bytes(all, 0));
  }
}

TEST(Generate, PhaseMeasuresAHiddenSignal) {
  GenerateOptions o;
  o.kind = "phase", o.features = 16;
  const Records r = generate_records(o, 0, 5000);
  double outliers = 0, error = 0;
  for (std::size_t i = 0; i < r.count; ++i) {
    double along = 0, square = 0;
    for (std::size_t j = 0; j < 16; ++j) {
      const auto a = static_cast<double>(r.row_f32(i)[j]);
      square += a * a;
      if (j < 4) along += (j % 2 == 0 ? 0.9 : -0.9) * a;
    }
    EXPECT_NEAR(square, 1, 1e-6);
    const double residual = static_cast<double>(r.label[i]) - std::abs(along);
    outliers += residual > 0.5;
    if (residual < 0.5) error += residual * residual;
  }
  EXPECT_NEAR(outliers / 5000, 0.1, 5 * 0.3 / std::sqrt(5000.0));
  EXPECT_NEAR(std::sqrt(error / (5000 - outliers)), 0.05, 0.005);
}

// A feature of length 1 has steeper slopes than one of length 6.
TEST(Generate, SmoothVariesFasterWithTheFirstFeatures) {
  GenerateOptions o;
  o.kind = "smooth", o.features = 15;
  const Records r = generate_records(o, 0, 3000);
  double mean = 0, square = 0, along[2] = {}, weight[2] = {};
  for (std::size_t i = 0; i < r.count; ++i) {
    const auto y = static_cast<double>(r.label[i]);
    mean += y / 3000, square += y * y / 3000;
    for (std::size_t j = 0; j < 15; ++j) {
      const auto x = static_cast<double>(r.row_f32(i)[j]);
      EXPECT_LE(std::abs(x), 1);
    }
  }
  EXPECT_LT(std::abs(mean), 1.5);
  EXPECT_GT(square - mean * mean, 0.2);
  EXPECT_LT(square - mean * mean, 2);
  // Squared slopes of the best linear fit of each feature, uncorrelated and of variance 1/3.
  for (std::size_t j = 0; j < 15; ++j) {
    double slope = 0;
    for (std::size_t i = 0; i < r.count; ++i)
      slope += 3 * static_cast<double>(r.row_f32(i)[j]) * (static_cast<double>(r.label[i]) - mean) / 3000;
    along[j < 5 ? 0 : 1] += slope * slope;
    weight[j < 5 ? 0 : 1] += 1;
  }
  EXPECT_GT(along[0] / weight[0], 4 * along[1] / weight[1]);
}

TEST(Generate, HeavyTailedIsImbalancedCorrelatedAndHeavyTailed) {
  const Records r = generate_records({}, 0, 20000);
  double positive = 0, cross = 0, weight = 0, largest = 0;
  for (std::size_t i = 0; i < r.count; ++i) {
    positive += r.label[i] == 1;
    largest = std::max(largest, static_cast<double>(r.norm[i]));
    for (std::size_t j = 0; j + 1 < r.features; ++j) {
      const double a = static_cast<double>(r.row_f32(i)[j]), b = static_cast<double>(r.row_f32(i)[j + 1]);
      cross += std::abs(a * b) > 0 ? a * b / static_cast<double>(r.norm[i] * r.norm[i]) : 0;
      weight += a * a / static_cast<double>(r.norm[i] * r.norm[i]);
    }
  }
  EXPECT_GT(positive / 20000, 0.10);
  EXPECT_LT(positive / 20000, 0.20);
  EXPECT_GT(largest, 40.0);  // 40 Gaussian features would have norm about 6.3, and never above 12
  EXPECT_GT(std::abs(cross / weight), 0.005);
}

/// Plain (not private) gradient descent on the logistic loss of unit-norm rows; area under the ROC curve on fresh
/// records.
double area_under_curve(const GenerateOptions& o) {
  const auto unit_rows = [&](std::uint64_t first, std::uint64_t count) {
    Records r = generate_records(o, first, count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < r.features; ++j) r.f32[i * r.stride + j] /= r.norm[i];
    return r;
  };
  const auto score = [](const Records& r, std::size_t i, const std::vector<double>& w) {
    double s = w.back();
    for (std::size_t j = 0; j < r.features; ++j) s += w[j] * static_cast<double>(r.row_f32(i)[j]);
    return s;
  };
  const Records train = unit_rows(0, 4000), test = unit_rows(20000, 2000);
  std::vector<double> w(train.features + 1);
  for (int t = 0; t < 60; ++t) {
    std::vector<double> g(w.size());
    for (std::size_t i = 0; i < train.count; ++i) {
      const double y = static_cast<double>(train.label[i]), c = -y / (1 + std::exp(y * score(train, i, w)));
      for (std::size_t j = 0; j < train.features; ++j) g[j] += c * static_cast<double>(train.row_f32(i)[j]);
      g.back() += c;
    }
    for (std::size_t j = 0; j < w.size(); ++j) w[j] -= 4 * g[j] / static_cast<double>(train.count);
  }
  double above = 0, pairs = 0;
  for (std::size_t i = 0; i < test.count; ++i)
    for (std::size_t j = 0; j < test.count; ++j)
      if (test.label[i] > test.label[j]) {
        above += score(test, i, w) > score(test, j, w);
        pairs += 1;
      }
  return above / pairs;
}

TEST(Generate, HeavyTailedCanBeLearned) {
  const double area = area_under_curve({});
  EXPECT_GT(area, 0.80);
  EXPECT_LT(area, 0.97);
  RecordProperty("area", std::to_string(area));
}

TEST(Generate, FilesReadBackToTheSameBits) {
  const Folder folder;
  for (const char* name : {"a.csv", "a.svm", "a.bin"}) {
    GenerateOptions g;
    g.records = 100;
    g.eval_records = 30;
    g.output = folder.file(name);
    generate(g);
    DataOptions o;
    o.train = g.output;
    o.eval = folder.file("a-eval" + std::filesystem::path(name).extension().string());
    o.features = g.features;
    o.densify = std::string(name) == "a.svm";
    o.bias = 0;
    const Records r = load_one(o, LabelKind::sign), expected = generate_records(g, 0, 100);
    ASSERT_EQ(r.count, 100U);
    for (std::size_t i = 0; i < r.count; ++i) EXPECT_EQ(record_bytes(r, i), record_bytes(expected, i));
    const Shard eval = load_all(Communicator::alone(), DataFiles(o).evaluation, LabelKind::sign, 0, 1);
    EXPECT_EQ(record_bytes(eval.blocks[0].records, 29), record_bytes(generate_records(g, 129, 1), 0));
  }
}

TEST(Generate, UnwritableOutput) {
  GenerateOptions g;
  g.records = 1;
  g.output = "/no/such/folder/a.csv";
  EXPECT_MENTIONS(message_of([&] { generate(g); }), "/no/such/folder/a.csv: cannot be written: No such file");
}

TEST(Generate, ReplacesOnlyRegularFiles) {
  const Folder folder;
  GenerateOptions o;
  o.records = o.eval_records = 3;
  for (const bool eval : {false, true}) {
    o.output = folder.file("new.csv");
    std::string& path = eval ? o.eval_output : o.output;
    path = folder.path();
    EXPECT_MENTIONS(message_of([&] { generate(o); }), folder.path() + ": is a directory");
    path = folder.file("pipe");
    mkfifo(path.c_str(), 0600);
    EXPECT_MENTIONS(message_of([&] { generate(o); }), path + ": is a pipe or device");
    path = "/dev/null";
    EXPECT_MENTIONS(message_of([&] { generate(o); }), "/dev/null: is a pipe or device");
    EXPECT_FALSE(std::filesystem::exists(folder.file("new.csv"))) << "checked before anything is written";
  }
  o.eval_output = o.output;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { generate(o); }), "are the same file");
}

TEST(Generate, WritesThroughLinks) {
  const Folder folder;
  GenerateOptions o;
  o.records = 3;
  o.eval_records = 0;
  o.output = folder.file("link.csv");
  std::filesystem::create_symlink("real.csv", o.output);
  EXPECT_MENTIONS(message_of([&] { generate(o); }), "link.csv: is a link to a file that is not there");
  folder.write("real.csv", "old");
  generate(o);
  EXPECT_TRUE(std::filesystem::is_symlink(o.output));
  EXPECT_TRUE(read_file(folder.file("real.csv")).starts_with("label,x1"));
}

}  // namespace
}  // namespace dpmpi::test::generate_test
