// HDF5 files by a columns file: words, gaps, dates and persons, bit by bit as those of the CSV of the same table.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/load/read_columns.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"
#include "support/hospital_files.hpp"

namespace dpmpi::test::hdf5_table_test {
namespace {

class Hdf5Table : public ::testing::Test {
 protected:
  DataOptions options(const std::string& file, const std::string& columns) const {
    DataOptions o;
    o.train = folder_.file(file);
    o.columns = folder_.write("c.txt", columns);
    std::vector<std::string> problems;
    read_columns(o, problems);
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    return o;
  }
  /// The features of every record, and behind them its label.
  std::vector<std::vector<float>> rows(const std::string& columns) const {
    const Records r = load_one(options("a.h5", columns));
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < r.count; ++i) {
      all.emplace_back(r.row_f32(i), r.row_f32(i) + r.features);
      all.back().push_back(r.label[i]);
    }
    return all;
  }
  std::string problem(const std::string& columns) const {
    const DataOptions o = options("a.h5", columns);
    return without_path(message_of<Error>([&] { load_one(o); }), folder_.file(""));
  }
  using Rows = std::vector<std::vector<float>>;

  const Folder folder_;
};

TEST_F(Hdf5Table, GivesTheBytesOfTheCsvOfTheSameTable) {
  write_hospital_csv(folder_.file("a.csv"));
  write_hospital_hdf5(folder_.file("a.h5"));
  const auto digest = [&](const char* file) {
    std::string columns = hospital_columns;
    columns.replace(0, columns.find('\n'), "patient ignore");
    return dataset_digest(Communicator::alone(), load_all(Communicator::alone(), options(file, columns)));
  };
  EXPECT_EQ(digest("a.h5"), digest("a.csv"));
}

std::string without_persons(std::string columns) {
  return columns.replace(0, columns.find('\n'), "patient ignore");
}

TEST_F(Hdf5Table, ATableIsWrittenWithItsWordsGapsAndPersons) {
  write_hospital_csv(folder_.file("a.csv"));
  const DataOptions csv = options("a.csv", hospital_columns);
  const auto digest = [&](const char* file) {
    return dataset_digest(Communicator::alone(),
                          load_all(Communicator::alone(), options(file, without_persons(hospital_columns))));
  };
  EXPECT_EQ(convert({csv.train, folder_.file("a.h5"), 0, 64, "table"}, csv), 3001U);
  EXPECT_EQ(digest("a.h5"), digest("a.csv"));
  EXPECT_EQ(load_one(options("a.h5", hospital_columns)).person_begin, load_one(csv).person_begin);
  DataOptions no_columns;
  no_columns.train = csv.train;
  convert({csv.train, folder_.file("b.h5"), 0, 64, "table"}, no_columns);
  EXPECT_EQ(digest("b.h5"), digest("a.csv")) << "without the columns file more are texts";
  const std::string once = read_file(folder_.file("a.h5"));
  convert({csv.train, folder_.file("a.h5"), 0, 64, "table"}, options("a.csv", hospital_columns));
  EXPECT_TRUE(read_file(folder_.file("a.h5")) == once);
}

// 017 is a word, 1,50 and 1,5 are a number, and of two missing words each is the column's own.
TEST_F(Hdf5Table, WordsThatLookLikeNumbersStayWords) {
  folder_.write("a.csv", fmt::format("code;share;date;note;empty;y\n017;1,50;03.04.2015;\"{0}; {0}\";;1,0\n"
                                     "17;-;04.04.2015;b;;0\n;1e3;05.04.2015;\"say \"\"c\"\"\";;1,0\n",
                                     std::string(40, 'x')));
  const std::string columns = fmt::format(
      "code category words=017,17 indicator\nshare number missing=-,\"\" impute=2 indicator\n"
      "date date format=%d.%m.%Y from=2015-01-01 unit=days\nnote category words=\"{0}; {0}\",b,\"say \"\"c\"\"\"\n"
      "empty category words=a,b indicator\ny label\n",
      std::string(40, 'x'));
  DataOptions csv = options("a.csv", columns);
  csv.separator = "semicolon", csv.decimal = "comma", csv.header = "yes";
  convert({csv.train, folder_.file("a.h5"), 0, 64, "table"}, csv);
  const Records r = load_one(csv);
  const Rows all = rows(columns);
  ASSERT_EQ(all.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> row(r.row_f32(i), r.row_f32(i) + r.features);
    row.push_back(r.label[i]);
    EXPECT_EQ(all[i], row) << i;
  }
}

TEST_F(Hdf5Table, WhatIsNoTableIsNotWrittenAsOne) {
  const auto said = [&](const std::string& text, const std::string& output, DataOptions o = {}) {
    const std::string input = folder_.write("a.csv", text);
    return without_path(message_of<Error>([&] {
                          convert({input, folder_.file(output), 0, 64, "table"}, o);
                        }),
                        folder_.file(""));
  };
  EXPECT_MENTIONS(said("a,b\n1,2\n", "a.bin"), "--as table writes HDF5: give an output whose name ends in .h5");
  EXPECT_MENTIONS(said("1,2\n3,4\n", "a.h5"), "there is no line with names: set data.columns");
  EXPECT_MENTIONS(said("a/b,b\n1,x\n", "a.h5"), "the name of column 1 cannot be that of a dataset");
  EXPECT_MENTIONS(said("a,b\n1,2\n3\n", "a.h5"), "a.csv: line 3: 1 columns where 2 are expected");
  const std::string entries = folder_.write("a.svm", "1 1:2\n-1 2:3\n");
  EXPECT_MENTIONS(message_of<Error>([&] {
                    convert({entries, folder_.file("a.h5"), 0, 64, "table"}, {});
                  }),
                  "is read as libsvm");
  DataOptions commas;
  commas.separator = "semicolon", commas.decimal = "comma";
  EXPECT_MENTIONS(said("a;b\n1;2\n", "a.h5", commas), "--as table needs data.columns");
  DataOptions dropped;
  dropped.drop = {"a"};
  EXPECT_MENTIONS(said("a,b\n1,2\n", "a.h5", dropped), "leave data.drop out");
}

TEST_F(Hdf5Table, MembersOfATableAreColumnsToo) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    file.add_people("visits", {"age", "ward", "unit"},
                    {{50, "north", "a"}, {60, "south, 2", "1234567"}, {70, nullptr, "b"}});
    file.add("outcome", "u1", {3}, {0, 1, 1});
  }
  const char* const columns =
      "age number range=0..100\nward category words=north,\"south, 2\" indicator\n"
      "unit category words=a,b,1234567\noutcome label\n";
  EXPECT_EQ(rows(columns),
            (Rows{{.5F, 1, 0, 0, 1, 0, 0, 0}, {.6F, 0, 1, 0, 0, 0, 1, 1}, {.7F, 0, 0, 1, 0, 1, 0, 1}}));
}

TEST_F(Hdf5Table, NumbersMayStandForWordsAndGaps) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    file.add("code", "i8", {3}, {100000, 7, -9});
    file.add("share", "f4", {3}, {0.1, 2.5, 0.1});
    file.add("packed", "i2", {3}, {4, -1, 6});
    file.set("packed", "scale_factor", 0.5);
    file.set("packed", "_FillValue", -1);
    file.add_fixed_words("y", {"no ", " yes", "no"}, 8, true);
  }
  const char* const columns =
      "code category words=100000,7 missing=-9 indicator\nshare category words=0.1,2.5\n"
      "packed number impute=8\ny label classes=no,yes\n";
  EXPECT_EQ(rows(columns), (Rows{{1, 0, 0, 1, 0, 2, 0}, {0, 1, 0, 0, 1, 8, 1}, {0, 0, 1, 1, 0, 3, 0}}));
}

TEST_F(Hdf5Table, PersonsWithLongNumbersStayApart) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    const std::uint64_t large = (std::uint64_t{1} << 63) + 1;  // of which float64 knows no neighbour
    file.add_integers("id", {large, large + 1, large, large + 1});
    file.add("x", "f4", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    file.add("age", "f4", {4}, {1, 2, 3, 4});
    file.add("y", "u1", {4}, {0, 1, 0, 1});
  }
  DataOptions o;
  o.train = folder_.file("a.h5");
  o.person = "id", o.datasets = {"x"};
  EXPECT_EQ(inspect(Communicator::alone(), DataFiles(o).training).records, 2U);
  o = options("a.h5", "id person\nx ignore\nage number\ny label\n");
  EXPECT_EQ(inspect(Communicator::alone(), DataFiles(o).training).records, 2U);
}

// float64 holds none of the three: it would take them for one.
TEST_F(Hdf5Table, LongNumbersAreComparedByAllTheirDigits) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    const std::uint64_t large = std::uint64_t{1} << 60;
    file.add_integers("code", {large + 1, large + 2, large + 3, large + 2});
    file.add_integers("size", {large, large + 1, 7, large + 2});
    file.add_integers("y", {large + 1, large + 2, large + 1, large + 2});
    file.set_integer("code", "_FillValue", large + 3);
    file.set_integer("size", "missing_value", large + 1);
  }
  const char* const columns =
      "code category words=1152921504606846977,1152921504606846978 indicator\n"
      "size number std=1152921504606846976 impute=5764607523034234880\n"
      "y label classes=1152921504606846977,1152921504606846978\n";
  const float near = 7 / std::pow(2.0F, 60.0F);
  EXPECT_EQ(rows(columns), (Rows{{1, 0, 0, 1, 0}, {0, 1, 0, 5, 1}, {0, 0, 1, near, 0}, {0, 1, 0, 1, 1}}));
}

TEST_F(Hdf5Table, AGapOfANeighbourLeavesTheOtherDigits) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    file.add("share", "f4", {3}, {0.1, 2.5, -9});
    file.add("below", "u1", {3}, {0, 255, 7});
    file.set("share", "_FillValue", -9);
    file.set("below", "_FillValue", -1);  // which is no number of the dataset, and not its 0 or 255
    file.add("y", "u1", {3}, {0, 1, 1});
  }
  EXPECT_EQ(rows("share category words=0.1,2.5 indicator\nbelow number\ny label\n"),
            (Rows{{1, 0, 0, 0, 0}, {0, 1, 0, 255, 1}, {0, 0, 1, 7, 1}}));
}

TEST_F(Hdf5Table, WhatDoesNotFitIsNamedByDatasetAndLine) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    file.add("age", "f8", {3}, {1, 2, 3});
    file.add("scan", "f4", {3, 2}, {1, 2, 3, 4, 5, 6});
    file.add("few", "f4", {2}, {1, 2});
    file.add("other", "f4", {3}, {1, 2, 3});
    file.add("v", "g16", {3}, {1, 2, 3});
    file.add_fixed_words("notes", {"a", "b", "c", "d", "e", "f"}, 4, false, 2);
    file.add_words("ward", {"north", "secret", "north"});
    file.add("y", "u1", {3}, {0, 1, 1});
  }
  const std::string rest = "few ignore\nother ignore\nv ignore\nward ignore\ny label\n";
  EXPECT_MENTIONS(problem("age number\ny label\n"),
                  "columns of the table that c.txt does not name: 'few', 'other', 'v', 'ward'");
  EXPECT_MENTIONS(problem("age number\nsex yes/no\n" + rest), "columns of");
  EXPECT_MENTIONS(problem("age number\nscan number\n" + rest),
                  "a.h5: dataset scan holds rows of numbers, where a column has one number or word a record");
  EXPECT_MENTIONS(problem("age number\nscan number\n" + rest), "c.txt:2 says number");
  EXPECT_MENTIONS(problem("age number\nnotes category words=a,b\n" + rest),
                  "a.h5: dataset notes holds rows of words, where a column has one number or word a record");
  EXPECT_MENTIONS(problem("age number\nfew number\nother ignore\nv ignore\nward ignore\ny label\n"),
                  "a.h5: dataset few holds");
  EXPECT_MENTIONS(problem("age number\nfew ignore\nother ignore\nv number\nward ignore\ny label\n"),
                  "a.h5: dataset v holds no numbers");
  const std::string words = problem(
      "age number\nfew ignore\nother date format=%Y from=2000-01-01\nv ignore\nward category words=north\ny label\n");
  EXPECT_MENTIONS(words, "a.h5: record 2: column 'ward'");
  EXPECT_MENTIONS(words, "c.txt:5 says category");
  EXPECT_MENTIONS(words, "a.h5: record 1: column 'other'");
  EXPECT_EQ(words.find("secret"), words.npos);
}

/// A kind of columns with a word that fits and one that does not; nullptr: numbers, 1 and 5277231, stand there.
struct KindOfColumn {
  const char *line, *good, *bad, *said;
};
const std::vector<KindOfColumn> kinds_of_columns{
    {"number", "1.5", "SECRETabc", "is not a finite number"},
    {"number range=0..10", "3", "1,5SECRET", "is not a finite number"},
    {"number", "1", "", "missing value"},
    {"number mean=1 std=2", "1", "1e999", "is not a finite number"},
    {"number", "1", "\xff\xfeSECRET", "is not a finite number"},
    {"yes/no", "yes", "SECRETmaybe", "is none of its words"},
    {"yes/no", nullptr, nullptr, "is none of its words"},
    {"category words=a,b", "b", "SECRETc", "is none of its words"},
    {"category words=1,2", nullptr, nullptr, "is none of its words"},
    {"category words=a,b", "a", "\xe4SECRET", "is none of its words"},
    {"ordinal words=I,II,III", "II", "SECRETIV", "is none of its words"},
    {"date format=%Y-%m-%d from=2015-01-01", "2015-03-04", "2015-02-30", "is not a date of the calendar"},
    {"date format=%Y from=2015-01-01", nullptr, nullptr, "is not a date of the calendar"},
};

// In the order of the records, as of a CSV.
TEST_F(Hdf5Table, SixtyWrongColumnsAreToldInOneAnswer) {
  constexpr std::size_t wrong = 60, records = 83;
  const auto kind_of = [](std::size_t c) { return kinds_of_columns[c % kinds_of_columns.size()]; };
  const auto record_of = [](std::size_t c) { return 7 * c % records; };
  std::string columns;
  {
    NewHdf5 file(folder_.file("a.h5"));
    for (std::size_t c = 0; c < wrong; ++c) {
      const KindOfColumn kind = kind_of(c);
      const std::string name = fmt::format("c{}", c);
      columns += fmt::format("{} {}\n", name, kind.line);
      std::vector<std::string> words(records, kind.good == nullptr ? "" : kind.good);
      words[record_of(c)] = kind.bad == nullptr ? "" : kind.bad;
      if (kind.good == nullptr)
        file.add(name, "i4", {records}, numbers(records, [&](std::size_t i) {
                   return i == record_of(c) ? 5277231 : kind.line[0] == 'd' ? 2016 : 1;
                 }));
      else if (c % 2 == 0)
        file.add_words(name, words);
      else
        file.add_fixed_words(name, words, 16);
    }
    file.add("y", "u1", {records}, numbers(records, [](std::size_t i) { return static_cast<double>(i % 2); }));
  }
  const std::string said = problem(columns + "y label\n");
  std::size_t after = 0;
  for (std::size_t record = 0; record < records; ++record)
    for (std::size_t c = 0; c < wrong; ++c) {
      if (record_of(c) != record) continue;
      const std::size_t at = said.find(fmt::format("a.h5: record {}: column 'c{}': ", record + 1, c), after);
      ASSERT_NE(at, said.npos) << c << "\n" << said;
      after = said.find('\n', at);
      const std::string line = said.substr(at, after - at);
      EXPECT_MENTIONS(line, kind_of(c).said);
      EXPECT_MENTIONS(line, fmt::format("c.txt:{}", c + 1));
    }
  for (const char* const secret : {"SECRET", "5277231", "2015-02-30", "1e999"})
    EXPECT_EQ(said.find(secret), said.npos) << said;
}

TEST_F(Hdf5Table, NobodyIsAFaultWithoutItsValue) {
  {
    NewHdf5 file(folder_.file("a.h5"));
    file.add_words("who", {"a", "n/a"});
    file.add("x", "f4", {2, 1}, {1, 2});
    file.add("y", "u1", {2}, {0, 1});
  }
  DataOptions o;
  o.train = folder_.file("a.h5");
  o.person = "who";
  const BlockLayout layout{2, 1};
  const auto message =
      without_path(message_of<Error>([&] {
                     load(Communicator::alone(), DataFiles(o).training, layout, Ownership::even(1, 1),
                          LabelKind::real, 0, {.key = SecretKey::from_seed(1)});
                   }),
                   folder_.file(""));
  EXPECT_MENTIONS(message, "a.h5: record 2: dataset 'who': missing value");
  EXPECT_EQ(message.find("n/a"), message.npos);
  o.person = "x";
  EXPECT_MENTIONS(message_of<Error>([&] { inspect(Communicator::alone(), DataFiles(o).training); }),
                  "data.person: dataset x holds rows of numbers");
  o.person = "whom";
  EXPECT_MENTIONS(message_of<Error>([&] { inspect(Communicator::alone(), DataFiles(o).training); }),
                  "data.person = whom: there is no such dataset");
}

}  // namespace
}  // namespace dpmpi::test::hdf5_table_test
