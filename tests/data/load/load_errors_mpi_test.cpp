// What is wrong with data is told in the same words on any number of ranks.
#include <algorithm>
#include <string>

#include "support/binary_files.hpp"

#include <fmt/format.h>
#include "data/load/throw_on_all_ranks.hpp"
#include "support/data_files.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::load_errors_mpi_test {
namespace {

const auto all_sizes = {1, 2, 3, 4, 5, 8};

std::string numbered_csv(int rows) {
  std::string text = "y,x\n";
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{}\n", i % 5, i);
  return text;
}

/// All ranks throw a DataError with this message (up to the folder's name), on any number of ranks.
void expect_same_error(const std::function<void(const Folder&)>& write,
                       const std::function<void(DataOptions&)>& set, const std::string& message) {
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill(write);
    DataOptions o;
    o.header = "yes";
    o.show_values = true;
    o.root = folder.file("");
    set(o);
    EXPECT_MENTIONS(message_of([&] { load_all(comm, o, LabelKind::sign, 0, 8); }), message);
  });
}

TEST(LoadErrorsOnRanks, ABadValueNamesTheSameLineOnAllRanks) {
  std::string text = "y,x\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{},{}\n{}", i % 2, i == 211 ? "oops" : "1", i % 10 == 0 ? "\n" : "");
  const auto message = "a.csv:235: column 'x': 'oops'";  // header, 211 records, 22 blank lines before it
  expect_same_error([&](const Folder& f) { f.write("a.csv", text); }, [](DataOptions& o) { o.train = "a.csv"; },
                    message);
  expect_same_error([&](const Folder& f) { f.write_gzip("a.csv", text); },
                    [](DataOptions& o) { o.train = "a.csv"; }, message);
}

// What all ranks of the machine want together: the numbers are those of one rank that loads everything.
TEST(LoadErrorsOnRanks, MemoryIsCheckedForAllRanksOfAMachineTogether) {
  for_each_size(all_sizes, [](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) { f.write("a.csv", "x,y\n1,2\n"); });
    DataOptions o;
    o.train = folder.file("a.csv");
    o.header = "yes";
    o.records = 1'000'000'000'000;
    const std::string where =
        comm.size() == 1 ? "this rank" : fmt::format("the {} ranks of this machine", comm.size());
    EXPECT_MENTIONS(message_of([&] { load_all(comm, o, LabelKind::real, 0, 8); }),
                    "1000000000000 records of 1 features on " + where + " needs");
  });
}

TEST(LoadErrorsOnRanks, TheFirstFailingRankIsHeard) {
  std::string text = "y,x\n";
  for (int i = 0; i < 80; ++i)
    text += fmt::format("{},{}\n", i == 70 ? 7 : 1, i == 30 ? "early" : i == 60 ? "late" : "1");
  expect_same_error([&](const Folder& f) { f.write("a.csv", text); }, [](DataOptions& o) { o.train = "a.csv"; },
                    "a.csv:32: column 'x': 'early'");
}

// The message as a whole: of each column the first line in the file, whichever ranks have found others.
TEST(LoadErrorsOnRanks, AllWrongColumnsAreTheSameOnAnyNumberOfRanks) {
  std::string text = "y,u,v,w\n";
  for (int i = 0; i < 200; ++i)
    text += fmt::format("{},{},{},{}\n", i == 190 ? "9" : "1", i % 60 == 59 ? "a" : "1", i % 90 == 31 ? "b" : "2",
                        i > 120 ? "c" : "3");
  const std::string expected =
      "a.csv:33: column 'v': 'b' is not a finite number (data.one_hot takes text columns, data.drop leaves columns "
      "out)\n  {0}a.csv:61: column 'u': 'a' is not a finite number (data.one_hot takes text columns, data.drop leaves "
      "columns out)\n  {0}a.csv:123: column 'w': 'c' is not a finite number (data.one_hot takes text columns, "
      "data.drop leaves columns out)\n  {0}a.csv:192: label '9' is not allowed: -1 or +1 (or 0 or 1) are; "
      "data.positive names other labels that become +1";
  for_each_size(all_sizes, [&](const Communicator& comm) {
    for (const bool zipped : {false, true}) {
      SharedFolder folder(comm);
      folder.fill([&](const Folder& f) { zipped ? f.write_gzip("a.csv", text) : f.write("a.csv", text); });
      DataOptions o;
      o.header = "yes";
      o.show_values = true;
      o.train = folder.file("a.csv");
      EXPECT_EQ(message_of([&] { load_all(comm, o, LabelKind::sign, 0, 8); }),
                folder.file("") + fmt::format(fmt::runtime(expected), folder.file("")));
    }
  });
}

TEST(LoadErrorsOnRanks, AllWrongColumnsOfAllSitesAreTold) {
  const auto site = [](int bad, const char* what) {
    std::string text = "y,u,v\n";
    for (int i = 0; i < 20; ++i) text += i == bad ? fmt::format("1,{0},{0}\n", what) : "1,2,3\n";
    return text;
  };
  for (const char* message : {"a.csv:19: column 'u': 'left'", "a.csv:19: column 'v': 'left'",
                              "b.csv:4: column 'u': 'right'", "b.csv:4: column 'v': 'right'"})
    expect_same_error(
        [&](const Folder& f) {
          f.write("a.csv", site(17, "left"));
          f.write("b.csv", site(2, "right"));
        },
        [](DataOptions& o) {
          o.shards = {"a.csv", "b.csv"};
        },
        message);
}

TEST(LoadErrorsOnRanks, TruncatedGzipAndIdx) {
  std::string text = "y,x\n", bytes(800, '\1');
  for (int i = 0; i < 30000; ++i) text += fmt::format("1,{}\n", i * 7919 % 10007);
  expect_same_error(
      [&](const Folder& f) {
        const std::string whole = read_file(f.write_gzip("good", text));
        f.write("a.csv", whole.substr(0, whole.size() / 2));
      },
      [](DataOptions& o) { o.train = "a.csv"; }, "gzip data are truncated");
  expect_same_error(
      [&](const Folder& f) {
        f.write_gzip("x", idx_file(8, {100, 8}, bytes.substr(0, 500)));
        f.write("y", idx_file(8, {100}, bytes.substr(0, 100)));
      },
      [](DataOptions& o) { o.train = "x,y"; }, "truncated: it ends at byte 512 where byte 812");
  expect_same_error(
      [&](const Folder& f) {
        f.write_gzip("x", idx_file(8, {100, 8}, bytes + "z"));
        f.write("y", idx_file(8, {100}, bytes.substr(0, 100)));
      },
      [](DataOptions& o) { o.train = "x,y"; }, "trailing bytes after byte 812");
}

TEST(LoadErrorsOnRanks, NotFoundTooManyRecordsAndSitesThatDiffer) {
  expect_same_error([](const Folder&) {}, [](DataOptions& o) { o.train = "none.csv"; }, "none.csv was not found");
  expect_same_error([](const Folder& f) { f.write("a.csv", numbered_csv(20)); },
                    [](DataOptions& o) {
                      o.train = "a.csv";
                      o.records = 19;
                    },
                    "holds more records than the 19 that are declared");
  const auto two_sites = [](DataOptions& o) { o.shards = {"a.csv", "b.csv"}; };
  expect_same_error(
      [](const Folder& f) {
        f.write("a.csv", "y,u,v\n1,2,3\n");
        f.write("b.csv", "y,v,u\n1,2,3\n");
      },
      two_sites, "its columns differ from those of another site's file");
  expect_same_error(
      [](const Folder& f) {
        f.write("a.csv", "y,u,v\n1,2,3\n");
        f.write("b.csv", "y,u\n1,2\n");
      },
      two_sites, "b.csv has 1 features, but a.csv has 2");
}

// The message does not say which sizes: of rows of one length they tell how many there are.
TEST(LoadErrorsOnRanks, RanksThatSeeFilesOfDifferentSizeAreRefused) {
  for_each_size({2, 3, 5}, [](const Communicator& comm) {
    const Folder mine;  // another one on every rank
    DataOptions o;
    o.root = mine.path();
    o.train = "a.csv";
    o.header = "yes";
    mine.write("a.csv", numbered_csv(comm.rank() == 1 ? 21 : 20));
    const std::string message = message_of([&] { inspect(comm, DataFiles(o).training); });
    EXPECT_MENTIONS(message,
                    "a.csv is not the same file on all ranks: it has another size on rank 1 than on the root");
    EXPECT_EQ(message.find("bytes"), std::string::npos) << message;
    for (const char* part : {"p-1.csv", "p-2.csv"})
      if (comm.rank() != 1 || part[2] == '1') mine.write(part, numbered_csv(20));
    o.train = "p-*.csv";
    EXPECT_MENTIONS(message_of([&] { inspect(comm, DataFiles(o).training); }),
                    "p-*.csv: other files match on some rank than on the root: put them where all ranks see them");
  });
}

TEST(LoadErrorsOnRanks, AllOrNoneKeepsTheKindOfError) {
  for_each_size(all_sizes, [](const Communicator& comm) {
    const int last = comm.size() - 1;
    const auto fail_on_last = [&](auto error) {
      return [&comm, last, error] {
        throw_on_all_ranks(comm, [&] {
          if (comm.rank() == last) throw error;
        });
      };
    };
    EXPECT_EQ(message_of<ConfigError>(fail_on_last(ConfigError("a"))), "a");
    EXPECT_EQ(message_of<DataError>(fail_on_last(DataError("b"))), "b");
    EXPECT_MENTIONS(message_of<DataError>(fail_on_last(std::bad_alloc())), "out of memory");
    EXPECT_MENTIONS(message_of<DataError>(fail_on_last(std::filesystem::filesystem_error("c", {}))), "c");
    EXPECT_MENTIONS(message_of<BugError>(fail_on_last(std::runtime_error("d"))), "d");
    EXPECT_NO_THROW(throw_on_all_ranks(comm, [] {}));
  });
}

}  // namespace
}  // namespace dpmpi::test::load_errors_mpi_test
