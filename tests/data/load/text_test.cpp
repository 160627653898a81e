// Text formats: what is read, bit by bit.
#include "data/records/text.hpp"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "data/formats/table.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::text_test {
namespace {

DataOptions libsvm(const Folder& folder, std::string_view text, std::int64_t features) {
  DataOptions o;
  o.train = folder.write("data.svm", text);
  o.features = features;
  return o;
}

DataOptions csv(const Folder& folder, std::string_view text, std::string label) {
  DataOptions o;
  o.train = folder.write("data.csv", text);
  o.label = std::move(label);
  return o;
}

std::vector<float> row(const Records& r, std::size_t i) { return {r.row_f32(i), r.row_f32(i) + r.features}; }

TEST(Text, NumbersAreRoundedCorrectlyAndWhole) {
  double x = 0;
  EXPECT_TRUE(to_number("+0.1", x));
  EXPECT_EQ(x, 0.1);
  EXPECT_TRUE(to_number("-1e-400", x));
  EXPECT_EQ(x, 0);
  EXPECT_TRUE(to_number("9007199254740993", x));
  EXPECT_EQ(x, 9007199254740992.0);
  for (const char* bad : {"", "+", "-", "+-1", "++1", "1x", "0x10", "nan", "inf", "-inf", "1e400", "1,5", " 1"})
    EXPECT_FALSE(to_number(bad, x)) << bad;
}

TEST(Text, ValuesInMessagesAreCutAndEscaped) {
  EXPECT_EQ(show("a\tb"), "'a\\x09b'");
  EXPECT_EQ(show(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

TEST(Libsvm, StaysSparseAndSkipsBlanksCommentsAndZeros) {
  const Folder folder;
  const Records r =
      load_one(libsvm(folder, "# comment\n+1 1:0.5 3:-2e1  # note\n\n  \n-1\r\n1 2:0 4:1\n", 4), LabelKind::sign);
  EXPECT_EQ(r.storage, Storage::sparse_f32);
  EXPECT_EQ(r.label, (std::vector<float>{1, -1, 1}));
  EXPECT_EQ(r.row_begin, (std::vector<std::uint64_t>{0, 2, 2, 3}));
  EXPECT_EQ(r.column, (std::vector<std::uint32_t>{0, 2, 3}));
  EXPECT_EQ(r.value, (std::vector<float>{0.5F, -20.0F, 1.0F}));
  EXPECT_GE(static_cast<double>(r.norm[0]), std::sqrt(0.25 + 400 + 1));
  EXPECT_FLOAT_EQ(r.norm[1], 1.0F);  // the constant column
}

TEST(Libsvm, DensifiedRowsEqualSparseOnes) {
  const Folder folder;
  DataOptions o = libsvm(folder, "2 0:7 2:5\n3 1:1\n", 3);
  o.index_base = 0;
  o.densify = true;
  o.mean = {"1"};
  o.deviation = {"2"};
  const Records r = load_one(o);
  EXPECT_EQ(row(r, 0), (std::vector<float>{3, -0.5F, 2}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{-0.5F, 0, -0.5F}));
}

TEST(Libsvm, NeedsAPublicNumberOfFeatures) {
  const Folder folder;
  const auto message = message_of<ConfigError>([&] { load_one(libsvm(folder, "1 1:1\n", 0)); });
  EXPECT_MENTIONS(message, "data.features");
  EXPECT_MENTIONS(message, "private");
}

TEST(Csv, HeaderIsDetectedAndLabelFoundByName) {
  const Folder folder;
  DataOptions o = csv(folder, "a,Target,b\n1,7,2\n3,8,4", "auto");
  o.eval = folder.write("public.csv", "b,Target,a\n1,2,3\n");
  Records r = load_one(o);
  EXPECT_EQ(r.label, (std::vector<float>{7, 8}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(r.stride, 16U);
  for (std::size_t j = r.features; j < r.stride; ++j) EXPECT_EQ(r.row_f32(1)[j], 0);
  o.label = "b";
  EXPECT_EQ(load_one(o).label, (std::vector<float>{2, 4}));
  o.label = "1";
  EXPECT_EQ(load_one(o).label, (std::vector<float>{1, 3}));
  o.label = "tarjet";
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(o); }), "did you mean Target?");
}

TEST(Csv, WithoutHeaderTheLabelMustBeSaid) {
  const Folder folder;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(csv(folder, "1,2\n3,4\n", "auto")); }),
                  "data.label must be set");
  EXPECT_EQ(load_one(csv(folder, "1,2\n3,4\n", "first")).label, (std::vector<float>{1, 3}));
  EXPECT_EQ(load_one(csv(folder, "1,2\n3,4\n", "last")).label, (std::vector<float>{2, 4}));
}

TEST(Csv, ByteOrderMarkQuotesBlanksAndWindowsLineEnds) {
  const Folder folder;
  DataOptions o = csv(folder, "\xef\xbb\xbf\"the \"\"x\"\", quoted\", y\r\n\"1.5\" , 2\r\n 3,\"4\"\r\n", "y");
  o.header = "yes";
  const Records r = load_one(o);
  EXPECT_EQ(r.label, (std::vector<float>{2, 4}));
  EXPECT_EQ(row(r, 0), (std::vector<float>{1.5F}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{3}));
}

TEST(Csv, PublicVocabulariesBecomeZeroOneColumns) {
  const Folder folder;
  DataOptions o = csv(folder, "M,1,a\nF,2,b\nI,3,a\n", "3");
  o.positive = {"a"};
  o.one_hot = {"1:M|F"};
  o.show_values = true;
  EXPECT_MENTIONS(message_of([&] { load_one(o, LabelKind::sign); }),
                  "data.csv:3: column '1': 'I' is not in its vocabulary");
  o.unknown = "zero";
  const Records r = load_one(o, LabelKind::sign);
  EXPECT_EQ(r.label, (std::vector<float>{1, -1, 1}));
  EXPECT_EQ(row(r, 0), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(row(r, 2), (std::vector<float>{0, 0, 3}));
}

TEST(Csv, MissingFieldsAreRefusedOrReplaced) {
  const Folder folder;
  DataOptions o = csv(folder, "1,?,2\n3,4,\n", "first");
  o.show_values = true;
  EXPECT_MENTIONS(message_of([&] { load_one(o); }), "data.csv:1: column '2': missing value '?'");
  o.missing = "-1";
  const Records r = load_one(o);
  EXPECT_EQ(row(r, 0), (std::vector<float>{-1, 2}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{4, -1}));
}

TEST(Csv, SkippedLinesCommentsDroppedColumnsAndPublicScaling) {
  const Folder folder;
  DataOptions o = csv(folder, "junk\n|comment\nid,x,y\n17,6,1\n|more\n18,8,0\n", "y");
  o.skip_lines = 1;
  o.comment = "|";
  o.drop = {"id"};
  o.scale = 2;
  o.mean = {"x:10"};
  o.deviation = {"x:4"};
  const Records r = load_one(o, LabelKind::sign);
  EXPECT_EQ(row(r, 0), (std::vector<float>{0.5F}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{1.5F}));
  EXPECT_EQ(r.label, (std::vector<float>{1, -1}));
}

TEST(Tsv, EmptyLastFieldIsAField) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("data.tsv", "1\t2\t\n0\t3\t4\n");
  o.label = "first";
  o.missing = "9";
  const Records r = load_one(o);
  EXPECT_EQ(row(r, 0), (std::vector<float>{2, 9}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{3, 4}));
}

TEST(Features, RowsOfUnitNormAndBoundedNorms) {
  const Folder folder;
  DataOptions o = csv(folder, "0,3,4\n1,0,0\n1,1e-30,1e-30\n1,1e38,3e38\n", "first");
  o.normalize = "l2";
  o.bias = 0.5;
  const Records r = load_one(o);
  EXPECT_EQ(row(r, 0), (std::vector<float>{0.6F, 0.8F}));
  EXPECT_EQ(row(r, 1), (std::vector<float>{0, 0}));
  for (std::size_t i = 0; i < r.count; ++i) {
    long double sum = 0.25L;
    for (const float x : row(r, i)) sum += static_cast<long double>(x) * static_cast<long double>(x);
    EXPECT_GE(static_cast<long double>(r.norm[i]), std::sqrt(sum));
    EXPECT_LE(static_cast<long double>(r.norm[i]), std::sqrt(sum) * 1.0000002L);
  }
}

TEST(Features, NormIsNeverBelowTheTrueOne) {
  std::vector<float> values(1000);
  for (std::size_t n = 1; n <= values.size(); n += 37) {
    for (std::size_t j = 0; j < n; ++j)
      values[j] = static_cast<float>(std::sin(static_cast<double>(j * n + 1))) * 1e-3F;
    long double sum = 1;
    for (std::size_t j = 0; j < n; ++j)
      sum += static_cast<long double>(values[j]) * static_cast<long double>(values[j]);
    const auto bound = static_cast<long double>(norm_bound(std::span(values).first(n), 1));
    EXPECT_GE(bound * bound, sum);
    EXPECT_LE(bound, std::sqrt(sum) * 1.0000002L);
  }
}

TEST(Labels, KindsMappingsAndNumericEquality) {
  const DataOptions plain;
  const LabelRule sign(plain, LabelKind::sign, 0, true), classes(plain, LabelKind::class_, 3, true);
  EXPECT_EQ(sign.decode("+1.0", 0), 1);
  EXPECT_EQ(sign.decode("0", 0), -1);
  EXPECT_EQ(sign.decode(-1.0, 0), -1);
  EXPECT_EQ(classes.decode(" 2 ", 0), 2);
  EXPECT_THROW(classes.decode("3", 0), Malformed);
  EXPECT_THROW(classes.decode("1.5", 0), Malformed);
  EXPECT_THROW(classes.decode("-1", 0), Malformed);
  EXPECT_THROW(sign.decode("2", 0), Malformed);
  EXPECT_THROW(sign.decode("?", 0), Malformed);
  EXPECT_THROW(sign.decode(std::nan(""), 0), Malformed);
  DataOptions group;
  group.positive = {"0", ">50K", "a:b"};
  const LabelRule one_group(group, LabelKind::sign, 0, true);
  EXPECT_EQ(one_group.decode(0.0, 0), 1);
  EXPECT_EQ(one_group.decode("0.0", 0), 1);
  EXPECT_EQ(one_group.decode(">50K", 0), 1);
  EXPECT_EQ(one_group.decode("a:b", 0), 1);
  EXPECT_EQ(one_group.decode("<=50K", 0), -1);
  EXPECT_THROW(LabelRule(group, LabelKind::real, 0, true), ConfigError);
  DataOptions named;
  named.label_map = {"g:1", "a:b:2"};
  const LabelRule map(named, LabelKind::real, 0, true);
  EXPECT_EQ(map.decode("g", 0), 1);
  EXPECT_EQ(map.decode("a:b", 0), 2);
  EXPECT_THROW(map.decode("h", 0), Malformed);
}

TEST(Labels, OthersThanTheListedBecomeEmptySlots) {
  DataOptions o;
  o.only_labels = {"0", "1"};
  o.positive = {"1"};
  for (const bool thin : {true, false}) {  // training and evaluation alike
    const LabelRule rule(o, LabelKind::sign, 0, thin);
    EXPECT_EQ(rule.decode("1.0", 7), 1);
    EXPECT_EQ(rule.decode(0.0, 7), -1);
    EXPECT_TRUE(std::isnan(rule.decode("2", 7)));
    EXPECT_TRUE(std::isnan(rule.decode("cat", 7))) << "what does not take part need not be a number";
    EXPECT_THROW(rule.decode("", 7), Malformed);
  }
}

TEST(Labels, ThinningIsAPublicFunctionOfLabelAndIndex) {
  DataOptions o;
  o.keep_one_in = {"1:10"};
  const LabelRule thinned(o, LabelKind::sign, 0, true), whole(o, LabelKind::sign, 0, false);
  int kept = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const float y = thinned.decode("1", i);
    EXPECT_EQ(std::isnan(y), std::isnan(thinned.decode(1.0, i)));
    kept += !std::isnan(y);
    EXPECT_EQ(thinned.decode("-1", i), -1);
    EXPECT_EQ(whole.decode("1", i), 1);
  }
  EXPECT_NEAR(kept, 1000, 150);  // 5 standard deviations
}

TEST(Records, DeclaredSlotsBeyondTheFileAreEmpty) {
  const Folder folder;
  DataOptions o = csv(folder, "1,2\n3,4\n5,6\n", "first");
  o.records = 10;
  const Shard shard = load_all(Communicator::alone(), o, LabelKind::real, 0, 4);
  EXPECT_EQ(shard.layout.records, 10U);
  std::size_t filled = 0, empty = 0;
  for (const Block& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      const bool is_empty = std::isnan(block.records.label[i]);
      EXPECT_EQ(block.first_index + i >= 3, is_empty);
      EXPECT_EQ(block.records.norm[i] == 0, is_empty);
      EXPECT_EQ(block.records.row_f32(i)[0] == 0, is_empty);
      (is_empty ? empty : filled) += 1;
    }
  EXPECT_EQ(filled, 3U);
  EXPECT_EQ(empty, 7U);
}

TEST(Records, ThinnedRecordsAreEmptySlotsInEveryStorage) {
  const Folder folder;
  for (const bool densify : {false, true}) {
    DataOptions o = libsvm(folder, "1 1:5\n2 2:6\n1 1:7\n", 2);
    o.densify = densify;
    o.keep_one_in = {"1:1000000"};
    const Records r = load_one(o);
    EXPECT_TRUE(std::isnan(r.label[0]) && std::isnan(r.label[2]));
    EXPECT_EQ(r.label[1], 2);
    EXPECT_EQ(r.norm[0], 0);
    if (densify)
      EXPECT_EQ(row(r, 0), (std::vector<float>{0, 0}));
    else
      EXPECT_EQ(r.row_begin, (std::vector<std::uint64_t>{0, 0, 1, 1}));
  }
}

}  // namespace
}  // namespace dpmpi::test::text_test
