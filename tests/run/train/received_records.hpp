#pragma once
// What each rank of a job receives, seen from between the program and MPI (support/mpi_tap.c), and files of records
// that are looked for in it.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <zlib.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/records/blocks.hpp"
#include "run/canary_records.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "support/binary_files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test::received {

inline constexpr int ranks = 3;
inline constexpr std::uint32_t blocks = 7;
inline constexpr std::uint64_t slots = 1700;  // data.records, of which fewer hold one
inline constexpr CanaryRecords training{0, 1531}, unseen{10000, 300}, published{20000, 90};

inline const std::string& folder() {
  static const std::string path = ::testing::TempDir() + "dpmpi_ReceivedRecords";
  return path;
}
inline void write(const std::string& name, const std::string& bytes) {
  std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
}
/// Beside the plain file one with the ending .gz.
inline void write_both(const std::string& name, const std::string& bytes) {
  write(name, bytes);
  const gzFile out = gzopen((folder() + "/" + name + ".gz").c_str(), "wb6");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  gzclose(out);
}

inline void write_tables(const CanaryRecords& records, const std::string& name) {
  write_both(name + ".csv", records.table(","));
  write_both(name + ".tsv", records.table("\t"));
  write_both(name + ".svm", records.libsvm());
}

inline void write_arrays(const CanaryRecords& records) {
  const auto count = static_cast<std::uint32_t>(records.count);
  const auto width = static_cast<std::uint32_t>(CanaryRecords::features);
  write_both("x.idx", idx_file(0x0d, {count, width}, records.floats(true)));
  write_both("images.idx", idx_file(8, {count, 3, 4}, records.images()));
  write_both("y.idx", idx_file(8, {count}, records.labels()));
  write_both("x.npy", npy_file("<f4", fmt::format("({}, {})", count, width), records.floats(false)));
  write_both("y.npy", npy_file("|u1", fmt::format("({},)", count), records.labels()));
}

inline void write_native(const std::string& input, const std::string& output) {
  DataOptions options;
  options.root = folder();
  options.header = "yes";
  if (input.find("svm") != input.npos) options.features = CanaryRecords::features;
  convert({folder() + "/" + input, folder() + "/" + output}, options);
}

/// One launch of the program: what it said, and what each rank received.
struct Launch {
  Outcome outcome;
  std::vector<std::string> received;

  /// Which rank owns a block, as the ranks say at the level debug.
  Ownership ownership() const {
    Ownership owners{std::vector<std::uint32_t>(ranks + 1)};
    std::istringstream lines(outcome.output);
    int told = 0;
    for (std::string line; std::getline(lines, line);) {
      int rank = 0;
      unsigned begin = 0, end = 0;
      if (std::sscanf(line.c_str(), "dpmpi: debug: rank %d: blocks %u to %u of", &rank, &begin, &end) != 3)
        continue;
      owners.first.at(static_cast<std::size_t>(rank) + 1) = end;
      ++told;
    }
    EXPECT_EQ(told, ranks) << outcome.output;
    return owners;
  }
};

inline Launch tapped(const std::string& program, const std::string& arguments) {
  const std::string tap = folder() + "/tap";
  std::filesystem::remove_all(tap);
  std::filesystem::create_directories(tap);
  Launch result;
  result.outcome = run_command(fmt::format("cd {} && mpirun -n {} env LD_PRELOAD={} MPI_TAP_FOLDER={} "
                                           "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 {} {}",
                                           folder(), ranks, DPMPI_MPI_TAP, tap, program, arguments),
                               120);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string file = fmt::format("{}/{}", tap, rank);
    const std::string bytes = std::filesystem::exists(file) ? dpmpi::read_file(file) : "";
    result.received.push_back(bytes + inflated(bytes));
  }
  return result;
}
inline Launch launch(const std::string& program, const std::string& arguments) {
  Launch result = tapped(program, arguments);
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_GT(result.received[static_cast<std::size_t>(rank)].size(), 100u)
        << "rank " << rank << " received something";
  return result;
}
inline Launch launch(const std::string& arguments) { return launch(program(), arguments); }

/// A training run with the level of log that tells who owns what.
inline Launch train(const Settings& settings) {
  std::filesystem::remove_all(folder() + "/run");
  std::string arguments = "--log-level debug --config base.ini";
  for (const std::string& setting : settings) arguments += " --set " + setting;
  return launch(arguments);
}

/// Nobody received a record that another rank owns. Records by rank that were received.
using Owner = std::function<int(std::uint64_t)>;
inline constexpr int nobody = -1;
inline std::vector<std::uint64_t> expect_own_only(const Launch& run, const CanaryRecords& records,
                                                  const Owner& owner) {
  const CanarySearch search(records);
  std::vector<std::uint64_t> own;
  for (int rank = 0; rank < ranks; ++rank) {
    std::uint64_t mine = 0, foreign = 0;
    for (const std::uint64_t record : search.in(run.received[static_cast<std::size_t>(rank)]))
      ++(owner(record - records.first) == rank ? mine : foreign);
    EXPECT_EQ(foreign, 0u) << "records of others that rank " << rank << " received";
    own.push_back(mine);
  }
  return own;
}

inline Owner owner_in(const BlockLayout& layout, const Ownership& ownership) {
  return [=](std::uint64_t index) {
    std::uint32_t block = 0;
    while (layout.begin(block + 1) <= index) ++block;
    return ownership.owner(block);
  };
}

inline bool holds(const std::string& bytes, std::uint64_t number) {
  return bytes.find(raw_bytes(number)) != bytes.npos;
}

class ReceivedRecords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::filesystem::remove_all(folder());
    std::filesystem::create_directories(folder());
    write_tables(training, "train");
    write_tables(unseen, "unseen");
    write_tables(published, "public");
    write_arrays(training);
    write_native("train.csv", "dense.bin");
    write_native("train.csv", "train.h5");
    write_native("train.svm", "sparse.bin");
    write_native("images.idx,y.idx", "bytes.bin");
    write("site0.csv", CanaryRecords{0, 500}.table(","));
    write_both("site1.csv", CanaryRecords{500, 540}.table(","));
    write("site2.csv", CanaryRecords{1040, training.count - 1040}.table(","));
    write("trainer.ini",
          "[data]\ntrain = unseen.csv\nheader = yes\nrecords = 310\n[method]\nbatch = 50\nsteps = 3\n[privacy]\n"
          "noise_multiplier = 1\ndelta = 1e-5\ntrust = cluster\n");
    write("base.ini",
          fmt::format(
              "[run]\ndir = run\n[data]\nblocks = {}\nheader = yes\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-5\n"
              "accountant = rdp\n[report]\nprogress = none\n",
              blocks));
  }
};

}  // namespace dpmpi::test::received
