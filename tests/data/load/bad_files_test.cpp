// Files that cannot be read, hold nothing, are cut or too large: one message with the file and what is allowed.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/bad_file.hpp"
#include "data/memory.hpp"
#include "data/records/builder.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::bad_files_test {
namespace {

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

// Before anything else is said of it: neither of its columns nor of how many records there are.
TEST_F(BadFile, NoText) {
  options_.features = 3;
  const std::string wide(
      "\xff\xfex\0,\0y\0\n\0"
      "1\0,\0"
      "2\0\n\0",
      18);
  const std::string archive = std::string("QK\x03\x04\x14\x08,", 7) + std::string(200, '\x90') + "\n\"\n1:2\n";
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
  EXPECT_EQ(RecordsBuilder::bytes(Storage::dense_f32, 16, 10, 0, {.weight = true}), 10U * 76);
  EXPECT_EQ(RecordsBuilder::bytes(Storage::dense_f32, 16, 10, 0, {.weight = true, .exposure = true}), 10U * 80);
}

}  // namespace
}  // namespace dpmpi::test::bad_files_test
