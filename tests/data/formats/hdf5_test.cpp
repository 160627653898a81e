// HDF5 and NetCDF-4 files: which datasets are the features and the labels, and what is read of them, bit by bit.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"

namespace dpmpi::test::hdf5_test {
namespace {

class Hdf5File : public ::testing::Test {
 protected:
  Hdf5File() { options_.train = folder_.file("a.h5"); }
  const std::string& path() const { return options_.train; }
  /// The features of every record, and behind them its label.
  std::vector<std::vector<float>> read() const {
    const Records r = load_one(options_);
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < r.count; ++i) {
      auto& row = rows.emplace_back();
      for (std::size_t j = 0; j < r.features; ++j)
        row.push_back(r.storage == Storage::dense_u8 ? static_cast<float>(r.row_u8(i)[j]) : r.row_f32(i)[j]);
      row.push_back(r.label[i]);
    }
    return rows;
  }
  using Rows = std::vector<std::vector<float>>;

  const Folder folder_;
  DataOptions options_;
};

TEST_F(Hdf5File, AllElementTypes) {
  const auto first = [&](const std::string& type, double number) {
    {
      NewHdf5 file(path());
      file.add("x", type, {2, 1}, {number, 0});
      file.add("labels", "i8", {2}, {1, -2});
    }
    const Rows rows = read();
    EXPECT_EQ(rows[1], (std::vector<float>{0, -2}));
    return rows[0][0];
  };
  EXPECT_EQ(first("f2", 2.5), 2.5F);
  EXPECT_EQ(first("f4", 2.5), 2.5F);
  EXPECT_EQ(first("f8", 0.1), 0.1F);
  EXPECT_EQ(first("u1", 200), 200);
  EXPECT_EQ(first("i1", -3), -3);
  EXPECT_EQ(first("u2", 60000), 60000);
  EXPECT_EQ(first("i2", -300), -300);
  EXPECT_EQ(first("u4", 4e9), 4e9F);
  EXPECT_EQ(first("i4", -70000), -70000);
  EXPECT_EQ(first("u8", 1.8e19), 1.8e19F);
  EXPECT_EQ(first("i8", 1 << 20), 1 << 20);
  EXPECT_EQ(first(">i2", -300), -300);
  EXPECT_EQ(first(">f8", 0.1), 0.1F);
  EXPECT_EQ(first("b1", 1), 1);
  const auto first_word = [&](double number) {
    {
      NewHdf5 file(path());
      file.add("x", "e1", {2}, {number, 1});
      file.add("labels", "e1", {2}, {number, 1});
    }
    return read()[0];
  };
  EXPECT_EQ(first_word(-1), (std::vector<float>{-1, -1}));
}

TEST_F(Hdf5File, BytesStayBytes) {
  {
    NewHdf5 file(path());
    file.add("x", "u1", {2, 2, 2}, {0, 1, 2, 127, 128, 255, 3, 4}, {.chunk = {1, 2, 1}, .packed = true});
    file.add("y", "u1", {2, 1}, {7, 0});
  }
  options_.scale = 1.0 / 255;
  const Records r = load_one(options_);
  EXPECT_EQ(r.storage, Storage::dense_u8);
  EXPECT_EQ(r.features, 4U);
  EXPECT_EQ(std::vector<int>(r.row_u8(1), r.row_u8(1) + 4), (std::vector<int>{128, 255, 3, 4}));
  EXPECT_EQ(r.row_scale[0], static_cast<float>(1.0 / 255));
  EXPECT_EQ(r.label, (std::vector<float>{7, 0}));
}

// Rows of several pieces: in one piece; in chunks of whole rows, of which pieces take parts; in columns of chunks.
TEST_F(Hdf5File, ChunksMakeNoDifference) {
  constexpr std::size_t rows = 5003, width = 101;
  const auto values = numbers(rows * width, [](std::size_t i) { return static_cast<double>(i % 8191) / 16; });
  const auto labels = numbers(rows, [](std::size_t i) { return static_cast<double>(i % 7); });
  std::set<std::string> digests;
  const std::vector<NewHdf5::Storing> all = {{},          {{700, width}},    {{700, width}, true}, {{1, width}},
                                             {{900, 10}}, {{900, 10}, true}, {{6000, 200}}};
  for (NewHdf5::Storing storing : all) {
    if (!storing.chunk.empty())
      storing.chunk = {std::min(rows, storing.chunk[0]), std::min(width, storing.chunk[1])};
    {
      NewHdf5 file(path());
      file.add("x", "f4", {rows, width}, values, storing);
      file.add("y", "f4", {rows}, labels, {.chunk = {1000}, .packed = true});
    }
    const Shard shard = load_all(Communicator::alone(), options_);
    EXPECT_EQ(shard.facts.features, width);
    digests.insert(dataset_digest(Communicator::alone(), shard));
  }
  EXPECT_EQ(digests.size(), 1U);
  EXPECT_EQ(load_one(options_).row_f32(5002)[100], static_cast<float>(values.back()));
}

TEST_F(Hdf5File, DatasetsAreFoundByTheirNames) {
  {
    NewHdf5 file(path());
    file.add("train/x", "f4", {2, 2}, {1, 2, 3, 4});
    file.add("train/y", "f4", {2}, {10, 20});
    file.add("test/x", "f4", {1, 2}, {5, 6});
    file.add("test/y", "f4", {1}, {30});
    file.add_value("version", 3);
  }
  options_.datasets = {"train/x"}, options_.label = "/train/y";
  EXPECT_EQ(read(), (Rows{{1, 2, 10}, {3, 4, 20}}));
  options_.datasets = {"/test/x"}, options_.label = "test/y";
  EXPECT_EQ(read(), (Rows{{5, 6, 30}}));
  options_.datasets = {"x"};
  EXPECT_MENTIONS(message_of<ConfigError>([&] { read(); }), "test/x and train/x have this name");
  options_.datasets.clear();
  EXPECT_MENTIONS(message_of<ConfigError>([&] { read(); }),
                  "more than one has rows. The file has test/x (rows of 2 float32), test/y (float32)");
}

TEST_F(Hdf5File, DatasetsStandSideBySide) {
  {
    NewHdf5 file(path());
    file.add("b", "f4", {2, 2}, {1, 2, 3, 4});
    file.add("a", "i2", {2}, {7, 8});
    file.add("label", "f4", {2}, {10, 20});
  }
  options_.datasets = {"b", "a"};
  EXPECT_EQ(read(), (Rows{{1, 2, 7, 10}, {3, 4, 8, 20}}));
}

TEST_F(Hdf5File, ColumnsHaveNames) {
  {
    NewHdf5 file(path());
    file.add("people/hours", "i4", {3}, {40, 20, 30}, {.chunk = {2}});
    file.add("people/age", "f8", {3}, {50, 60, 70});
    file.add("people/id", "i8", {3}, {1, 2, 3});
    file.add("people/income", "u1", {3}, {0, 1, 0});
    file.add_words("people/note", {"a", "b", "c"});
  }
  options_.label = "income", options_.drop = {"id", "note"};
  EXPECT_EQ(read(), (Rows{{50, 40, 0}, {60, 20, 1}, {70, 30, 0}}));
  EXPECT_EQ(inspect(Communicator::alone(), DataFiles(options_).training).feature_names, "age\nhours\n");
  options_.mean = {"hours:20"}, options_.deviation = {"age:10", "people/hours:5"};
  EXPECT_EQ(read()[0], (std::vector<float>{5, 4, 0}));
  options_.mean = {"weight:20"};
  EXPECT_NE(message_of<ConfigError>([&] { read(); }).find("names 'weight', which is no feature of the file"),
            std::string::npos);
  options_.datasets = {"hours"}, options_.mean.clear(), options_.deviation.clear();
  EXPECT_EQ(read()[2], (std::vector<float>{30, 0}));
}

TEST_F(Hdf5File, TablesHaveMembers) {
  {
    NewHdf5 file(path());
    file.add_table("visits", {{"age", "i2"}, {"y", "u1"}, {"cost", "f8"}, {"days", ">i4"}},
                   {50, 1, 0.25, 3, 60, 0, 1e6, -4});
  }
  EXPECT_EQ(read(), (Rows{{50, 0.25, 3, 1}, {60, 1e6, -4, 0}}));
  options_.datasets = {"days", "visits/age"};
  EXPECT_EQ(read(), (Rows{{3, 50, 1}, {-4, 60, 0}}));
  options_.datasets.clear(), options_.drop = {"cost"}, options_.label = "none";
  EXPECT_EQ(inspect(Communicator::alone(), DataFiles(options_).training).feature_names, "age\ny\ndays\n");
}

// As NetCDF writes them: dimensions and coordinates are datasets, and attributes say how numbers are packed.
TEST_F(Hdf5File, NetCdfVariables) {
  const auto write = [&](double gap) {
    options_.train = folder_.file("a.nc");
    NewHdf5 file(path());
    file.add("patient", "f4", {2}, {0, 1});
    file.set("patient", "CLASS", "DIMENSION_SCALE");
    file.set("patient", "NAME", "This is a netCDF dimension but not a netCDF variable.         2");
    file.add("time", "f8", {4}, {0, 1, 2, 3});
    file.set("time", "CLASS", "DIMENSION_SCALE");
    file.add("temperature", "i2", {2, 4}, {0, 10, 20, 30, 100, 200, gap, 400});
    file.set("temperature", "scale_factor", 0.5);
    file.set("temperature", "add_offset", 36);
    file.set("temperature", "_FillValue", -999);
    file.add("target", "f4", {2}, {1, -1});
  };
  write(300);
  EXPECT_EQ(read(), (Rows{{36, 41, 46, 51, 1}, {86, 136, 186, 236, -1}}));
  options_.datasets = {"patient"};
  EXPECT_EQ(read(), (Rows{{0, 1}, {1, -1}}));
  options_.datasets.clear();
  write(-999);
  EXPECT_MENTIONS(message_of([&] { read(); }), "a.nc: record 2: value ");
}

TEST_F(Hdf5File, WithoutLabels) {
  {
    NewHdf5 file(path());
    file.add("x", "f4", {2, 1}, {1, 2});
  }
  EXPECT_MENTIONS(message_of<ConfigError>([&] { read(); }),
                  "data.label must be set to the name of a dataset: none");
  options_.label = "none";
  const std::string file = std::exchange(options_.train, "");
  const Shard shard = load_all(Communicator::alone(), DataFiles(options_, {}, file).given);
  EXPECT_EQ(shard.blocks[0].records.row_f32(0)[0], 1);
}

TEST_F(Hdf5File, TheContentTellsTheFormatAndTheSettingComesFirst) {
  options_.train = folder_.file("a.csv");
  {
    NewHdf5 file(path());
    file.add("x", "f4", {1, 1}, {1});
    file.add("y", "f4", {1}, {2});
  }
  EXPECT_EQ(read(), (Rows{{1, 2}}));
  options_.format = "npy";
  EXPECT_MENTIONS(message_of([&] { read(); }), "npy");
}

/// Converting `options` to HDF5 and reading that gives what the source gives; twice gives the same bytes.
void expect_converted(const Folder& folder, const DataOptions& options, Storage storage) {
  const Records source = load_one(options);
  DataOptions converted;
  converted.train = folder.file("out.h5");
  EXPECT_EQ(convert({options.train, converted.train}, options), source.count);
  const Records r = load_one(converted);
  EXPECT_EQ(r.storage, storage);
  ASSERT_EQ(r.count, source.count);
  for (std::size_t i = 0; i < r.count; ++i) EXPECT_EQ(record_bytes(r, i), record_bytes(source, i));
  const std::string once = read_file(converted.train);
  convert({options.train, converted.train}, options);
  EXPECT_TRUE(read_file(converted.train) == once);
}

TEST_F(Hdf5File, ConvertWritesWhatIsReadBack) {
  DataOptions table;
  table.header = "yes";
  std::string text = "y,a,b\n";
  for (int i = 0; i < 1000; ++i) text += fmt::format("{},{},{}e-30\n", i % 3, i / 7.0, i);
  table.train = folder_.write("a.csv", text);
  expect_converted(folder_, table, Storage::dense_f32);
  DataOptions images;
  images.train =
      folder_.write("x", idx_file(8, {2, 2, 2}, "abcdefgh")) + "," + folder_.write("y", idx_file(8, {2}, "ab"));
  expect_converted(folder_, images, Storage::dense_u8);
  DataOptions sparse;
  sparse.train = folder_.write("a.svm", "1 2:0.1 5:7\n2\n3 1:1\n");
  sparse.features = 5;
  EXPECT_MENTIONS(message_of<ConfigError>([&] {
                    convert({sparse.train, folder_.file("out.h5")}, sparse);
                  }),
                  "set data.densify = true");
  sparse.densify = true;
  expect_converted(folder_, sparse, Storage::dense_f32);
}

}  // namespace
}  // namespace dpmpi::test::hdf5_test
