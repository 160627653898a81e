// Files of every format: each rank receives the records that it owns, and of other ranks' blocks neither their
// places nor how full they are.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/records/blocks.hpp"
#include "run/canary_records.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "run/train/received_records.hpp"
#include "support/binary_files.hpp"

namespace dpmpi::test::received_formats_test {
namespace {

using namespace received;

/// A file of the training records in one format.
struct TrainingFile {
  std::string file;
  Settings settings = {};
  std::string content = "";  // of a text
};

std::vector<TrainingFile> formats() {
  std::vector<TrainingFile> all;
  for (const char* gzip : {"", ".gz"}) {
    all.push_back({fmt::format("train.csv{}", gzip), {}, training.table(",")});
    all.push_back({fmt::format("train.tsv{}", gzip), {}, training.table("\t")});
    all.push_back({fmt::format("train.svm{}", gzip),
                   {fmt::format("data.features={}", CanaryRecords::features)},
                   training.libsvm()});
    all.push_back({fmt::format("x.idx{0},y.idx{0}", gzip)});
    all.push_back({fmt::format("images.idx{0},y.idx{0}", gzip)});
    all.push_back({fmt::format("x.npy{0},y.npy{0}", gzip)});
  }
  for (const char* binary : {"dense.bin", "sparse.bin", "bytes.bin", "train.h5"}) all.push_back({binary});
  return all;
}

/// Of other ranks' blocks a worker learned neither how full they are nor where they lie in the text.
void expect_no_places(const Launch& run, const std::string& text, const BlockLayout& layout,
                      const Ownership& ownership) {
  std::vector<std::uint64_t> begin;  // of every line
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) begin.push_back(at);
  const std::uint64_t header = begin.size() - training.count;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string& received = run.received[static_cast<std::size_t>(rank)];
    EXPECT_FALSE(holds(received, training.count)) << "how many slots hold a record, at rank " << rank;
    for (std::uint32_t b = 1; !text.empty() && b < blocks; ++b) {
      const bool beside = ownership.owner(b) == rank || ownership.owner(b - 1) == rank;
      const std::uint64_t row = layout.begin(b);
      if (beside || row >= training.count) continue;
      EXPECT_FALSE(holds(received, begin[header + row])) << "the place of block " << b << ", at rank " << rank;
    }
  }
}

// The header of an array says how many records there are.
void expect_no_header(const Launch& run, const std::string& file) {
  for (std::size_t at = 0; at < file.size(); at = std::min(file.find(',', at), file.size() - 1) + 1) {
    const std::string name = file.substr(at, file.find(',', at) - at);
    const std::string plain = name.substr(0, name.find(".gz"));
    const std::string head = read_file(folder() + "/" + plain).substr(0, 80);
    std::size_t count = head.find(fmt::format("({},", training.count));
    if (count == head.npos) count = plain.ends_with(".idx") ? 4 : 0;
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_EQ(run.received[static_cast<std::size_t>(rank)].find(head.substr(count, 8)), std::string::npos)
          << "the header of " << plain << ", at rank " << rank;
  }
}

// Also shows that the tap sees: of a gzipped file, every rank but the root receives its own records.
TEST_F(ReceivedRecords, AreTheRanksOwnInEveryFormat) {
  const BlockLayout layout{slots, blocks};
  for (const TrainingFile& format : formats()) {
    SCOPED_TRACE(format.file);
    Settings settings{"data.train=" + format.file, fmt::format("data.records={}", slots)};
    for (const Settings& more : {format.settings, options_of("dp-sgd", "logistic")})
      settings.insert(settings.end(), more.begin(), more.end());
    const Launch run = train(settings);
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
    const Ownership ownership = run.ownership();
    const auto own = expect_own_only(run, training, owner_in(layout, ownership));
    for (int rank = 1; rank < ranks; ++rank) {
      const std::uint64_t begin = layout.begin(ownership.begin(rank));
      const std::uint64_t all = std::min(layout.begin(ownership.end(rank)), training.count) - begin;
      EXPECT_EQ(own[static_cast<std::size_t>(rank)], format.file.ends_with(".gz") ? all : 0u) << "rank " << rank;
    }
    expect_no_places(run, format.content, layout, ownership);
    if (format.content.empty()) expect_no_header(run, format.file);
  }
}

/// What a rank received, behind the one thing that is new in every launch: the name of memory that the machine's
/// ranks share.
std::string after_start(const std::string& received) {
  const std::size_t name = received.find("/dpmpi-");
  EXPECT_NE(name, received.npos);
  return received.substr(std::min(received.find("\n<", name), received.size()));
}

/// Writes 1,400 records and so many that are all zeros, which change no gradient, in one format.
constexpr CanaryRecords fewer{0, 1400};
std::string repeated(const std::string& row, std::uint64_t zeros) {
  std::string rows;
  for (std::uint64_t i = 0; i < zeros; ++i) rows += row;
  return rows;
}
void write_grown_arrays(std::uint64_t zeros, bool idx) {
  const auto count = static_cast<std::uint32_t>(fewer.count + zeros);
  const auto width = static_cast<std::uint32_t>(CanaryRecords::features);
  const std::string x = fewer.floats(idx) + std::string(zeros * width * sizeof(float), '\0');
  const std::string y = fewer.labels() + std::string(zeros, '\0');
  write_both("grown-x",
             idx ? idx_file(0x0d, {count, width}, x) : npy_file("<f4", fmt::format("({}, {})", count, width), x));
  write_both("grown-y", idx ? idx_file(8, {count}, y) : npy_file("|u1", fmt::format("({},)", count), y));
}
struct GrownFile {
  std::string file;
  std::function<void(std::uint64_t)> write;
  Settings settings = {};
};
std::vector<GrownFile> grown_files() {
  const auto table = [](std::uint64_t zeros) {
    write_both("grown", fewer.table(",") + repeated("0,0,0,0,0\n", zeros));
  };
  const auto sparse = [](std::uint64_t zeros) { write_both("grown", fewer.libsvm() + repeated("0 1:0\n", zeros)); };
  const std::string features = fmt::format("data.features={}", CanaryRecords::features);
  std::vector<GrownFile> all;
  for (const char* gzip : {"", ".gz"}) {
    all.push_back({fmt::format("grown{}", gzip), table, {"data.format=csv"}});
    all.push_back({fmt::format("grown{}", gzip), sparse, {"data.format=libsvm", features}});
  }
  // The size of a plain file of rows tells how many there are.
  all.push_back(
      {"grown-x.gz,grown-y.gz", [](std::uint64_t zeros) { write_grown_arrays(zeros, true); }, {"data.format=idx"}});
  all.push_back({"grown-x.gz,grown-y.gz",
                 [](std::uint64_t zeros) { write_grown_arrays(zeros, false); },
                 {"data.format=npy"}});
  return all;
}

// Of two files that differ in how many records come at the end, a rank with full blocks before these, or with empty
// blocks behind them, receives the same bytes.
TEST_F(ReceivedRecords, AreNotToldByWhatComesLaterOrBefore) {
  struct Case {
    std::uint64_t slots;
    int rank;  // whose blocks are alike in both files
  };
  for (const Case& c : {Case{1700, 1}, Case{5000, ranks - 1}})
    for (const GrownFile& format : grown_files()) {
      SCOPED_TRACE(fmt::format("{}, {}, {} slots", format.file, format.settings[0], c.slots));
      std::vector<std::string> received;
      for (const std::uint64_t zeros : {std::uint64_t{0}, training.count - fewer.count}) {
        format.write(zeros);
        Settings settings{"data.train=" + format.file, fmt::format("data.records={}", c.slots), "data.bias=0",
                          "privacy.seed=1"};
        for (const Settings& more : {format.settings, options_of("dp-sgd", "logistic")})
          settings.insert(settings.end(), more.begin(), more.end());
        const Launch run = train(settings);
        ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
        const BlockLayout layout{c.slots, blocks};
        const Ownership ownership = run.ownership();
        const bool full = layout.begin(ownership.end(c.rank)) <= fewer.count;
        const bool empty = layout.begin(ownership.begin(c.rank)) >= training.count;
        ASSERT_TRUE(full || empty);
        received.push_back(after_start(run.received[static_cast<std::size_t>(c.rank)]));
        EXPECT_GT(received.back().size(), 1000u);
      }
      EXPECT_TRUE(received[0] == received[1]) << "rank " << c.rank << " received other bytes";
    }
}

}  // namespace
}  // namespace dpmpi::test::received_formats_test
