// IDX, NumPy and native files: what is read, bit by bit.
#include <cmath>
#include <string>
#include <vector>

#include "support/binary_files.hpp"

#include <gtest/gtest.h>
#include "data/load/convert.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::binary_test {
namespace {

DataOptions pair(const std::string& records, const std::string& labels) {
  DataOptions o;
  o.train = records + "," + labels;
  return o;
}

std::string image_bytes() { return {'\0', '\1', '\2', '\x7f', '\x80', '\xff', '\3', '\4'}; }

TEST(Idx, BytesStayBytesAndScaleGoesToTheRow) {
  const Folder folder;
  DataOptions o = pair(folder.write("x", idx_file(8, {2, 2, 2}, image_bytes())),
                       folder.write("y", idx_file(8, {2}, {'\7', '\0'})));
  o.scale = 1.0 / 255;
  const Records r = load_one(o, LabelKind::class_, 10);
  EXPECT_EQ(r.storage, Storage::dense_u8);
  EXPECT_EQ(r.features, 4U);
  EXPECT_EQ(r.stride, 64U);
  EXPECT_EQ(r.label, (std::vector<float>{7, 0}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(r.row_u8(1)), 4), image_bytes().substr(4));
  EXPECT_EQ(r.row_scale[0], static_cast<float>(1.0 / 255));
  const double scale = static_cast<double>(r.row_scale[1]);
  const double norm = std::sqrt(scale * scale * (128 * 128 + 255 * 255 + 9 + 16) + 1);
  EXPECT_GE(static_cast<double>(r.norm[1]), norm);
  EXPECT_LE(static_cast<double>(r.norm[1]), norm * 1.0000002);
}

TEST(Idx, UnitNormIsARowScale) {
  const Folder folder;
  DataOptions o = pair(folder.write("x", idx_file(8, {2, 2}, {'\3', '\4', '\0', '\0'})),
                       folder.write("y", idx_file(8, {2}, {'\1', '\0'})));
  o.normalize = "l2";
  o.bias = 0;
  const Records r = load_one(o);
  EXPECT_EQ(r.row_scale, (std::vector<float>{0.2F, 0}));
  EXPECT_FLOAT_EQ(r.norm[0], 1);
  EXPECT_EQ(r.norm[1], 0);
}

TEST(Idx, PublicMeansNeedFloats) {
  const Folder folder;
  DataOptions o =
      pair(folder.write("x", idx_file(8, {1, 2}, {'\3', '\4'})), folder.write("y", idx_file(8, {1}, {'\1'})));
  o.mean = {"1"};
  o.deviation = {"1:2", "2:4"};
  const Records r = load_one(o);
  EXPECT_EQ(r.storage, Storage::dense_f32);
  EXPECT_EQ(r.row_f32(0)[0], 1);
  EXPECT_EQ(r.row_f32(0)[1], 0.75F);
}

TEST(Idx, WiderTypesAreBigEndian) {
  const Folder folder;
  const DataOptions o = pair(folder.write("x", idx_file(0x0d, {1, 1}, {'\x3f', '\xc0', '\0', '\0'})),
                             folder.write("y", idx_file(0x0c, {1}, {'\xff', '\xff', '\xff', '\xfe'})));
  const Records r = load_one(o);
  EXPECT_EQ(r.row_f32(0)[0], 1.5F);
  EXPECT_EQ(r.label[0], -2);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(Npy, AllElementTypes) {
  const Folder folder;
  const std::string labels = folder.write("y.npy", npy_file("<i8", "(2,)", raw<std::int64_t>({1, 0})));
  const auto first = [&](const std::string& type, const std::string& bytes) {
    const Records r = load_one(pair(folder.write("x.npy", npy_file(type, "(2, 1)", bytes)), labels));
    return r.storage == Storage::dense_u8 ? static_cast<float>(r.row_u8(0)[0]) : r.row_f32(0)[0];
  };
  EXPECT_EQ(first("<f4", raw<float>({2.5F, 0})), 2.5F);
  EXPECT_EQ(first("<f8", raw<double>({0.1, 0})), 0.1F);
  EXPECT_EQ(first("|u1", raw<std::uint8_t>({200, 0})), 200);
  EXPECT_EQ(first("|i1", raw<std::int8_t>({-3, 0})), -3);
  EXPECT_EQ(first("<i2", raw<std::int16_t>({-300, 0})), -300);
  EXPECT_EQ(first("<i4", raw<std::int32_t>({-70000, 0})), -70000);
  EXPECT_EQ(first("<i8", raw<std::int64_t>({1 << 20, 0})), 1 << 20);
  EXPECT_EQ(first(">i2", raw<std::int16_t>({0x0100, 0})), 1);
}

TEST(Npy, TrailingDimensionsAreFeatures) {
  const Folder folder;
  const Records r = load_one(pair(folder.write("x.npy", npy_file("<f4", "(1, 2, 2)", raw<float>({1, 2, 3, 4}))),
                                  folder.write("y.npy", npy_file("<f4", "(1, 1)", raw<float>({5})))));
  EXPECT_EQ(r.features, 4U);
  EXPECT_EQ(r.row_f32(0)[3], 4);
  EXPECT_EQ(r.label[0], 5);
}

/// Loading the converted file gives what the source gives.
void expect_round_trip(const Folder& folder, DataOptions o, Storage storage) {
  ConvertOptions c;
  c.input = o.train;
  c.output = folder.file("native.bin");
  const Records source = load_one(o);
  EXPECT_EQ(convert(c, o), source.count);
  DataOptions converted;
  converted.train = c.output;
  const Records r = load_one(converted);
  EXPECT_EQ(r.storage, storage);
  ASSERT_EQ(r.count, source.count);
  for (std::size_t i = 0; i < r.count; ++i) EXPECT_EQ(record_bytes(r, i), record_bytes(source, i));
}

TEST(Native, RoundTripInEveryStorage) {
  const Folder folder;
  DataOptions text;
  text.header = "yes";
  text.train = folder.write("a.csv", "y,a,b\n1,0.1,2\n-7.5,3,1e-30\n");
  expect_round_trip(folder, text, Storage::dense_f32);
  text.train = folder.write("a.svm", "1 2:0.1 5:7\n2\n3 1:1\n");
  text.features = 5;
  expect_round_trip(folder, text, Storage::sparse_f32);
  expect_round_trip(folder,
                    pair(folder.write("x", idx_file(8, {2, 4}, image_bytes())),
                         folder.write("y", idx_file(8, {2}, {'\7', '\0'}))),
                    Storage::dense_u8);
}

TEST(Native, ConvertTakesLabelNamesButNoRunSettings) {
  const Folder folder;
  DataOptions o;
  o.label = "last";
  o.positive = {"g"};
  const ConvertOptions c{folder.write("a.csv", "1,g\n2,h\n"), folder.file("out.bin")};
  convert(c, o);
  DataOptions converted;
  converted.train = c.output;
  EXPECT_EQ(load_one(converted, LabelKind::sign).label, (std::vector<float>{1, -1}));
  o.scale = 2;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { convert(c, o); }), "in the config that trains");
}

TEST(Native, ConvertNeverReplacesItsInput) {
  const Folder folder;
  const std::string csv = "x,y\n1,2\n", source = folder.write("a.csv", csv), linked = folder.file("hard.csv");
  std::filesystem::create_hard_link(source, linked);
  for (const auto& output : {source, linked, folder.path() + "/./a.csv"})
    EXPECT_MENTIONS(message_of<ConfigError>([&] { convert({source, output}, {}); }), "would replace its input");
  EXPECT_EQ(read_file(source), csv);
  const std::string part = folder.write("b.bin.part", csv);
  EXPECT_MENTIONS(message_of<ConfigError>([&] { convert({part, folder.file("b.bin")}, {}); }), "its input");
  const std::string x = folder.write("x", idx_file(8, {1, 2}, "ab")), y = folder.write("y", idx_file(8, {1}, "\1"));
  for (const auto& output : {x, y})
    EXPECT_MENTIONS(message_of<ConfigError>([&] { convert({x + "," + y, output}, {}); }), "its input " + output);
}

}  // namespace
}  // namespace dpmpi::test::binary_test
