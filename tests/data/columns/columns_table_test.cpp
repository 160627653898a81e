// Tables that are read by a columns file.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/table.hpp"
#include "data/inspect/propose.hpp"
#include "data/load/convert.hpp"
#include "data/load/read_columns.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::columns_table_test {
namespace {

class ColumnsTable : public ::testing::Test {
 protected:
  ColumnsTable() { options_.columns = folder_.write("c.txt", columns); }

  /// The options with the columns file read; a test failure for what is wrong with it.
  DataOptions read() {
    DataOptions o = options_;
    std::vector<std::string> problems;
    read_columns(o, problems);
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    return o;
  }
  std::string problem(const std::function<void(DataOptions&)>& set) {
    DataOptions o = options_;
    set(o);
    std::vector<std::string> problems;
    read_columns(o, problems);
    std::string text;
    for (const std::string& p : problems) text += p + "\n";
    return text;
  }
  Records load(const std::string& table, LabelKind kind = LabelKind::sign) {
    options_.train = folder_.write("t.csv", table);
    return load_one(read(), kind);
  }
  std::string wrong(const std::string& table) {
    options_.train = folder_.write("t.csv", table);
    const DataOptions o = read();
    try {
      load_one(o, LabelKind::sign);
    } catch (const Error& e) {
      return e.what();
    }
    ADD_FAILURE() << "it was read";
    return "";
  }
  static std::vector<float> row(const Records& r, std::size_t i) {
    return {r.row_f32(i), r.row_f32(i) + r.features};
  }

  static constexpr const char* columns =
      "age number mean=50 std=10 missing=NULL impute=40 indicator\n"
      "sex category words=f,m other\n"
      "id ignore\n"
      "grade ordinal words=I,II,III\n"
      "outcome label positive=dead\n";
  const Folder folder_;
  DataOptions options_;
};

TEST_F(ColumnsTable, FeaturesStandInTheOrderOfTheFile) {
  for (const char* table : {"age,sex,id,grade,outcome\n60,m,7,II,dead\nNULL,x,\"8,5\",III,alive\n",
                            "outcome,grade,id,sex,age\ndead,II,7,m,60\nalive,III,8,x,NULL\n"}) {
    const Records r = load(table);
    EXPECT_EQ(row(r, 0), (std::vector<float>{1, 0, 0, 1, 0, 0.5F}));
    EXPECT_EQ(row(r, 1), (std::vector<float>{-1, 1, 0, 0, 1, 1}));
    EXPECT_EQ(r.label, (std::vector<float>{1, -1}));
    EXPECT_EQ(feature_names(DataFiles(read()).training),
              "age\nage is missing\nsex=f\nsex=m\nsex is another word\ngrade\n");
  }
}

TEST_F(ColumnsTable, ATableWithoutHeaderHasTheColumnsInOrder) {
  options_.header = "no";
  EXPECT_EQ(row(load("60,m,7,II,dead\n"), 0), (std::vector<float>{1, 0, 0, 1, 0, 0.5F}));
  options_.header = "auto";
  EXPECT_EQ(row(load("60,m,7,II,dead\n"), 0), (std::vector<float>{1, 0, 0, 1, 0, 0.5F}));
  EXPECT_EQ(feature_names(DataFiles(read()).training),
            "age\nage is missing\nsex=f\nsex=m\nsex is another word\ngrade\n");
  EXPECT_MENTIONS(wrong("60,m,7,II\n"), "names 5 columns where the first line has 4");
}

TEST_F(ColumnsTable, RecordsToPredictNeedNoLabel) {
  options_.label = "none";
  const std::string with = folder_.write("with.csv", "age,sex,id,grade,outcome\n60,m,7,II,dead\n"),
                    without = folder_.write("without.csv", "age,sex,id,grade\n60,m,7,II\n"),
                    bare = folder_.write("bare.csv", "60,m,7,II\n");
  for (const std::string& file : {with, without, bare}) {
    const Shard shard = load_all(Communicator::alone(), DataFiles(read(), {}, file).given, LabelKind::sign, 0, 1);
    EXPECT_EQ(row(shard.blocks.at(0).records, 0), (std::vector<float>{1, 0, 0, 1, 0, 0.5F})) << file;
  }
}

TEST_F(ColumnsTable, SeparatorsAndDecimalCommas) {
  for (const auto& [name, separator] : {std::pair{"semicolon", ';'}, {"tab", '\t'}, {"bar", '|'}})
    for (const char* format : {"auto", "csv", "tsv"}) {
      options_.separator = name, options_.decimal = "comma", options_.format = format;
      std::string table = "age;sex;id;grade;outcome\n\"62,5\";m;1;I;dead\n 62,5 ;f;2;I;alive\n";
      std::ranges::replace(table, ';', separator);
      const Records r = load(table);
      EXPECT_EQ(r.row_f32(0)[0], 1.25F);
      EXPECT_EQ(r.row_f32(1)[0], 1.25F);
    }
  options_.separator = "semicolon";
  EXPECT_MENTIONS(wrong("age;sex;id;grade;outcome\n62.5;m;1;I;dead\n"),
                  "is not a finite number with a decimal comma");
  options_.separator = "auto", options_.format = "auto";
  EXPECT_MENTIONS(wrong("age,sex,id,grade,outcome\n1,m,1,I,dead\n"), "set data.separator");
}

TEST(TableSeparator, WorksWithoutAColumnsFile) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "x;label\n1,5;2,5\n\"3,25\";-1\n7;1,0\n");
  o.separator = "semicolon", o.decimal = "comma", o.header = "yes";
  const Records r = load_one(o);
  EXPECT_EQ(r.label, (std::vector<float>{2.5F, -1, 1}));
  EXPECT_EQ(r.row_f32(0)[0], 1.5F);
  EXPECT_EQ(r.row_f32(1)[0], 3.25F);
  EXPECT_EQ(r.row_f32(2)[0], 7);
}

TEST_F(ColumnsTable, NamesThatDoNotMeetAreToldAtOnce) {
  options_.header = "yes";
  const std::string message = wrong("age,sexe,nr,grade,outcome,grade\n1,f,1,I,dead,I\n");
  EXPECT_MENTIONS(message, "that the table has not: 'sex' (line 2), 'id' (line 3)");
  EXPECT_MENTIONS(message, "does not name: 'sexe', 'nr'");
  EXPECT_MENTIONS(message, "that the table has twice: 'grade'");
  options_.header = "auto";  // then they may be a private record
  EXPECT_MENTIONS(wrong("age,sexe,nr,grade,outcome\n1,f,1,I,dead\n"), "has some of the names of");
  EXPECT_MENTIONS(wrong("age,sex,id,grade,grade\n1,f,1,I,dead\n"), "has some of the names of");
}

// A record of numbers may look like names that are numbers: it would be shown, or left out.
TEST_F(ColumnsTable, NamesThatAreNumbersAreNotLookedFor) {
  options_.columns = folder_.write("n.txt", "1 number\n2 number\ny label\n");
  EXPECT_MENTIONS(problem([](DataOptions& o) { o.header = "auto"; }), "column '1' is called by a number");
  EXPECT_EQ(problem([](DataOptions& o) { o.header = "yes"; }), "");
}

TEST_F(ColumnsTable, LabelsWithDecimalCommasAreWrittenAsInTheTable) {
  for (const char* rule : {"positive=\"1,0\"", "positive=1.0", "classes=\"0,0\",\"1,0\""}) {
    options_.columns = folder_.write("d.txt", std::string("a number\ny label ") + rule + "\n");
    options_.separator = "semicolon", options_.decimal = "comma";
    const Records r = load("a;y\n1;1,0\n2;0,0\n3;1\n");
    EXPECT_EQ(r.label, (std::vector<float>{1, -1, 1})) << rule;
  }
}

TEST_F(ColumnsTable, LabelsThatAreOneAreRefused) {
  for (const char* rule : {"classes=1,1.0", "classes=\" u\",u", "positive=2,2e0"}) {
    options_.columns = folder_.write("d.txt", std::string("a number\ny label ") + rule + "\n");
    EXPECT_MENTIONS(problem([](DataOptions&) {}), "which are one label");
  }
}

TEST_F(ColumnsTable, OfEveryWrongColumnTheFirstLineIsTold) {
  const std::string message =
      wrong("age,sex,id,grade,outcome\n1,f,1,I,dead\n,f,1,I,dead\nold,f,1,IV,dead\nolder,f,1,V,\n");
  EXPECT_MENTIONS(message,
                  "t.csv:3: column 'age': (private, not shown; see data.show_values) is not a finite number");
  EXPECT_MENTIONS(message, "c.txt:1 says number");
  EXPECT_MENTIONS(message,
                  "t.csv:4: column 'grade': (private, not shown; see data.show_values) is none of its words");
  EXPECT_MENTIONS(message, "c.txt:4 says ordinal");
  EXPECT_MENTIONS(message, "t.csv:5: label is missing");
}

TEST_F(ColumnsTable, SettingsThatSayOtherwiseAreRefused) {
  const auto all = [](DataOptions& o) {
    o.one_hot = {"sex:f|m"}, o.mean = {"age:4"}, o.deviation = {"3"}, o.drop = {"id"}, o.missing = "0";
    o.unknown = "zero", o.scale = 2, o.label = "age", o.positive = {"alive"};
  };
  const std::string message = problem(all);
  for (const char* part : {"data.one_hot = sex:f|m: data.columns says", "c.txt:2 says it of column 'sex'",
                           "data.mean = age:4", "c.txt:1 says it of column 'age'", "data.std = 3", "of all columns",
                           "data.drop = id", "data.missing = 0", "data.unknown = zero", "data.scale = 2",
                           "data.label = age", "data.positive = alive", "c.txt:5 says it of column 'outcome'"})
    EXPECT_MENTIONS(message, part);
  EXPECT_EQ(problem([](DataOptions& o) { o.label = "outcome", o.positive = {"dead"}; }), "") << "the same";
  EXPECT_EQ(problem([](DataOptions& o) { o.normalize = "l2", o.only_labels = {"dead"}; }), "");
}

TEST_F(ColumnsTable, AnotherFileThanThatOfTheDigestIsRefused) {
  const std::string digest = read().columns_digest;
  EXPECT_EQ(digest, sha256(columns));
  EXPECT_EQ(problem([&](DataOptions& o) { o.columns_digest = digest; }), "");
  folder_.write("c.txt", std::string(columns) + "# more\n");
  EXPECT_MENTIONS(problem([&](DataOptions& o) { o.columns_digest = digest; }),
                  "is not the file of data.columns_digest");
}

TEST_F(ColumnsTable, APrivateFileIsNoColumnsFile) {
  const std::string message = problem(
      [&](DataOptions& o) { o.train = o.columns = folder_.write("t.csv", "qzcanaryxv 1\nqzcanaryxv 2\n"); });
  EXPECT_MENTIONS(message, "is a training file");
  EXPECT_EQ(message.find("qzcanaryxv"), message.npos) << message;
  EXPECT_MENTIONS(problem([](DataOptions& o) { o.columns = "nowhere.txt"; }), "nowhere.txt was not found");
}

TEST_F(ColumnsTable, OtherFormatsHaveNoColumns) {
  options_.train = folder_.write("t.svm", "1 1:2\n");
  options_.features = 3;
  const DataOptions o = read();
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(o); }), "data.columns is for tables (csv, tsv, hdf5)");
}

TEST_F(ColumnsTable, WeightsAndExposuresStandBesideTheFeatures) {
  options_.columns = folder_.write("w.txt", "w weight range=0..4\nx number\ne exposure range=0.5..2\ny label\n");
  const Records r = load("y,x,w,e\n3,1.5,1,2\n0,0.5,9,1\n", LabelKind::count);
  EXPECT_EQ(r.features, 1U);
  EXPECT_EQ(r.weight, (std::vector<float>{0.25F, 1}));
  EXPECT_EQ(r.offset, (std::vector<float>{static_cast<float>(std::log(2.0)), 0}));
  options_.header = "yes";
  EXPECT_MENTIONS(wrong("y,x,w\n3,1.5,1\n"), "that the table has not: 'e' (line 3)");
  options_.label = "none";  // there losses have no weights, and rates may be asked for
  const auto offsets = [&](const std::string& table) {
    const Dataset given = DataFiles(read(), {}, folder_.write("p.csv", table)).given;
    const Shard shard = load_all(Communicator::alone(), given, LabelKind::count, 0, 1);
    EXPECT_TRUE(shard.blocks.at(0).records.weight.empty());
    return shard.blocks.at(0).records.offset;
  };
  EXPECT_TRUE(offsets("x\n1.5\n").empty());
  EXPECT_EQ(offsets("w,e,x\nheavy,7,1.5\n"), (std::vector<float>{static_cast<float>(std::log(2.0))}));
}

TEST_F(ColumnsTable, IsConvertedAsItIsRead) {
  options_.train = folder_.write("t.csv", "age,sex,id,grade,outcome\n60,m,7,II,dead\nNULL,f,8,I,alive\n");
  convert({options_.train, folder_.file("t.bin")}, options_);
  DataOptions native;
  native.train = folder_.file("t.bin");
  const Records r = load_one(native, LabelKind::sign);
  EXPECT_EQ(row(r, 0), (std::vector<float>{1, 0, 0, 1, 0, 0.5F}));
  EXPECT_EQ(r.label, (std::vector<float>{1, -1}));
}

// Comparing each name with all others would take minutes.
TEST_F(ColumnsTable, TenThousandsOfColumnsTakeNoTime) {
  constexpr int count = 40000;
  std::string file, header, record;
  for (int c = 0; c < count; ++c) {
    file += fmt::format("column_of_a_long_name_{} number\n", c);
    header += fmt::format("column_of_a_long_name_{},", c);
    record += "1,";
  }
  options_.columns = folder_.write("wide.txt", file + "label label positive=1\n");
  options_.header = "yes";
  const auto start = std::chrono::steady_clock::now();
  const Records r = load(header + "label\n" + record + "1\n" + record + "0\n");
  EXPECT_EQ(r.features, std::size_t{count});
  EXPECT_MENTIONS(wrong("x" + header + "label\n" + record + "1\n"), "that the table has not");
  options_.header = "no";
  EXPECT_MENTIONS(wrong(record + "1,1,1\n"), "names 40001 columns where the first line has 40003");
  DataOptions inspected;
  const std::string other = "2" + record.substr(1);
  inspected.train = folder_.write("wide.csv", header + "label\n" + record + "1\n" + other + "0\n");
  EXPECT_MENTIONS(propose_columns(inspected.train, inspected), "always has the same value");
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 60);
}

TEST_F(ColumnsTable, OnlyTablesThatAModelIsUsedOnAreToldThatLabelsMayBeLeftOut) {
  ReadingRules rules;
  rules.columns_file = std::make_shared<const ColumnsFile>("age number\nold label\n", "c.txt");
  const auto said = [&](const std::vector<std::string>& names) {
    return message_of<ConfigError>([&] { TableSchema(names, rules); });
  };
  const std::string lacks = "columns of c.txt that the table has not: 'old' (line 2)";
  EXPECT_EQ(said({"age"}), lacks);
  rules.more_columns = true;
  EXPECT_EQ(said({"age"}), lacks + " (records to predict need no labels: --set data.label=none)");
  EXPECT_EQ(said({"old"}), "columns of c.txt that the table has not: 'age' (line 1)");
}

TEST_F(ColumnsTable, OfManyNamesThatDoNotMeetSomeAreTold) {
  std::string header = "age,sex,id,grade,outcome", record = "1,f,1,I,dead";
  for (int c = 0; c < 1000; ++c) header += fmt::format(",more{}", c), record += ",1";
  options_.header = "yes";
  EXPECT_MENTIONS(wrong(header + "\n" + record + "\n"), "'more99' and 900 more (the kind ignore leaves one out)");
}

TEST_F(ColumnsTable, ClassesAreNumberedInTheirOrder) {
  options_.columns = folder_.write("k.txt", "x number\nkind label classes=a,b:c,d\n");
  EXPECT_EQ(load("x,kind\n1,d\n2,b:c\n3,a\n", LabelKind::real).label, (std::vector<float>{2, 1, 0}));
}

}  // namespace
}  // namespace dpmpi::test::columns_table_test
