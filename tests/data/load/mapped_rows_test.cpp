// Rows that stay in their file: the same bits as in memory, the same refusals, and files that change under the run.

#include <chrono>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <gtest/gtest.h>

#include "data/formats/native.hpp"
#include "data/load/convert.hpp"
#include "data/records/disk_read_ahead.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::mapped_rows_test {
namespace {

using namespace dpmpi::test;
namespace fs = std::filesystem;

constexpr int rows = 501;

std::string table_of_numbers() {
  std::string text = "label,a,b,c,d,e\n";
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{},{},0.1,1e-30,{}\n", i % 3, i, -i * 0.37, i % 7);
  return text;
}

class MappedRows : public ::testing::Test {
 protected:
  /// Options of a file that was converted so that its rows can stay in it.
  DataOptions mapped(DataOptions from, const std::string& name = "mapped.bin") const {
    const std::string input = from.train;
    from.memory = "map";
    convert({input, folder_.file(name)}, from);
    DataOptions options;
    options.train = folder_.file(name);
    options.memory = "map";
    return options;
  }
  DataOptions numbers() const {
    DataOptions options;
    options.header = "yes";
    options.train = folder_.write("a.csv", table_of_numbers());
    return options;
  }
  DataOptions images() const {
    std::string bytes(rows * 70, '\0'), labels(rows, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 % 251);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<char>(i % 10);
    DataOptions options;
    options.train =
        folder_.write("x", idx_file(8, {rows, 70}, bytes)) + "," + folder_.write("y", idx_file(8, {rows}, labels));
    return options;
  }
  static std::string digest(const DataOptions& options) {
    return dataset_digest(alone_, load_all(alone_, options));
  }
  static void overwrite(const std::string& path, std::uint64_t byte, const std::string& with) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(byte));
    file << with;
    file.close();
    fs::last_write_time(path,
                        fs::last_write_time(path) + std::chrono::seconds(2));  // the clock of files ticks slowly
  }
  static NativeHeader header_of(const std::string& path) { return parse_native_header(read_file(path), path); }

  Folder folder_;
  static inline const Communicator alone_ = Communicator::alone();
};

TEST_F(MappedRows, AreThoseInMemoryBitByBit) {
  for (const DataOptions& source : {numbers(), images()}) {
    DataOptions options = mapped(source);
    const Shard shard = load_all(alone_, options);
    ASSERT_EQ(shard.files.size(), 1U);
    for (const Block& block : shard.blocks) {
      EXPECT_TRUE(block.records.mapped);
      EXPECT_TRUE(block.records.f32.empty() && block.records.u8.empty());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.records.mapped.get()) % cache_line, 0U);
    }
    const std::string expected = digest(source);
    EXPECT_EQ(dataset_digest(alone_, shard), expected);
    options.memory = "load";
    EXPECT_EQ(digest(options), expected);
  }
}

TEST_F(MappedRows, OfBytesMayBeScaledBesideTheRow) {
  DataOptions options = mapped(images());
  options.scale = 0.25;
  options.normalize = "l2";
  const std::string expected = digest(options);
  options.memory = "load";
  EXPECT_EQ(digest(options), expected);
}

TEST_F(MappedRows, AreWrittenAsMemoryWouldHaveThem) {
  DataOptions source = numbers();
  source.mean = {"1", "2", "3", "4", "5"};
  source.deviation = {"100"};
  source.scale = 2;
  source.normalize = "l2";
  EXPECT_EQ(digest(mapped(source)), digest(source));
  DataOptions bytes = images();
  bytes.scale = 0.5;
  EXPECT_MENTIONS(message_of<ConfigError>([&] { mapped(bytes); }), "rows of bytes are written as they are");
  source.only_labels = {"1"};
  EXPECT_MENTIONS(message_of<ConfigError>([&] { mapped(source); }), "in the config that trains");
}

TEST_F(MappedRows, SlotsBehindTheFileAreEmptyRows) {
  DataOptions options = mapped(numbers());
  options.records = 20000;  // blocks that begin behind the end, and pages without a file
  const std::string expected = digest(options);
  options.memory = "load";
  EXPECT_EQ(digest(options), expected);
}

TEST_F(MappedRows, OfSeveralSites) {
  const DataOptions first = mapped(numbers(), "1.bin");
  DataOptions table = numbers();
  table.train = folder_.write("b.csv", table_of_numbers() + "1,2,3,4,5,6\n");
  DataOptions both = mapped(table, "2.bin");
  both.shards = {first.train, both.train};
  both.train.clear();
  EXPECT_EQ(load_all(alone_, both).files.size(), 2U);
  const std::string expected = digest(both);
  both.memory = "load";
  EXPECT_EQ(digest(both), expected);
}

TEST_F(MappedRows, AreRefusedWhereTheyWouldNotBeThoseOfTheFile) {
  const auto refusal = [](const DataOptions& o) {
    return message_of<ConfigError>([&] { inspect(alone_, DataFiles(o).training); });
  };
  DataOptions table = numbers();
  table.memory = "map";
  EXPECT_MENTIONS(refusal(table), "--set data.memory=map` has made; this is read as csv");
  DataOptions loaded = numbers();
  convert({loaded.train, folder_.file("old.bin")}, loaded);
  DataOptions old;
  old.train = folder_.file("old.bin");
  old.memory = "map";
  EXPECT_MENTIONS(refusal(old), "this is a native file that was made without it");
  DataOptions text;
  text.train = folder_.write("a.svm", "1 1:2 3:4\n");
  text.features = 3;
  convert({text.train, folder_.file("sparse.bin")}, text);
  old.train = folder_.file("sparse.bin");
  EXPECT_MENTIONS(refusal(old), "this is a native file of sparse rows");
  text.memory = "map";
  EXPECT_MENTIONS(message_of<ConfigError>([&] {
                    convert({text.train, folder_.file("m.bin")}, text);
                  }),
                  "add --set data.storage=dense");
  EXPECT_MENTIONS(message_of<ConfigError>([&] {
                    convert({table.train, folder_.file("m.h5")}, table);
                  }),
                  "is for the native format");
  DataOptions scaled = mapped(numbers());
  scaled.normalize = "l2";
  EXPECT_MENTIONS(refusal(scaled), "data.normalize = l2 makes others of them");
  scaled.scale = 2;
  EXPECT_MENTIONS(refusal(scaled), "data.scale = 2 makes others of them");
}

TEST_F(MappedRows, AreRefusedWithWhatMovesOrEmptiesThem) {
  DataOptions options;
  options.train = "a.bin";
  options.memory = "map";
  std::vector<std::string> problems;
  options.validate(problems);
  EXPECT_TRUE(problems.empty());
  options.person = "who";
  options.test_share = 0.1;
  options.only_labels = {"1"};
  options.mean = {"1"};
  options.validate(problems);
  const auto told = [&](const std::string& part) {
    return std::ranges::any_of(problems, [&](const std::string& p) { return p.find(part) != p.npos; });
  };
  EXPECT_TRUE(told("data.person brings the records of a person together: leave one of the two out"));
  EXPECT_TRUE(told("data.test_share moves the held-out records"));
  EXPECT_TRUE(told("data.only_labels empties slots"));
  EXPECT_TRUE(told("data.mean and data.std make other values"));
}

TEST_F(MappedRows, AreCheckedAsThoseInMemory) {
  DataOptions options = mapped(numbers());
  const NativeHeader header = header_of(options.train);
  overwrite(options.train, header.rows() + 7 * header.row_bytes() + 4, {"\0\0\xc0\x7f", 4});
  const std::string message = message_of([&] { load_all(alone_, options); });
  EXPECT_MENTIONS(message, "mapped.bin: record 8");
  options.memory = "load";
  EXPECT_EQ(message_of([&] { load_all(alone_, options); }), message);
  overwrite(options.train, header.labels() + 4 * 3, {"\0\0\x80\x7f", 4});
  options.memory = "map";
  EXPECT_MENTIONS(message_of([&] { load_all(alone_, options); }), "record 4");
}

// Kernels read it along with the row.
TEST_F(MappedRows, HaveZerosBehindThem) {
  const DataOptions options = mapped(numbers());
  const NativeHeader header = header_of(options.train);
  EXPECT_EQ(header.row_bytes(), 64U);
  overwrite(options.train, header.rows() + 2 * header.row_bytes() + 63, "x");
  EXPECT_MENTIONS(message_of([&] { load_all(alone_, options); }), "what stands behind its features is not zero");
}

TEST_F(MappedRows, OfFilesThatCannotBeRead) {
  DataOptions options = mapped(numbers());
  fs::resize_file(options.train, fs::file_size(options.train) - 1);
  EXPECT_MENTIONS(message_of([&] { load_all(alone_, options); }), "truncated");
  options.train = folder_.path();
  EXPECT_MENTIONS(message_of([&] { load_all(alone_, options); }), "is a directory; a file is expected");
  if (geteuid() == 0) return;  // who may read everything
  options = mapped(numbers(), "closed.bin");
  fs::permissions(options.train, fs::perms::none);
  EXPECT_MENTIONS(message_of([&] { load_all(alone_, options); }), "cannot be opened: Permission denied");
}

TEST_F(MappedRows, OfAFileThatChangesAreNotSummed) {
  const DataOptions options = mapped(numbers());
  const Shard shard = load_all(alone_, options);
  shard.check_unchanged();
  const NativeHeader header = header_of(options.train);
  overwrite(options.train, header.rows(), "other");
  EXPECT_MENTIONS(message_of([&] { shard.check_unchanged(); }), "mapped.bin was changed while the run read it");
}

TEST_F(MappedRows, OfAFileThatIsCutShortEndTheProcessWithAMessage) {
  const DataOptions options = mapped(numbers());
  const Shard shard = load_all(alone_, options);
  fs::resize_file(options.train, 64);
  EXPECT_MENTIONS(message_of([&] { shard.check_unchanged(); }), "was changed");
  const Records& last = shard.blocks.back().records;
  EXPECT_EXIT(
      {
        const volatile float* const row = last.row_f32(last.count - 1);
        _exit(*row > 0 ? 1 : 0);
      },
      ::testing::ExitedWithCode(3), "was cut short while the run read it");
}

TEST_F(MappedRows, OutliveTheNameOfTheirFile) {
  const DataOptions options = mapped(numbers());
  const std::string expected = digest(options);
  const Shard shard = load_all(alone_, options);
  folder_.write("mapped.bin", "another file under this name");
  EXPECT_EQ(dataset_digest(alone_, shard), expected);
}

TEST_F(MappedRows, AreReadAheadUntilTheBatchEnds) {
  const Shard shard = load_all(alone_, mapped(numbers()));
  std::vector<std::vector<std::uint32_t>> selected(shard.blocks.size());
  for (std::size_t b = 0; b < selected.size(); ++b)
    for (std::uint32_t i = 0; i < shard.blocks[b].records.count; i += 1 + i % 5) selected[b].push_back(i);
  DiskReadAhead ahead;
  for (int batch = 0; batch < 2000; ++batch) {  // of which some are over before the thread has begun
    ahead.begin(shard, selected);
    for (int i = 0; i < batch % 7; ++i) ahead.read(100);
    ahead.end();
  }
  ahead.end();
  ahead.begin(shard, selected);  // it goes while a batch lasts
}

}  // namespace
}  // namespace dpmpi::mapped_rows_test
