// Every way in which an HDF5 file can be bad: one message that names the file and the dataset, and what is allowed.
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "data/load/bad_file.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"

namespace dpmpi::test::bad_hdf5_test {
namespace {

class BadHdf5 : public BadFile {
 protected:
  /// Settings that do not fit the datasets are errors of the config.
  void expect_message(std::initializer_list<std::string> file, std::initializer_list<std::string> parts) {
    const std::string message = message_of<Error>([&] { load_one(options_, kind_, 10); });
    for (const auto& part : file) EXPECT_MENTIONS(message, part);
    for (const auto& part : parts) EXPECT_MENTIONS(message, part);
  }
  using Fill = std::function<void(NewHdf5&)>;
  std::string write(const Fill& fill) {
    options_.train = folder_.file("a.h5");
    NewHdf5 file(options_.train);
    fill(file);
    return options_.train;
  }
  /// A file with labels and, from `fill`, the rest.
  void expect_of(const Fill& fill, std::initializer_list<std::string> parts) {
    write([&](NewHdf5& file) {
      file.add("y", "f4", {2}, {0, 1});
      fill(file);
    });
    expect_message({options_.train}, parts);
  }
  std::string good_file() {
    return read_file(write([](NewHdf5& file) {
      file.add("y", "f4", {2}, {0, 1});
      file.add("x", "f4", {2, 2}, {1, 2, 3, 4}, {.chunk = {1, 2}, .packed = true});
      file.add_words("names", {"a", "b"});
      file.add_table("people/visits", {{"age", "i2"}, {"cost", "f8"}}, {50, 0.25, 60, 1e6});
      file.set("x", "units", "kg");
    }));
  }
};

TEST_F(BadHdf5, NoHdf5) {
  expect("a.h5", "1,2\n3,4\n", {"is no HDF5 file, or a damaged or truncated one"});
  expect("a.h5", "CDF\1 an old NetCDF file\n\n", {"is a NetCDF-3 file", "nccopy -k nc4"});
  expect("a", "\x89HDF\r\n\x1a\n and no more", {"is no HDF5 file, or a damaged"});
  options_.train = folder_.write_gzip("a.h5.gz", good_file());
  expect_message({options_.train}, {"is gzipped"});
  const std::string good = write([](NewHdf5& file) {
    file.add("y", "f4", {2}, {0, 1});
    file.add("x", "f4", {2}, {0, 1});
  });
  options_.train = good + "," + good;
  expect_message({}, {"the hdf5 format holds its labels itself"});
}

TEST_F(BadHdf5, Names) {
  options_.label = "sex";
  expect_of(
      [](NewHdf5& f) {
        f.add("x", "f4", {2, 1}, {1, 2});
      },
      {"data.label = sex: there is no such dataset", "The file has x (rows of 1 float32), y (float32)"});
  options_.label = "auto";
  expect_of([](NewHdf5& f) { f.add("label", "f4", {2}, {1, 2}); }, {"more than one is called label, target"});
  expect_of([](NewHdf5&) {}, {"data.datasets must say", "none is left"});
  options_.drop = {"z"};
  expect_of([](NewHdf5& f) { f.add("x", "f4", {2}, {1, 2}); }, {"data.drop = z: there is no such dataset"});
  options_.drop.clear();
  expect_of(
      [](NewHdf5& f) {
        f.add("a", "f4", {2}, {1, 2}), f.add_words("note", {"u", "v"});
      },
      {"data.drop", "note holds no numbers"});
  options_.datasets = {"a", "note"};
  expect_of(
      [](NewHdf5& f) {
        f.add("a", "f4", {2}, {1, 2}), f.add_words("note", {"u", "v"});
      },
      {"data.datasets: dataset note holds no numbers"});
  options_.datasets = {"a", "y"};
  expect_of([](NewHdf5& f) { f.add("a", "f4", {2}, {1, 2}); }, {"data.datasets: y holds the labels"});
  options_.datasets = {"v"};
  expect_of([](NewHdf5& f) { f.add_value("v", 3); }, {"dataset v holds a single value"});
  options_.datasets = {"v"};
  expect_of([](NewHdf5& f) { f.add("v", "g16", {2}, {1, 2}); }, {"dataset v holds no numbers"});
}

TEST_F(BadHdf5, Shapes) {
  expect_of([](NewHdf5& f) { f.add("x", "f4", {3, 1}, {1, 2, 3}); }, {"dataset y holds 2 records where x holds 3"});
  expect_of(
      [](NewHdf5& f) {
        f.add("a", "f4", {2}, {1, 2}), f.add("b", "f4", {1}, {1});
      },
      {"dataset b holds 1 records where a holds 2"});
  expect_of([](NewHdf5& f) { f.add("x", "f4", {2, 0}, {}); }, {"holds no records (a dimension is 0)"});
  options_.label = "x";
  expect_of(
      [](NewHdf5& f) {
        f.add("x", "f4", {2, 2}, {1, 2, 3, 4});
      },
      {"dataset x holds rows of 2 numbers where one label"});
}

TEST_F(BadHdf5, Values) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_of([&](NewHdf5& f) { f.add("x", "f4", {2, 1}, {1, nan}); }, {"a.h5: record 2: value 'nan'"});
  kind_ = LabelKind::class_;
  options_.label = "label";
  expect_of(
      [&](NewHdf5& f) {
        f.add("x", "f4", {2, 1}, {1, 2}), f.add("label", "f4", {2}, {0, 99});
      },
      {"a.h5: record 2: label '99' is not allowed"});
}

TEST_F(BadHdf5, OtherFilesAreNotOpened) {
  const std::string source = folder_.file("other.h5"), raw = folder_.write("raw", std::string(16, '\0'));
  {
    NewHdf5 file(source);
    file.add("x", "f8", {2}, {1, 2});
  }
  expect_of([&](NewHdf5& f) { f.link_to("x", source, "x"); }, {"none is left"});
  options_.datasets = {"x"};
  expect_of([&](NewHdf5& f) { f.link_to("x", source, "x"); }, {"there is no such dataset"});
  expect_of([&](NewHdf5& f) { f.add_virtual("x", 2, source, "x"); }, {"numbers that lie in other files"});
  expect_of([&](NewHdf5& f) { f.add("x", "f8", {2}, {}, {.elsewhere = raw, .written = false}); },
            {"numbers that lie in other files"});
}

TEST_F(BadHdf5, WhatIsNotThere) {
  options_.datasets = {"x"};
  expect_of([](NewHdf5& f) { f.add("x", "f4", {2, 1}, {}, {.written = false}); }, {"rows that were never written"});
  expect_of(
      [](NewHdf5& f) {
        f.add("x", "f4", {2, 1}, {}, {.chunk = {1, 1}, .written = false});
      },
      {"rows that were never written"});
  expect_of(
      [](NewHdf5& f) {
        f.add("x", "f4", {2, 1}, {1, 2}, {.chunk = {1, 1}, .plugin = 32001});
      },
      {"numbers behind filter 32001, which is a plugin"});
  expect_of(
      [](NewHdf5& f) {
        f.add("x", "f4", {std::uint64_t{1} << 40, std::uint64_t{1} << 20}, {},
              {.chunk = {1 << 14, 1 << 10}, .written = false});
      },
      {"rows that were never written"});
}

// Beside others that are whole, too: the features would be others than those that are meant.
TEST_F(BadHdf5, WhatIsLostIsLeftOutByNameOnly) {
  const std::string raw = folder_.write("raw", std::string(16, '\0'));
  for (const NewHdf5::Storing& lost :
       {NewHdf5::Storing{.elsewhere = raw, .written = false}, NewHdf5::Storing{.written = false}})
    for (const NewHdf5::Shape& shape : {NewHdf5::Shape{2}, NewHdf5::Shape{2, 1}}) {
      options_.drop.clear();
      expect_of(
          [&](NewHdf5& f) {
            f.add("a", "f8", {2}, {1, 2});
            f.add("b", "f8", shape, {}, lost);
          },
          {"data.drop leaves datasets out: dataset b holds"});
      options_.drop = {"b"};
      EXPECT_EQ(load_one(options_).features, 1U);
    }
}

TEST_F(BadHdf5, ANameThatTwoHaveMeansNeither) {
  options_.mean = {"x:1"};
  write([](NewHdf5& f) {
    f.add("a/x", "f8", {2}, {1, 2});
    f.add("b/x", "f8", {2}, {1, 2});
    f.add("y", "f8", {2}, {1, 2});
  });
  expect_message({}, {"more than one dataset is called 'x': give its groups, too"});
  options_.mean = {"b/x:1"};
  EXPECT_EQ(load_one(options_, kind_, 10).row_f32(0)[1], 0);
}

TEST_F(BadHdf5, CutAnywhere) {
  const std::string good = good_file();
  for (std::size_t size = 0; size < good.size(); size += size < 3000 ? 13 : 501) {
    options_.train = folder_.write("a.h5", good.substr(0, size));
    EXPECT_NE(message_of<Error>([&] { load_one(options_); }), "") << size;
  }
}

// The library's own checks hold, or ours: an error or numbers, and no crash.
TEST_F(BadHdf5, BytesChangedAnywhere) {
  const std::string good = good_file();
  for (std::size_t at = 0; at < good.size(); at += 29)
    for (const char change : {'\x10', '\xff'}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      options_.train = folder_.write("a.h5", bytes);
      try {
        load_one(options_);
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("a.h5"), std::string::npos) << e.what();
      }
    }
}

TEST_F(BadHdf5, AnyBytesBehindTheSignature) {
  std::uint32_t state = 1;
  for (int file = 0; file < 200; ++file) {
    std::string bytes = "\x89HDF\r\n\x1a\n";
    for (int i = 0; i < 4000; ++i) bytes += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    expect("a.h5", bytes, {"is no HDF5 file, or a damaged"});
  }
}

}  // namespace
}  // namespace dpmpi::test::bad_hdf5_test
