// Columns files that are proposed from public tables and dictionaries, and are accepted for these tables.
#include "data/inspect/propose.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/columns/columns_file.hpp"
#include "data/load/read_columns.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::propose_test {
namespace {

/// 300 visits of a hospital; separated by `s`, with `decimal` before the decimals.
std::string visits(char s, char decimal) {
  std::string text =
      fmt::format("patient_id{0}age{0}sex{0}ward{0}admitted on{0}weight{0}smoker{0}site{0}outcome\n", s);
  const char* const wards[] = {"\"A, first floor\"", "B", "?", "\"say \"\"C\"\"\""};
  for (int i = 0; i < 300; ++i)
    text += fmt::format("P{1}{0}{2}{0}{3}{0}{4}{0}{5:02}.03.{6}{0}{7}{8}5{0}{9}{0}main{0}{10}\n", s, i,
                        i % 9 == 0 ? "NULL" : std::to_string(20 + i % 60), i % 2 == 0 ? "f" : "m", wards[i % 4],
                        1 + i % 28, 2010 + i % 10, 50 + i % 40, decimal, i % 5 == 0 ? "yes" : "no",
                        i % 7 == 0 ? "dead" : "alive");
  return text;
}

/// What `input` is read as by the columns file that is proposed for it.
Records read_as_proposed(const Folder& folder, DataOptions o, std::string& proposed, LabelKind kind) {
  proposed = propose_columns(o.train, o);
  o.columns = folder.write("proposed.txt", proposed);
  if (proposed.find("data.header = yes") != proposed.npos) o.header = "yes";
  if (proposed.find("data.separator = semicolon") != proposed.npos) o.separator = "semicolon";
  if (proposed.find("data.separator = tab") != proposed.npos) o.separator = "tab";
  if (proposed.find("data.decimal = comma") != proposed.npos) o.decimal = "comma";
  std::vector<std::string> problems;
  read_columns(o, problems);
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return load_one(o, kind, 3);
}

TEST(Propose, WhatIsProposedIsAcceptedForTheSameTable) {
  const Folder folder;
  std::string first;
  for (const auto& [separator, decimal] : {std::pair{',', '.'}, {';', ','}, {'\t', '.'}, {';', '.'}}) {
    DataOptions o;
    o.train = folder.write("visits.csv", visits(separator, decimal));
    o.label = "outcome";
    std::string proposed;
    const Records r = read_as_proposed(folder, o, proposed, LabelKind::sign);
    EXPECT_EQ(r.count, 300U);
    EXPECT_EQ(std::count(r.label.begin(), r.label.end(), 1.0F), 43) << "the rarer word is the positive one";
    for (const char* part :
         {"THIS FILE MUST BE PUBLIC", "(300 records)", "patient_id: it seems to say whose a record is",
          "\npatient_id person\n", "\nage number range=20..79 mean=", "missing=NULL impute=", "indicator\n",
          "\nsex category words=f,m other\n", "\"A, first floor\"", "\"say \"\"C\"\"\"", "missing=? indicator",
          "\n\"admitted on\" date format=%d.%m.%Y", "\nweight number range=50.5..89.5",
          "\nsmoker yes/no true=yes false=no\n", "# site: it always has the same value\nsite ignore\n",
          "\noutcome label positive=dead\n"})
      EXPECT_MENTIONS(proposed, part);
    if (first.empty()) first = record_bytes(r, 17);
    EXPECT_EQ(record_bytes(r, 17), first) << "the same numbers, however they are written";
  }
}

TEST(Propose, WhatNamesPersonsIsOneColumnOrTheOneThatIsNamed) {
  const Folder folder;
  DataOptions o;
  o.train =
      folder.write("t.csv", "user_id,Patient No,clients,customer_age,y\n1,a,3,40,0\n2,b,4,50,1\n1,a,3,41,1\n");
  std::string proposed = propose_columns(o.train, o);
  EXPECT_MENTIONS(proposed, "\nuser_id person\n");
  EXPECT_EQ(proposed.find("person", proposed.find("user_id person") + 20), proposed.npos) << proposed;
  o.person = "Patient No";
  EXPECT_MENTIONS(propose_columns(o.train, o), "\n\"Patient No\" person\n");
  o.person = "patient";
  EXPECT_MENTIONS(message_of<ConfigError>([&] { propose_columns(o.train, o); }),
                  "data.person: there is no column 'patient'; columns are user_id, Patient No");
}

// Tables of which a proposal was not understood by the program itself.
TEST(Propose, OddTablesHaveProposalsThatAreUnderstood) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("gaps.csv", "a,b,label\n5,x,-\n,,+\n5,x,-\n");
  o.header = "yes";
  std::string proposed;
  const Records r = read_as_proposed(folder, o, proposed, LabelKind::sign);
  EXPECT_MENTIONS(proposed, "a category words=5 other missing=\"\" indicator");
  EXPECT_EQ(std::count(r.label.begin(), r.label.end(), 1.0F), 1) << "a label may be '-'";
  o.train = folder.write("names.csv", "a,,a,label\n1,2,3,0\n4,5,6,1\n");
  EXPECT_MENTIONS(message_of<DataError>([&] { propose_columns(o.train, o); }),
                  "column 2 has no name, two columns are called 'a': give every column a name of its own");
  o.train = folder.write("label.csv", "a,b,label\n1,2,0\n4,5,1\n");
  o.label = "lable";
  EXPECT_MENTIONS(message_of<ConfigError>([&] { propose_columns(o.train, o); }),
                  "data.label: there is no column 'lable'; columns are a, b, label");
  DataOptions words;
  words.train = folder.write("words.csv", "colour,size,label\nred,big,yes\nblue,small,no\n");
  EXPECT_MENTIONS(propose_columns(words.train, words), "if it has the names, say --set data.header=yes");
}

TEST(Propose, CentresAreAsPreciseAsTheirScale) {
  const Folder folder;
  std::string table = "time,huge,patient\n";
  for (int i = 0; i < 100; ++i)
    table += fmt::format("{},{},P{}\n", 1704999000 + 40 * i, i % 2 ? "1.7e308" : i % 3 ? "-1.7e308" : "0", i % 40);
  DataOptions o;
  o.train = folder.write("t.csv", table);
  const std::string proposed = propose_columns(o.train, o);
  EXPECT_MENTIONS(proposed, "mean=170500");
  EXPECT_MENTIONS(proposed, "patient person");
  ColumnsFile(proposed, "t.txt");  // is understood
}

TEST(Propose, TablesWithoutHeaderGetNames) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "1.5,a,x\n2.5,b,y\n3.5,a,z\n9,b,x\n");
  std::string proposed;
  const Records r = read_as_proposed(folder, o, proposed, LabelKind::class_);
  EXPECT_MENTIONS(proposed, "column1 number range=1.5..9");
  EXPECT_MENTIONS(proposed, "the last one is taken for the label");
  EXPECT_MENTIONS(proposed, "column3 label classes=x,y,z");
  EXPECT_EQ(r.label, (std::vector<float>{0, 1, 2, 0}));
}

TEST(Propose, LongVocabulariesAreCutAndWrapped) {
  const Folder folder;
  std::string table = "word,label\n";
  for (int i = 0; i < 3000; ++i) table += fmt::format("\"word {}, {}\",{}\n", i * i % 701, "x", i % 2);
  DataOptions o;
  o.train = folder.write("t.csv", table);
  std::string proposed;
  read_as_proposed(folder, o, proposed, LabelKind::sign);
  EXPECT_MENTIONS(proposed, "words, of which these are the most frequent");
  EXPECT_MENTIONS(proposed, "\nlabel label positive=1\n");
}

TEST(Propose, ADictionaryIsEnough) {
  const Folder folder;
  const std::string file =
      folder.write("d.csv",
                   "name,type,values\nage,integer,0..120\nsex,factor,f|m\n\"admitted on\",date,\n"
                   "smoker,boolean,ja|nein\nid,id,\nstage,ordered,I|II|III\nward,text\n"
                   "outcome,label,dead\n");
  const std::string lines = columns_of_dictionary(file, {});
  for (const char* part :
       {"MUST BE PUBLIC", "\nage number range=0..120\n", "\nsex category words=f,m\n",
        "\n\"admitted on\" date format=%Y-%m-%d from=2000-01-01 unit=years\n",
        "\nsmoker yes/no true=ja false=nein\n", "\nid ignore\n", "\nstage ordinal words=I,II,III\n",
        "\n# fill in: ward category words=", "\noutcome label positive=dead\n"})
    EXPECT_MENTIONS(lines, part);
  EXPECT_EQ(ColumnsFile(lines, "d.txt").columns.size(), 7U);
  const std::string bad = folder.write("bad.csv", "age,integr,\nsex\nx,number,5..1\n");
  const std::string message = message_of<ConfigError>([&] { columns_of_dictionary(bad, {}); });
  EXPECT_MENTIONS(message, "bad.csv:1: kind 'integr' is not known");
  EXPECT_MENTIONS(message, "bad.csv:2: a line is NAME,KIND");
  EXPECT_MENTIONS(message, "bad.csv:3: range=");
}

}  // namespace
}  // namespace dpmpi::test::propose_test
