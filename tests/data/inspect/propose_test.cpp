// Columns files that are proposed from public tables and dictionaries, and are accepted for these tables.
#include "data/inspect/propose.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/read_columns.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"

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

TEST(Propose, ArraysAreNoTables) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("a.bin", "\x93NUMPY\x01");
  EXPECT_MENTIONS(message_of([&] { propose_columns(o.train, o); }), "is of the format npy");
}

/// 60 visits as datasets: numbers with gaps, words of any length and of a fixed one, persons, a label.
void write_visits(const std::string& path) {
  NewHdf5 file(path);
  std::vector<std::string> wards, smokers;
  for (int i = 0; i < 60; ++i) wards.emplace_back(i % 3 == 0 ? "A, first floor" : i % 3 == 1 ? "B" : "?");
  for (int i = 0; i < 60; ++i) smokers.emplace_back(i % 5 == 0 ? "yes" : "no");
  file.add("who/patient", "u4", {60}, numbers(60, [](std::size_t i) { return static_cast<double>(i / 2); }));
  file.add("age", "i2", {60},
           numbers(60, [](std::size_t i) { return i % 9 == 0 ? -1 : 20.0 + static_cast<double>(i); }));
  file.set("age", "_FillValue", -1);
  file.add("scan", "f4", {60, 2}, std::vector<double>(120, 0.5));
  file.add("wide", "g16", {60}, std::vector<double>(60, 1));
  file.add("bounds", "f4", {3}, {1, 2, 3});
  file.add_words("ward", wards);
  file.add_fixed_words("smoker", smokers, 4);
  file.add("outcome", "u1", {60}, numbers(60, [](std::size_t i) { return i % 7 == 0 ? 1.0 : 0.0; }));
}

TEST(Propose, AnHdf5FileWithColumnsIsATable) {
  const Folder folder;
  DataOptions o;
  o.train = folder.file("visits.h5");
  write_visits(o.train);
  EXPECT_MENTIONS(message_of<ConfigError>([&] { propose_columns(o.train, o); }),
                  "--set data.label=NAME must say which column the label is (none: there is none): none is called "
                  "label, target, class or y. The columns are age, bounds, outcome, smoker, ward, patient, wide");
  o.label = "outcome";
  std::string proposed;
  const Records r = read_as_proposed(folder, o, proposed, LabelKind::sign);
  EXPECT_EQ(r.count, 60U);
  EXPECT_EQ(std::count(r.label.begin(), r.label.end(), 1.0F), 9);
  for (const char* part :
       {"THIS FILE MUST BE PUBLIC", "(60 records)", "# Column wide holds no numbers, and is not read.\n",
        "# Column bounds holds 3 values, where the table has 60 records, and is not read.\n", "\nbounds ignore\n",
        "# Datasets with rows are no columns, and are left out: scan\n", "\npatient person\n",
        "\nage number range=21..79 mean=", "missing=\"\" impute=",
        "words=\"A, first floor\",B other missing=? indicator", "\nsmoker yes/no true=yes false=no\n",
        "\noutcome label positive=1\n", "\nwide ignore\n"})
    EXPECT_MENTIONS(proposed, part);
  EXPECT_EQ(proposed.find("data.header"), proposed.npos) << "an HDF5 file has no header";
  o.header = "yes", o.skip_lines = 1;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { propose_columns(o.train, o); }),
                  "data.header, data.skip_lines: is for tables of text, and this is an HDF5 file");
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
                  "data.label: there is no column 'lable' (did you mean label?); columns are a, b, label");
  o.label = "2";
  EXPECT_MENTIONS(propose_columns(o.train, o), "\nb label positive=");
}

TEST(Propose, ColumnsOfATableWhoseNamesNoFileCanHaveAreCalledByTheirPlaces) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "\n,a,a,label\n1,2,3,0\n4,5,6,1\n7,8,9,1\n");
  EXPECT_MENTIONS(message_of<DataError>([&] { propose_columns(o.train, o); }),
                  "--set data.header=no --set data.skip_lines=2");
  o.header = "no", o.skip_lines = 2;
  std::string proposed;
  EXPECT_EQ(read_as_proposed(folder, o, proposed, LabelKind::sign).count, 3U);
  EXPECT_MENTIONS(proposed, "data.header = no, data.skip_lines = 2\n");
}

TEST(Propose, FilesThatMatchAreOneTable) {
  const Folder folder;
  std::string rows, proposed;
  for (int i = 0; i < 12; ++i) rows += i % 2 == 0 ? "red;big;yes\n" : "blue;small;no\n";
  folder.write("t1.csv", "colour;size;kind\n" + rows), folder.write("t2.csv", "colour;size;kind\n" + rows);
  DataOptions o;
  o.train = folder.path() + "/t*.csv";
  EXPECT_EQ(read_as_proposed(folder, o, proposed, LabelKind::sign).count, 24U);
  EXPECT_MENTIONS(proposed, "\ncolour category words=blue,red other\n");
  EXPECT_MENTIONS(proposed, "(24 records)");
}

TEST(Propose, TextsWithLineEndsAreNoWords) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "x,note,label\n1,\"a\nb\",0\n2,\"\n\",1\n3,c,0\n");
  std::string proposed;
  EXPECT_EQ(read_as_proposed(folder, o, proposed, LabelKind::sign).count, 3U);
  EXPECT_MENTIONS(proposed, "# note: it seems to be free text: it has line ends\nnote ignore\n");
  o.label = "note";
  EXPECT_MENTIONS(message_of([&] { propose_columns(o.train, o); }),
                  "column 'note' is taken for the label, and has line");
  o.train = folder.write("open.csv", "x,note,label\n1,\"a\nb\",\"0\n2,c,1\n");
  EXPECT_MENTIONS(message_of([&] { propose_columns(o.train, o); }), "open.csv:3: a quoted field is not closed");
}

TEST(Propose, NamesInATableOfWordsAreSeen) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("few.csv", "colour,size,kind\nred,big,yes\nblue,small,no\n");
  EXPECT_MENTIONS(propose_columns(o.train, o), "if it has the names, say --set data.header=yes");
  std::string records, proposed;
  for (int i = 0; i < 12; ++i) records += i % 2 == 0 ? "red,big,yes\n" : "blue,small,no\n";
  o.train = folder.write("many.csv", "colour,size,kind\n" + records);
  EXPECT_EQ(read_as_proposed(folder, o, proposed, LabelKind::sign).count, 12U);
  EXPECT_MENTIONS(proposed, "if it is a record, say --set data.header=no");
  EXPECT_MENTIONS(proposed, "\ncolour category words=blue,red other\n");
  o.train = folder.write("label.csv", "colour,size,label\nred,big,yes\nblue,small,no\n");
  EXPECT_MENTIONS(propose_columns(o.train, o), "\nlabel label positive=yes\n");
  o.label = "size";
  o.train = folder.write("named.csv", "colour,size\nred,big\nblue,small\n");
  EXPECT_MENTIONS(propose_columns(o.train, o), "\nsize label positive=");
  o.label = "auto";
  for (const std::string& table :
       {records, "green,mid,perhaps\ngreen,mid,yes\n" + records, "?,a,b\n" + records, "a,a,b\n" + records}) {
    o.train = folder.write("records.csv", table);
    EXPECT_MENTIONS(propose_columns(o.train, o), "data.header = no");
  }
}

TEST(Propose, LabelsThatAreWrittenInSeveralWaysAreOne) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "x,label\n1,a\n2,\"a \"\n3,1\n4,1.0\n5,NULL\n6,\" \"\n");
  o.header = "yes";
  const std::string proposed = propose_columns(o.train, o);
  EXPECT_MENTIONS(proposed, "\nlabel label classes=a,1,NULL\n");
  EXPECT_MENTIONS(proposed, "# label: NULL may mean that a label is missing");
  EXPECT_MENTIONS(proposed, "# label: labels are missing in some records");
  o.train = folder.write("two.csv", "x,label\n1,0\n2,0.0\n3,1\n4,-0\n");
  std::string two;
  EXPECT_EQ(read_as_proposed(folder, o, two, LabelKind::sign).label, (std::vector<float>{-1, -1, 1, -1}));
}

TEST(Propose, ALabelOfVeryManyWordsIsNoLabel) {
  const Folder folder;
  std::string table = "x,city\n";
  for (int i = 0; i < 202; ++i) table += fmt::format("{},city{}\n", i % 7, i % 101);
  DataOptions o;
  o.train = folder.write("t.csv", table);
  EXPECT_MENTIONS(message_of<DataError>([&] { propose_columns(o.train, o); }),
                  "t.csv: column 'city' is taken for the label, and has more than 100 words");
  o.label = "x";
  EXPECT_MENTIONS(propose_columns(o.train, o), "\nx label\n");
}

TEST(Propose, ColumnsOfOneValueSayWhereItIs) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "a,b,c,label\n5,1,2.0,0\n5.0,1.0,2,1\n,1e0,NULL,0\n5e0,1,2,1\n");
  std::string proposed;
  const Records r = read_as_proposed(folder, o, proposed, LabelKind::sign);
  EXPECT_MENTIONS(proposed, "# a: its values are all the same, or missing\na number mean=5 std=1 missing=\"\"");
  EXPECT_MENTIONS(proposed, "# b: it always has the same value\nb ignore\n");
  EXPECT_EQ(r.features, 4U);
  o.train = folder.write("nothing.csv", "a,label\n1,0\n1,1\n");
  EXPECT_MENTIONS(message_of<DataError>([&] { propose_columns(o.train, o); }),
                  "nothing.csv: no columns file can be proposed: the proposal: no column becomes a feature");
}

// What data.separator = auto takes is that of the format, and not the one that inspect sees.
TEST(Propose, ASeparatorThatIsNotExpectedIsSaid) {
  const Folder folder;
  for (const auto& [name, says] : {std::pair{"t.tsv", true}, {"t.csv", false}, {"t.txt", false}, {"t.svm", true}}) {
    DataOptions o;
    o.train = folder.write(name, "a,b,label\n1,2,0\n2,3,1\n3,4,1\n");
    EXPECT_EQ(propose_columns(o.train, o).find("data.separator = comma") != std::string::npos, says) << name;
  }
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

TEST(Propose, NothingOfADictionaryIsLeftOutInSilence) {
  const Folder folder;
  const std::string file =
      folder.write("d.csv",
                   "# ours\nname,kind,values,meaning\nage,integer,0..120,\"in years, whole\"\nsex,factor,f|m,\n"
                   "y,label,1\n");
  EXPECT_MENTIONS(columns_of_dictionary(file, {}),
                  "\n# age: in years, whole\nage number range=0..120\nsex category");
  const std::string bad =
      folder.write("bad.csv", "sex,factor,f,m\nage,integer\nage,real\ny,label\nz,label\np,person\nq,person\n");
  const std::string message = message_of<ConfigError>([&] { columns_of_dictionary(bad, {}); });
  EXPECT_MENTIONS(message, "bad.csv:1: it has 4 fields where 3 are expected");
  EXPECT_MENTIONS(message, "bad.csv:3: column 'age' stands in line 2, too");
  EXPECT_MENTIONS(message, "bad.csv:5: a table has one label, and line 4 has a label, too");
  EXPECT_MENTIONS(message, "bad.csv:7: a table has one person, and line 6");
}

}  // namespace
}  // namespace dpmpi::test::propose_test
