// Every way in which an array can be bad: one message with file, record and byte, the value, and what is allowed.
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "data/load/bad_file.hpp"
#include "data/load/convert.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::bad_arrays_test {
namespace {

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
  expect_pair("PK\3\5", labels, {"x: is not a .npy file: it starts with 'PK\\x03\\x05'"});
  expect_pair("PK\3\4", labels, {"x: is a zip archive", "numpy.save each array as .npy"});
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
  expect("a.bin", version, {"format version 9 is not supported: 1 and 2 are"});
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

}  // namespace
}  // namespace dpmpi::test::bad_arrays_test
