// Tables whose rows are sparse in memory: which ones, and that they hold what dense ones do.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/load/read_columns.hpp"
#include "data/records/builder.hpp"
#include "objective/copy_rows.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::sparse_table_test {
namespace {

/// A column of `count` words w0, w1, ...
std::string words(int count) {
  std::string text = "w0";
  for (int w = 1; w < count; ++w) text += fmt::format(",w{}", w);
  return text;
}

class SparseTable : public ::testing::Test {
 protected:
  SparseTable() {
    options_.columns =
        folder_.write("c.txt", fmt::format("code category words={} other missing=NULL impute=w3 indicator\n"
                                           "age number mean=50 std=10\n"
                                           "ward category words={}\n"
                                           "ill yes/no\n"
                                           "label label positive=1\n",
                                           words(60), words(20)));
    options_.train = folder_.write("t.csv", table);
  }
  static DataOptions read(DataOptions o) {
    std::vector<std::string> problems;
    read_columns(o, problems);
    o.validate(problems);
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    return o;
  }
  DataOptions with(const std::string& storage) const {
    DataOptions o = options_;
    o.storage = storage;
    return read(o);
  }
  static DatasetFacts facts(const DataOptions& o) { return inspect(Communicator::alone(), DataFiles(o).training); }

  // Neither the order of the features nor all of them.
  static constexpr const char* table =
      "label,ward,ill,age,code\n"
      "1,w3,yes,60,w7\n"
      "0,w0,no,50,NULL\n"
      "0,w19,no,20,something\n"
      "1,w1,yes,51,w0\n";
  const Folder folder_;
  DataOptions options_;
};

void expect_equal(const Records& sparse, const Records& dense) {
  ASSERT_EQ(sparse.storage, Storage::sparse_f32);
  ASSERT_EQ(dense.storage, Storage::dense_f32);
  ASSERT_EQ(sparse.features, dense.features);
  EXPECT_EQ(sparse.label, dense.label);
  for (std::size_t i = 0; i < dense.count; ++i) {
    EXPECT_FLOAT_EQ(sparse.norm[i], dense.norm[i]);
    for (std::size_t j = 0; j < dense.features; ++j)
      EXPECT_FLOAT_EQ(feature_of(sparse, i, j), feature_of(dense, i, j)) << i << " " << j;
    for (std::uint64_t e = sparse.row_begin[i]; e < sparse.row_begin[i + 1]; ++e) {
      EXPECT_NE(sparse.value[e], 0.0F);
      EXPECT_TRUE(e == sparse.row_begin[i] || sparse.column[e - 1] < sparse.column[e]);
    }
  }
}

TEST_F(SparseTable, HoldsTheFeaturesOfADenseOneThatAreNotZero) {
  for (const char* normalize : {"none", "l2"}) {
    options_.normalize = normalize;
    const Records sparse = load_one(with("sparse"), LabelKind::sign);
    expect_equal(sparse, load_one(with("dense"), LabelKind::sign));
    EXPECT_EQ(sparse.row_begin, (std::vector<std::uint64_t>{0, 4, 7, 10, 14}));
  }
}

// 84 features, of which 5 at most are not 0: one in 16.8. No record has a say.
TEST_F(SparseTable, IsChosenByTheColumnsAlone) {
  const DatasetFacts many = facts(with("auto"));
  EXPECT_EQ(many.storage, Storage::sparse_f32);
  EXPECT_EQ(many.features, 84U);
  EXPECT_EQ(many.row_entries, 5U);
  options_.train = folder_.write("t.csv", "label,ward,ill,age,code\n0,w0,no,50,w0\n");
  EXPECT_EQ(facts(with("auto")).storage, Storage::sparse_f32);
  EXPECT_EQ(facts(with("dense")).storage, Storage::dense_f32);
  EXPECT_EQ(facts(with("dense")).row_entries, 0U);
  options_.columns = folder_.write("few.txt", fmt::format("code category words={}\nage ignore\nill yes/no\n"
                                                          "ward category words={}\nlabel label positive=1\n",
                                                          words(30), words(16)));
  EXPECT_EQ(facts(with("auto")).storage, Storage::dense_f32) << "47 features, of which 3 at most are not 0";
  EXPECT_EQ(facts(with("sparse")).row_entries, 3U);
}

TEST_F(SparseTable, MayHaveWordsInTheConfig) {
  DataOptions o;
  o.train = folder_.write("w.csv", "a,b,label\nw2,1.5,1\nw9,0,0\nw0,-2,1\n");
  o.header = "yes";
  std::string list = words(64);
  std::ranges::replace(list, ',', '|');
  o.one_hot = {"a:" + list};
  EXPECT_EQ(facts(o).storage, Storage::sparse_f32);
  DataOptions dense = o;
  dense.storage = "dense";
  expect_equal(load_one(o, LabelKind::real), load_one(dense, LabelKind::real));
  o.mean = {"b:1"};
  EXPECT_EQ(facts(o).storage, Storage::dense_f32) << "means move zeros";
  o.storage = "sparse";
  EXPECT_NE(message_of<ConfigError>([&] { facts(o); }).find("data.mean would fill the zeros of sparse rows"),
            std::string::npos);
}

TEST_F(SparseTable, StorageIsForTexts) {
  DataOptions o;
  o.train = folder_.write("a.svm", "1 1:1 3:2\n-1 2:1\n");
  o.features = 3;
  EXPECT_EQ(facts(o).storage, Storage::sparse_f32);
  o.storage = "dense";
  EXPECT_EQ(facts(o).storage, Storage::dense_f32);
  EXPECT_EQ(load_one(o, LabelKind::sign).row_f32(0)[2], 2.0F);
  o.storage = "sparse", o.densify = true;
  std::vector<std::string> problems;
  o.validate(problems);
  EXPECT_EQ(problems,
            std::vector<std::string>{"data.densify = true and data.storage = sparse: leave out one of them"});
  o.storage = "auto";
  ConvertOptions files;
  files.input = o.train, files.output = folder_.file("a.native");
  convert(files, o);
  o.train = files.output, o.densify = false, o.storage = "sparse";
  EXPECT_NE(
      message_of<ConfigError>([&] { facts(o); }).find("this file is read as native, which is stored as it is"),
      std::string::npos);
}

TEST(SparseRows, TakeTheMemoryThatIsStated) {
  EXPECT_EQ(RecordsBuilder::bytes(Storage::sparse_f32, 5000, 100, 60), 100U * (8 + 8 + 60 * 8));
  EXPECT_EQ(RecordsBuilder::bytes(Storage::dense_f32, 5000, 100), 100U * (8 + 5008 * 4));
  RecordsBuilder builder(Storage::sparse_f32, 50, 3, {}, 2);
  for (int i = 0; i < 3; ++i) {
    builder.put(7, 1.0F);
    builder.put(3, 0.0F);
    builder.put(2, 2.0F);
    builder.finish_row(1);
  }
  const Records records = builder.take();
  EXPECT_EQ(records.column, (std::vector<std::uint32_t>{2, 7, 2, 7, 2, 7}));
  EXPECT_EQ(records.value, (std::vector<float>{2, 1, 2, 1, 2, 1}));
}

}  // namespace
}  // namespace dpmpi::test::sparse_table_test
