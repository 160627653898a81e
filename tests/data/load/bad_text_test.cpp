// Every way in which a line of text can be bad: one message with file, line, column, the value, and what is
// allowed.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/bad_file.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::bad_text_test {
namespace {

TEST_F(BadFile, OnlyAHeader) {
  options_.header = "yes";
  expect("a.csv", "x,y\n", {"holds no records"});
}

TEST_F(BadFile, OnlyAHeaderThatNobodyAnnounced) {
  expect("a.csv", "x,y\n", {"holds no records", "'x,y'"});
  expect("a.csv", "alpha,beta", {"holds no records"});
  expect("a.csv", "x,y\rfoo,bar\r", {"holds no records", "carriage returns"});
  options_.label = "last";
  expect("a.csv", "alpha,beta\n", {"holds no records"});
}

TEST_F(BadFile, TablesWhoseColumnsAreNotRecognised) {
  const auto expect_columns = [&](std::string_view bytes, std::initializer_list<std::string> parts) {
    options_.train = folder_.write("odd.csv", bytes);
    const auto message = message_of<ConfigError>([&] { load_one(options_); });
    EXPECT_MENTIONS(message, options_.train + ": data.label must be set");
    for (const auto& part : parts) EXPECT_MENTIONS(message, part);
  };
  options_.header = "yes";
  expect_columns("a,b\n1,2\n", {"2 columns were found in the first line, 'a,b'"});
  expect_columns("x;y\n1;2\n", {"1 columns were found", "'x;y'; it holds ';' where fields are separated by ','"});
  options_.header = "auto";
  expect_columns("x,y\r1,2\r3,4", {"'x,y\\x0d1,2\\x0d3,4'", "lines must end with a line feed"});
  options_.label = "last";
  options_.drop = {"1"};
  options_.header = "no";
  options_.train = folder_.write("odd.csv", "7,8\n");
  options_.show_values = false;
  const auto message = message_of<ConfigError>([&] { load_one(options_); });
  EXPECT_MENTIONS(message, "odd.csv: the table has no feature column");
  EXPECT_EQ(message.find("7,8"), message.npos) << "a record is private";
}

// Whoever mends a table sees all that there is to mend, and of each column the first line only.
TEST_F(BadFile, EveryWrongColumnIsNamedOnceWithItsFirstLine) {
  options_.show_values = false;
  options_.header = "yes";
  options_.one_hot = {"job:a|b"};
  options_.label = "y";
  kind_ = LabelKind::sign;
  options_.train = folder_.write("a.csv",
                                 "age,job,y,pay,id\n"
                                 "1,a,1,2,7\n"
                                 "1,c,1,,7\n"
                                 "old,a,1,x,7\n"  // of pay a line is named before
                                 "1,zzz,9,2,7\n"
                                 "1,a,1,2\n"  // its columns may be others than they seem
                                 "odd,a,1,2\n"
                                 "1,\"a,1,2,7\n"
                                 "1,d,8,nan,7\n");
  const std::string file = options_.train, hidden = "(private, not shown; see data.show_values)";
  const std::string what = message_of([&] { load_one(options_, kind_); });
  EXPECT_EQ(what,
            file + ":3: column 'job': " + hidden +
                " is not in its vocabulary in data.one_hot: add it, or set data.unknown = zero\n  " + file +
                ":3: column 'pay': missing value " + hidden +
                ": set data.missing to a public number that replaces it\n  " + file +
                ":4: column 'age': " + hidden +
                " is not a finite number (data.one_hot takes text columns, data.drop leaves columns out)\n  " +
                file + ":5: label " + hidden +
                " is not allowed: -1 or +1 (or 0 or 1) are; data.positive names other labels that become +1\n  " +
                file + ":6: 4 columns where 5 are expected\n  " + file +
                ":8: a quoted field is not closed: it begins on this line");
}

TEST_F(BadFile, OfVeryManyWrongColumnsNotAllAreTold) {
  std::string names = "y", row = "1";
  for (int c = 0; c < 150; ++c) names += fmt::format(",c{}", c), row += ",word";
  options_.header = "yes";
  options_.train = folder_.write("a.csv", names + "\n" + row + "\n");
  const std::string what = message_of([&] { load_one(options_, kind_); });
  EXPECT_EQ(std::ranges::count(what, '\n'), 100);
  EXPECT_MENTIONS(what, "column 'c99'");
  EXPECT_TRUE(what.ends_with("\n  and more")) << what;
}

TEST_F(BadFile, EveryKindOfFaultInLibsvmTextIsToldOnce) {
  options_.features = 3;
  options_.show_values = false;
  options_.train = folder_.write("a.svm", "1 1:1\nred 1:x\nred 4:1\nblue 4:1 3\n1 2:1 2:1\n1 3 2:1\n");
  const std::string what = message_of([&] { load_one(options_, kind_); });
  EXPECT_EQ(std::ranges::count(what, '\n'), 4) << what;
  for (const char* part :
       {"a.svm:2: label ", "a.svm:2: value ", "a.svm:3: feature index ", "a.svm:5: feature index ",
        "a.svm:6: (private, not shown; see data.show_values) is not index:value"})
    EXPECT_MENTIONS(what, part);
}

TEST_F(BadFile, EverySettingThatNamesNoColumnIsTold) {
  options_.header = "yes";
  options_.label = "target";
  options_.one_hot = {"job:a|b"};
  options_.drop = {"id", "x"};
  options_.train = folder_.write("a.csv", "x,y\n1,2\n");
  const auto message = message_of<ConfigError>([&] { load_one(options_, kind_); });
  for (const char* part : {"data.label: there is no column 'target'", "data.one_hot: there is no column 'job'",
                           "data.drop: there is no column 'id'"})
    EXPECT_MENTIONS(message, part);
}

TEST_F(BadFile, RaggedRows) {
  expect("a.csv", "x,y\n1,2\n3\n", {":3: 1 columns where 2 are expected"});
  expect("a.csv", "x,y\n1,2\n3,4,5\n", {":3: 3 columns where 2 are expected"});
  expect("a.tsv", "x\ty\n1\t2\n3\t\n", {":3: label is missing"});
}

TEST_F(BadFile, HeaderOfAnotherWidth) {
  options_.label = "last";
  expect("a.csv", "569,30,malignant,benign\n1,2\n", {":1: ", "'malignant'"});
}

TEST_F(BadFile, NotFinite) {
  for (const char* value : {"nan", "NaN", "inf", "-Infinity", "1e999"})
    expect("a.csv", fmt::format("x,y\n1,2\n\n{},4\n", value), {":4: ", "finite"});
  expect("a.csv", "x,y\n1e39,2\n", {":2: column 'x': value '1e+39'", "3.4e38"});
  expect("a.csv", "x,y\n1,nan\n", {":2: label 'nan' is not a finite number"});
  options_.features = 3;
  expect("a.svm", "1 2:nan\n", {":1: value 'nan'"});
}

TEST_F(BadFile, ValuesOfRecordsAreHidden) {
  options_.show_values = false;
  options_.features = 3;
  for (const char* value : {"nan", "-inf", "1e+39", "7e+99"})
    for (const auto& [name, line] : {std::pair<const char*, std::string>{"a.svm", fmt::format("1 2:{}\n", value)},
                                     {"a.csv", fmt::format("x,x2,x3,y\n1,2,{},4\n", value)}}) {
      options_.train = folder_.write(name, line);
      const std::string message = without_path(message_of([&] { load_one(options_, kind_, 10); }), options_.train);
      EXPECT_MENTIONS(message, "(private, not shown; see data.show_values)");
      EXPECT_EQ(message.find(value), message.npos) << message;
    }
}

// Of every kind; the counts of a Poisson loss among them.
TEST_F(BadFile, LabelsOfRecordsAreHidden) {
  options_.show_values = false;
  for (const auto& [kind, value] : {std::pair{LabelKind::count, "-7"},
                                    {LabelKind::count, "7.25"},
                                    {LabelKind::count, "77777777"},
                                    {LabelKind::sign, "77"},
                                    {LabelKind::class_, "77"},
                                    {LabelKind::real, "7e77"}}) {
    options_.train = folder_.write("a.csv", fmt::format("x,y\n1,{}\n", value));
    const std::string message = without_path(message_of([&] { load_one(options_, kind, 10); }), options_.train);
    EXPECT_MENTIONS(message, "(private, not shown; see data.show_values)");
    EXPECT_EQ(message.find(value), message.npos) << message;
  }
}

TEST_F(BadFile, TextWhereANumberIsExpected) {
  expect("a.csv", "x,y\n1,2\nfoo,4\n", {":3: column 'x': 'foo' is not a finite number", "data.one_hot"});
  expect("a.csv", "x,y\n1 2,4\n", {":2: column 'x': '1 2'"});
}

TEST_F(BadFile, MissingLabel) {
  expect("a.csv", "x,y\n1,\n", {":2: label is missing ('')"});
  options_.features = 3;
  expect("a.svm", "1 1:1\n1:1 2:1\n", {":2: label is missing: the line starts with '1:1'"});
}

TEST_F(BadFile, OfManyColumnsSomeAreNamed) {
  std::string header = "c1";
  for (int i = 2; i <= 2000; ++i) header += ",c" + std::to_string(i);
  options_.train = folder_.write("wide.csv", header + "\n" + header + "\n");
  options_.header = "yes", options_.label = "c0";
  const auto message = message_of<ConfigError>([&] { load_one(options_); });
  EXPECT_MENTIONS(message, "there is no column 'c0'");
  EXPECT_MENTIONS(message, "c30, ... (or 1 to 2000)");
  EXPECT_LT(message.size(), 600U);
}

TEST_F(BadFile, LabelsOfAnotherKind) {
  kind_ = LabelKind::sign;
  expect("a.csv", "x,y\n1,2\n", {":2: label '2' is not allowed: -1 or +1"});
  kind_ = LabelKind::class_;
  expect("a.csv", "x,y\n1,10\n", {":2: label '10' is not allowed: whole numbers 0 to 9 are"});
  expect("a.csv", "x,y\n1,g\n", {":2: label 'g'", "data.label_map"});
}

TEST_F(BadFile, Quotes) {
  expect("a.csv", "x,y\n\"1,2\n", {":2: a quoted field is not closed"});
  expect("a.csv", "x,y\n\"1\"2,2\n", {":2: text follows a quoted field"});
}

TEST_F(BadFile, FeatureIndices) {
  options_.features = 5;
  expect("a.svm", "1 1:1\n1 6:1\n", {":2: feature index 6 is not in 1..5"});
  expect("a.svm", "1 0:1\n", {":1: feature index 0 is not in 1..5", "data.index_base"});
  expect("a.svm", "1 -1:1\n", {":1: feature index -1"});
  expect("a.svm", "1 2:1 2:1\n", {":1: feature index 2 comes after 2"});
  expect("a.svm", "1 3:1 2:1\n", {":1: feature index 2 comes after 3: indices must ascend"});
  expect("a.svm", "1 99999999999999999999:1\n", {":1: '99999999999999999999:1' is not index:value"});
  expect("a.svm", "1 qid:3\n", {":1: 'qid:3' is not index:value"});
  expect("a.svm", "1 2:\n", {":1: value '' of feature 2 is not a number"});
  expect("a.svm", "1 2:3x\n", {":1: value '3x' of feature 2"});
}

}  // namespace
}  // namespace dpmpi::test::bad_text_test
