// Every way in which a file can be bad: one message with file, line or byte, the value, and what is allowed.
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/memory.hpp"
#include "data/records/builder.hpp"
#include "data/records/text.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::bad_files_test {
namespace {

class BadFile : public ::testing::Test {
 protected:
  /// Of public records, whose names are known: what stands in the files may be quoted.
  BadFile() {
    options_.show_values = true;
    options_.eval = folder_.write("public.csv", "x,y,x2,x3\n1,2,3,4\n");
  }
  /// Loads `bytes` under a name and expects a DataError that names the file and every one of `parts`.
  void expect(const std::string& name, std::string_view bytes, std::initializer_list<std::string> parts) {
    options_.train = folder_.write(name, bytes);
    expect_message({options_.train}, parts);
  }
  void expect_pair(std::string_view records, std::string_view labels, std::initializer_list<std::string> parts) {
    options_.train = folder_.write("x", records) + "," + folder_.write("y", labels);
    expect_message({}, parts);
  }
  void expect_message(std::initializer_list<std::string> file, std::initializer_list<std::string> parts) {
    const std::string message = message_of([&] { load_one(options_, kind_, 10); });
    for (const auto& part : file) EXPECT_MENTIONS(message, part);
    for (const auto& part : parts) EXPECT_MENTIONS(message, part);
  }
  const Folder folder_;
  DataOptions options_;
  LabelKind kind_ = LabelKind::real;
};

TEST_F(BadFile, NotFoundListsAllPlaces) {
  options_.train = "no/such.csv";
  options_.root = folder_.path();
  options_.config_folder = "/config/folder";
  const char* const before = std::getenv("DPMPI_DATA");
  const std::string kept = before == nullptr ? "" : before;
  setenv("DPMPI_DATA", "/data/folder", 1);
  expect_message({}, {folder_.file("no/such.csv"), "/data/folder/no/such.csv", "/config/folder/no/such.csv"});
  kept.empty() ? unsetenv("DPMPI_DATA") : setenv("DPMPI_DATA", kept.c_str(), 1);
}

TEST_F(BadFile, AbsolutePathNotFound) {
  options_.train = "/no/such/file.csv";
  expect_message({}, {"/no/such/file.csv: cannot be opened: No such file"});
}

TEST_F(BadFile, Empty) { expect("a.csv", "", {"is empty"}); }
TEST_F(BadFile, OnlyBlankLines) {
  expect("a.csv", "\n \n", {"holds no records"});
  options_.features = 2;
  expect("a.svm", "\n# comment\n", {"holds no records"});
}
// However many records are declared: a table without any is not trained on, and LIBSVM text neither.
TEST_F(BadFile, NoRecordsWhereSomeAreDeclared) {
  options_.records = 10;
  options_.features = 2;
  for (const char* name : {"a.csv", "a.svm"})
    for (const std::string text : {"\n \n", "\xef\xbb\xbf\n\n", "\xef\xbb\xbf"}) {
      expect(name, text, {"holds no records"});
      const std::string zipped = folder_.write_gzip("zipped", text);
      expect(name + std::string(".gz"), read_file(zipped), {"holds no records"});
    }
  expect("a.svm", "# comment\n\n#", {"holds no records"});
  options_.train = folder_.write("a.svm", "\xef\xbb\xbf# comment\n1 1:2");
  EXPECT_NO_THROW(load_one(options_, kind_, 10));
}
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

// Before anything else is said of it: neither of its columns nor of how many records there are.
TEST_F(BadFile, NoText) {
  options_.features = 3;
  const std::string wide(
      "\xff\xfex\0,\0y\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      18);
  const std::string archive = std::string("PK\x03\x04\x14\x08,", 7) + std::string(200, '\x90') + "\n\"\n1:2\n";
  for (const bool shown : {true, false}) {
    options_.show_values = shown;
    for (const char* name : {"a.csv", "a.tsv", "a.svm", "a"}) {
      expect(name, wide, {"is no text", "zero bytes", "UTF-16"});
      expect(name, archive, {"is no text", "control characters"});
    }
  }
  options_.header = "yes";
  options_.features = 0;
  options_.drop = {"note"};
  std::string text = "x,note,y\n1,\x02,2\n";  // one damaged byte makes no archive of a text
  for (int i = 0; i < 30; ++i) text += "1,fine,2\n";
  options_.train = folder_.write("a.csv", text);
  EXPECT_NO_THROW(load_one(options_, kind_, 10));
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
                ":8: a quoted field is not closed on its line (line ends inside quotes are not supported)");
}

TEST_F(BadFile, OfVeryManyWrongColumnsNotAllAreTold) {
  std::string names = "y", row = "1";
  for (int c = 0; c < 100; ++c) names += fmt::format(",c{}", c), row += ",word";
  options_.header = "yes";
  options_.train = folder_.write("a.csv", names + "\n" + row + "\n");
  const std::string what = message_of([&] { load_one(options_, kind_); });
  EXPECT_EQ(std::ranges::count(what, '\n'), 30);
  EXPECT_MENTIONS(what, "column 'c29'");
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

TEST_F(BadFile, Directory) {
  options_.train = folder_.path();
  expect_message({folder_.path()}, {"is a directory"});
}

TEST_F(BadFile, NoPermission) {
  options_.train = folder_.write("a.csv", "x,y\n1,2\n");
  chmod(options_.train.c_str(), 0);
  const uid_t user = geteuid(), nobody = 65534;
  if (user == 0) {
    ASSERT_EQ(seteuid(nobody), 0);  // root may read everything
  }
  expect_message({options_.train}, {"cannot be opened: Permission denied"});
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
}

TEST_F(BadFile, UnknownFormat) { expect("a", "hello world\n", {"'hello world", "set data.format"}); }

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
      const std::string message = message_of([&] { load_one(options_, kind_, 10); });
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
    const std::string message = message_of([&] { load_one(options_, kind, 10); });
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

TEST_F(BadFile, MoreRecordsThanDeclared) {
  options_.records = 2;
  expect("a.csv", "x,y\n1,2\n3,4\n5,6\n", {"holds more records than the 2 that are declared"});
}

TEST_F(BadFile, AnotherNumberOfFeatures) {
  options_.features = 2;
  expect("a.csv", "x,y\n1,2\n", {"has 1 features where data.features = 2"});
}

TEST_F(BadFile, TruncatedGzip) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}\n", i * 7919 % 1000, i);
  const std::string bytes = read_file(folder_.write_gzip("good.gz", text));
  expect("a.csv.gz", bytes.substr(0, bytes.size() / 2), {"gzip data are truncated"});
  expect("a.csv.gz", bytes.substr(0, bytes.size() - 4), {"gzip data are truncated"});
}

TEST_F(BadFile, CorruptGzip) {
  std::string text = "x,y\n";
  for (int i = 0; i < 20000; ++i) text += fmt::format("{},{}\n", i * 7919 % 1000, i);
  std::string bytes = read_file(folder_.write_gzip("good.gz", text));
  std::string checksum = bytes;
  checksum[checksum.size() - 8] = static_cast<char>(checksum[checksum.size() - 8] ^ 1);
  expect("a.csv.gz", checksum, {"gzip data are corrupt"});
  for (std::size_t i = bytes.size() / 2; i < bytes.size() / 2 + 40; ++i) bytes[i] = '\x55';
  expect("a.csv.gz", bytes, {"gzip data are corrupt"});
  // How long the text is, of a private file, is nobody's business.
  expect("a.csv.gz", checksum, {fmt::format("corrupt near uncompressed byte {} (", text.size())});
  options_.show_values = false;
  options_.header = "yes";
  expect("a.csv.gz", checksum, {"corrupt near uncompressed byte (private, not shown; see data.show_values) ("});
}

TEST_F(BadFile, BytesAfterTheLastGzipMember) {
  const std::string one = read_file(folder_.write_gzip("1.gz", "x,y\n1,2\n"));
  const std::string two = read_file(folder_.write_gzip("2.gz", "3,4\n"));
  options_.train = folder_.write("a.csv.gz", one + two);
  EXPECT_EQ(load_one(options_).label, (std::vector<float>{2, 4}));
  for (const std::string junk : {"junk\n", "j", "\x1f"})
    expect("a.csv.gz", one + two + junk,
           {fmt::format("byte {} follows the end of the gzip", one.size() + two.size())});
  expect("a.csv.gz", one + std::string(512, '\0'), {fmt::format("byte {} follows", one.size())});
  expect("a.csv.gz", one + two.substr(0, 9), {"gzip data are truncated"});
  const std::string labels = folder_.write("y", idx_file(8, {2}, "\1\1"));
  folder_.write_gzip("x.gz", idx_file(8, {2, 2}, "abcd"));
  options_.train = folder_.write("x.gz", read_file(folder_.file("x.gz")) + "junk") + "," + labels;
  expect_message({}, {"x.gz: byte", "follows the end of the gzip data"});
}

TEST_F(BadFile, PipesAndDevicesDoNotHang) {
  options_.train = folder_.file("pipe.csv");
  ASSERT_EQ(mkfifo(options_.train.c_str(), 0600), 0);
  expect_message({options_.train}, {"is not a regular file"});
  options_.train = "/dev/zero";
  expect_message({}, {"/dev/zero: is not a regular file"});
}

TEST_F(BadFile, IdxHeaders) {
  const std::string labels = idx_file(8, {1}, "\1");
  options_.format = "idx";
  expect_pair("\1\2\3\4", labels, {"x: is not an IDX file: it starts with '\\x01\\x02', not with two zero bytes"});
  expect_pair(std::string("\0\0", 2), labels, {"x: is cut off inside the IDX header (2 bytes)"});
  expect_pair(idx_file(8, {1, 4}, "").substr(0, 9), labels, {"x: is cut off inside the IDX header (9 bytes)"});
  expect_pair(idx_file(7, {1, 1}, "a"), labels, {"x: IDX element type 0x07 at byte 2"});
  expect_pair(idx_file(8, {}, "a"), labels, {"x: IDX dimension count 0"});
  expect_pair(idx_file(8, {0, 3}, ""), labels, {"x: holds no records"});
  expect_pair(idx_file(8, {~0U, ~0U, ~0U}, "a"), labels, {"x: dimension 4294967295 makes the array larger"});
}

TEST_F(BadFile, IdxSizes) {
  const std::string labels = idx_file(8, {2}, "\1\1");
  expect_pair(idx_file(8, {2, 2}, "abc"), labels, {"x: has 15 bytes where its header announces 16: truncated"});
  expect_pair(idx_file(8, {2, 2}, "abcde"), labels, {"x: has 17 bytes where its header announces 16: trailing"});
  expect_pair(idx_file(8, {3, 1}, "abc"), labels, {"y: holds 2 labels for the 3 records of "});
  expect_pair(idx_file(8, {2, 1}, "ab"), idx_file(8, {2, 2}, "abcd"),
              {"y: holds rows of 2 numbers where one label"});
  options_.train = folder_.write("alone", idx_file(8, {2, 2}, "abcd"));
  expect_message({options_.train}, {"write the pair as images,labels"});
}

TEST_F(BadFile, GzippedIdxSizes) {
  const std::string labels = folder_.write("y", idx_file(8, {2}, "\1\1"));
  options_.train = folder_.write_gzip("x.gz", idx_file(8, {2, 2}, "abc")) + "," + labels;
  expect_message({}, {"x.gz: truncated: it ends at byte 15 where byte 16 is expected"});
  options_.train = folder_.write_gzip("x.gz", idx_file(8, {2, 2}, "abcde")) + "," + labels;
  expect_message({}, {"x.gz: trailing bytes after byte 16"});
}

TEST_F(BadFile, IdxLabelValue) {
  kind_ = LabelKind::class_;
  expect_pair(idx_file(8, {2, 1}, "ab"), idx_file(8, {2}, "\1\x63"),
              {"y: record 2 (byte 9): label '99' is not allowed"});
}

TEST_F(BadFile, NpyHeaders) {
  const std::string labels = npy_file("|u1", "(1,)", "\1"), one = std::string(4, '\0');
  options_.format = "npy";
  expect_pair("PK\3\4", labels, {"x: is not a .npy file: it starts with 'PK\\x03\\x04'"});
  expect_pair(npy_file("<f4", "(1, 1)", one).substr(0, 30), labels, {"x: is cut off inside the .npy header"});
  expect_pair(npy_file("<c8", "(1, 1)", one), labels, {"x: .npy element type ''<c8''"});
  expect_pair(npy_file("<f4", "(1, 1)", one, "True"), labels, {"x: is in Fortran order"});
  expect_pair(npy_file("<f4", "(1, x)", one), labels, {"x: .npy header has a malformed shape at 'x'"});
  expect_pair(npy_file("<f4", "()", one), labels, {"x: .npy array is a scalar"});
  expect_pair(npy_file("<f4", "(0, 1)", one), labels, {"x: holds no records"});
  expect_pair(npy_file("<f4", "(1, 2)", one), labels,
              {"x: has 132 bytes where its header announces 136: truncated"});
}

TEST_F(BadFile, NpyValues) {
  const float bad[] = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::string bytes(reinterpret_cast<const char*>(bad), sizeof bad);
  expect_pair(npy_file("<f4", "(2, 1)", bytes), npy_file("|u1", "(2,)", "\1\1"),
              {"x: record 2 (byte 132): value 'nan'"});
  expect_pair(npy_file("|u1", "(2, 1)", "\1\1"), npy_file("<f4", "(2,)", bytes),
              {"y: record 2 (byte 132): label 'nan' is not finite"});
}

TEST_F(BadFile, NativeFiles) {
  const ConvertOptions c{folder_.write("a.csv", "x,y\n1,2\n3,4\n"), folder_.file("good.bin")};
  convert(c, options_);
  const std::string good = read_file(c.output);
  ASSERT_EQ(good.size(), 64U + 8 + 8);
  expect("a.bin", good.substr(0, 40), {"is cut off inside the header (40 bytes)"});
  expect("a.bin", good.substr(0, 79), {"has 79 bytes where its header announces 80: truncated"});
  expect("a.bin", good + "x", {"has 81 bytes where its header announces 80: trailing"});
  std::string version = good, damaged = good;
  version[8] = 9;
  damaged[20] = 1;
  expect("a.bin", version, {"format version 9 is not supported: 1 is"});
  expect("a.bin", damaged, {"header is damaged"});
  options_.train = folder_.write_gzip("a.bin.gz", good);
  expect_message({options_.train}, {"cannot be gzipped"});
  options_.format = "native";
  expect("b.bin", "hello world, this is not a native file",
         {"is not a dpmpi record file: it starts with 'hello wo'"});
}

TEST_F(BadFile, NativeSparseOffsetsAndColumns) {
  options_.features = 4;
  const ConvertOptions c{folder_.write("a.svm", "1 1:1 3:1\n2 2:1\n"), folder_.file("good.bin")};
  convert(c, options_);
  const std::string good = read_file(c.output);  // 64 header, 8 labels, 24 row_begin, 12 columns, 12 values
  ASSERT_EQ(good.size(), 64U + 8 + 24 + 12 + 12);
  std::string offsets = good, columns = good;
  offsets[72 + 8] = 9;
  columns[96] = 4;
  expect("a.bin", offsets, {"record 1: row offsets 0, 9 are not ascending in 0..3"});
  expect("a.bin", columns, {"record 1: column 4 is not ascending in 0..3"});
  columns[96] = 2;
  expect("a.bin", columns, {"record 1: column 2 is not ascending"});
}

TEST_F(BadFile, SecondFileWhereNoneIsUsed) {
  const std::string labels = folder_.write("b.csv", "1\n");
  options_.train = folder_.write("a.csv", "x,y\n1,2\n") + "," + labels;
  expect_message({labels}, {"holds its labels itself", "data.shards"});
}

TEST(Memory, IsCheckedWithNumbers) {
  EXPECT_NO_THROW(check_memory(100, 100, "x"));
  const auto message = message_of([] { check_memory(3 << 20, 1 << 20, "a.csv"); });
  EXPECT_MENTIONS(message, "a.csv needs 3145728 bytes (0.00 GiB)");
  EXPECT_MENTIONS(message, "only 1048576 bytes");
  const auto of_private_length = message_of([] { check_memory(3 << 20, 1 << 20, "a.csv", false); });
  EXPECT_EQ(of_private_length.find("3145728"), message.npos) << of_private_length;
  EXPECT_MENTIONS(of_private_length,
                  "a.csv needs (private, not shown; see data.show_values) of memory, but only 1048576");
  EXPECT_GT(available_memory(), 1U << 20);
}

TEST(Memory, ImpossibleTablesAreRefusedBeforeAllocation) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("a.csv", "x,y\n1,2\n");
  o.header = "yes";
  o.records = 1'000'000'000'000;
  EXPECT_MENTIONS(message_of([&] { load_one(o); }), "1000000000000 records of 1 features on this rank needs");
}

TEST(Memory, HugeDimensionsAreRefusedBeforeAllocation) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("a.svm", "1 1:1\n");
  o.features = 4294967295;
  o.mean = {"0"};
  if (available_memory() < (std::uint64_t{1} << 37))
    EXPECT_MENTIONS(message_of([&] { load_one(o); }), "a.svm: data.features = 4294967295");
  const std::uint64_t wide = std::uint64_t{1} << 32;
  EXPECT_EQ(RecordsBuilder::bytes(Storage::dense_f32, wide, wide), std::uint64_t{1} << 62) << "and does not wrap";
  EXPECT_EQ(RecordsBuilder::bytes(Storage::dense_f32, 16, 10), 10U * 72);
}

}  // namespace
}  // namespace dpmpi::test::bad_files_test
