// The same records on any number of ranks.
#include <algorithm>
#include <string>

#include "support/binary_files.hpp"

#include <fmt/format.h>
#include "data/load/convert.hpp"
#include "data/load/read_columns.hpp"
#include "data/synthetic/generate.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"
#include "support/hospital_files.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::load_mpi_test {
namespace {

const auto all_sizes = {1, 2, 3, 4, 5, 8};

/// On every number of ranks: the digest of all records is that of a load by a single one.
void expect_same_records(const std::function<void(const Folder&)>& write,
                         const std::function<DataOptions(const SharedFolder&)>& options, std::uint32_t blocks = 8) {
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill(write);
    const DataOptions o = options(folder);
    const Communicator alone = Communicator::alone();
    const std::string expected = dataset_digest(alone, load_all(alone, o, LabelKind::real, 0, blocks));
    EXPECT_EQ(dataset_digest(comm, load_all(comm, o, LabelKind::real, 0, blocks)), expected)
        << comm.size() << " ranks";
  });
}

/// 501 rows of very different lengths, with blank lines and Windows line ends in between, without a final line end.
std::string uneven_csv() {
  std::string text = "a,label,b\n";
  for (int i = 0; i < 501; ++i) {
    text += fmt::format("{},{},{}", i, i % 7, i % 50 == 0 ? std::string(3000, '1').insert(1, ".") : "2.5");
    text += i == 500 ? "" : i % 3 == 0 ? "\r\n" : i % 11 == 0 ? "\n\n  \n" : "\n";
  }
  return text;
}

/// 20,000 rows: the ranks tell the root where a few of them are, between which are lines that are no records.
std::string long_csv(const std::string& odd = "") {
  std::string text = "label,x\n";
  for (int i = 0; i < 20000; ++i) {
    text += fmt::format("{},{}\n", i % 2, i == 17777 && !odd.empty() ? odd : std::to_string(i));
    if (i % 13 == 5) text += i % 2 == 0 ? "\n" : "  # 1,2\n";
  }
  return text;
}

DataOptions training_file(const std::string& path) {
  DataOptions o;
  o.train = path;
  return o;
}

DataOptions headed_file(const std::string& path) {
  DataOptions o = training_file(path);
  o.header = "yes";
  return o;
}

TEST(LoadOnRanks, Csv) {
  expect_same_records([](const Folder& f) { f.write("a.csv", uneven_csv()); },
                      [](const SharedFolder& f) { return headed_file(f.file("a.csv")); });
}

/// Some of uneven_csv()'s rows, each file with oddities of its own; and what they are together.
std::string parts_of_csv(const Folder& f) {
  const std::string whole = uneven_csv();
  std::string together = "a,label,b\n";
  std::size_t at = whole.find('\n') + 1;
  for (int p = 0; p < 5; ++p) {
    const int next[] = {50, 120, 121, 300, 501};  // the number of the first row behind the part
    const std::size_t stop = p == 4 ? whole.size() : whole.find(fmt::format("\n{},", next[p])) + 1;
    std::string rows = whole.substr(at, stop - at);
    at = stop;
    together += rows;
    if (p == 1) rows.erase(rows.find_last_not_of("\r\n") + 1);
    f.write("part-" + std::to_string(p) + ".csv",
            (p == 2 ? "\xef\xbb\xbf" : "") + std::string(p == 3 ? "\n \n" : "") + "a,label,b\n" + rows);
  }
  return together;
}

TEST(LoadOnRanks, FilesThatMatchAreOneTable) {
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) { f.write("whole.csv", parts_of_csv(f)); });
    const Communicator alone = Communicator::alone();
    const std::string expected = dataset_digest(alone, load_all(alone, headed_file(folder.file("whole.csv"))));
    DataOptions o = headed_file("part-?.csv");
    o.root = folder.file("");
    EXPECT_EQ(dataset_digest(comm, load_all(comm, o)), expected) << comm.size() << " ranks";
    o.records = 501;
    EXPECT_EQ(dataset_digest(comm, load_all(comm, o)), expected) << comm.size() << " ranks, declared";
    o.records = 500;
    EXPECT_MENTIONS(message_of([&] { load_all(comm, o); }), "part-?.csv holds more records than the 500");
  });
}

// Of each wrong column the first of all, wherever blocks begin.
TEST(LoadOnRanks, FaultsAreToldByTheFileInWhichTheyStand) {
  const auto rows = [](int from, int to, int odd, const std::string& line) {
    std::string text = "a,b,label\n";
    for (int i = from; i < to; ++i) text += i == odd ? line : fmt::format("{},2,1\n", i);
    return text;
  };
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) {
      f.write("t1.csv", rows(0, 3, -1, ""));
      f.write("t2.csv", "\n" + rows(3, 80, 70, "x,2,1\n"));
      f.write("t3.csv", rows(80, 200, 81, "1,y,1\n") + "z,2\n");
      f.write("t4.csv", rows(200, 230, 200, "x,y,q\n"));
    });
    const DataOptions o = headed_file(folder.file("t*.csv"));
    const std::string message = message_of([&] { load_all(comm, o); });
    EXPECT_MENTIONS(message, "t2.csv:70: column 'a': ");
    EXPECT_MENTIONS(message, "t3.csv:3: column 'b': ");
    EXPECT_MENTIONS(message, "t3.csv:122: 2 columns where 3 are expected");
    EXPECT_MENTIONS(message, "t4.csv:2: label (private");
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 3) << message;
  });
}

TEST(LoadOnRanks, TablesWithAColumnsFile) {
  expect_same_records(
      [](const Folder& f) {
        std::string text = "label,when,size,colour\n";
        for (int i = 0; i < 501; ++i)
          text += fmt::format("{},{}-03-{:02},{},\"{}\"\n", i % 3, 1990 + i % 30, 1 + i % 28,
                              i % 10 == 0 ? "NULL" : std::to_string(i), i % 7 == 0 ? "dark, red" : "blue");
        f.write("a.csv", text);
        f.write("c.txt",
                "size number range=0..400 missing=NULL impute=7 indicator\ncolour category words=blue other\n"
                "label label\nwhen date format=%Y-%m-%d from=2000-01-01 unit=years\n");
      },
      [](const SharedFolder& f) {
        DataOptions o = training_file(f.file("a.csv"));
        o.columns = f.file("c.txt");
        std::vector<std::string> problems;
        read_columns(o, problems);
        EXPECT_TRUE(problems.empty());
        return o;
      });
}

TEST(LoadOnRanks, TextsOfMoreRecordsThanTheRootIsToldOf) {
  for (const std::uint32_t blocks : {8u, 11u, 300u})
    for (const bool declared : {false, true})
      expect_same_records([](const Folder& f) { f.write("a.csv", long_csv()); },
                          [&](const SharedFolder& f) {
                            DataOptions o = headed_file(f.file("a.csv"));
                            o.comment = "#";
                            if (declared) o.records = 31000;
                            return o;
                          },
                          blocks);
}

TEST(LoadOnRanks, GzippedCsvGivesTheRecordsOfThePlainOne) {
  for_each_size(all_sizes, [](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) {
      f.write("a.csv", uneven_csv());
      f.write_gzip("a.csv.gz", uneven_csv());
    });
    EXPECT_EQ(dataset_digest(comm, load_all(comm, headed_file(folder.file("a.csv.gz")))),
              dataset_digest(comm, load_all(comm, headed_file(folder.file("a.csv")))));
  });
}

TEST(LoadOnRanks, FewerRecordsThanBlocks) {
  expect_same_records([](const Folder& f) { f.write("a.csv", "x,y\n1,2\n3,4\n5,6\n"); },
                      [](const SharedFolder& f) { return headed_file(f.file("a.csv")); });
}

TEST(LoadOnRanks, DeclaredSlotsThinningAndUnitNorm) {
  expect_same_records([](const Folder& f) { f.write("a.csv", uneven_csv()); },
                      [](const SharedFolder& f) {
                        DataOptions o = headed_file(f.file("a.csv"));
                        o.records = 700;
                        o.keep_one_in = {"3:4", "5:2"};
                        o.normalize = "l2";
                        return o;
                      });
}

TEST(LoadOnRanks, GeneratedLibsvmCsvAndNative) {
  for (const char* name : {"a.svm", "a.csv", "a.bin"})
    expect_same_records(
        [&](const Folder& f) {
          GenerateOptions g;
          g.records = 333;
          g.eval_records = 0;
          g.output = f.file(name);
          generate(g);
        },
        [&](const SharedFolder& f) {
          DataOptions o = headed_file(f.file(name));
          o.features = 40;
          return o;
        });
}

TEST(LoadOnRanks, NativeSparse) {
  expect_same_records(
      [](const Folder& f) {
        std::string text;
        for (int i = 0; i < 100; ++i) text += fmt::format("{} {}:{} 60:1\n", i, 1 + i % 50, i);
        DataOptions o;
        o.features = 60;
        convert({f.write("a.svm", text), f.file("a.bin")}, o);
      },
      [](const SharedFolder& f) { return training_file(f.file("a.bin")); });
}

TEST(LoadOnRanks, IdxPlainAndGzippedAndNpy) {
  std::string images, labels;
  for (int i = 0; i < 97 * 6; ++i) images += static_cast<char>(i * 31 % 251);
  for (int i = 0; i < 97; ++i) labels += static_cast<char>(i % 10);
  const std::string x = idx_file(8, {97, 2, 3}, images), y = idx_file(8, {97}, labels);
  const auto write = [&](const Folder& f) {
    f.write("x", x);
    f.write("y", y);
    f.write_gzip("x.gz", x);
    f.write_gzip("y.gz", y);
    f.write("x.npy", npy_file("|u1", "(97, 6)", images));
    f.write("y.npy", npy_file("|i1", "(97,)", labels));
  };
  std::set<std::string> digests;
  for (const char* pair : {"x,y", "x.gz,y.gz", "x.gz,y", "x,y.gz", "x.npy,y.npy"}) {
    for_each_size(all_sizes, [&](const Communicator& comm) {
      SharedFolder folder(comm);
      folder.fill(write);
      DataOptions o = training_file(pair);
      o.root = folder.file("");
      digests.insert(dataset_digest(comm, load_all(comm, o)));
    });
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST(LoadOnRanks, Hdf5IsReadAsTheNativeFormat) {
  constexpr std::size_t rows = 997, width = 7;
  const auto values = numbers(rows * width, [](std::size_t i) { return static_cast<double>(i % 611) / 8; });
  const auto labels = numbers(rows, [](std::size_t i) { return static_cast<double>(i % 5); });
  const auto write_hdf5_pair = [&](const std::string& path, const char* type, const NewHdf5::Storing& storing) {
    NewHdf5 file(path);
    file.add("x", type, {rows, width}, values, storing);
    file.add("y", "f4", {rows}, labels);
  };
  const auto write = [&](const Folder& f) {
    write_hdf5_pair(f.file("whole.h5"), "f4", {});
    write_hdf5_pair(f.file("chunks.h5"), "f8", {.chunk = {64, 3}, .packed = true});
    NewHdf5 columns(f.file("columns.h5"));
    for (std::size_t j = 0; j < width; ++j)
      columns.add(fmt::format("x{}", j), ">f4", {rows},
                  numbers(rows, [&](std::size_t i) { return values[i * width + j]; }), {.chunk = {100}});
    columns.add("y", "i2", {rows}, labels);
    convert({f.file("whole.h5"), f.file("native.bin")}, {});
  };
  std::set<std::string> digests;
  for (const char* file : {"whole.h5", "chunks.h5", "columns.h5", "native.bin"})
    for_each_size(all_sizes, [&](const Communicator& comm) {
      SharedFolder folder(comm);
      folder.fill(write);
      digests.insert(dataset_digest(comm, load_all(comm, training_file(folder.file(file)))));
    });
  EXPECT_EQ(digests.size(), 1U);
}

TEST(LoadOnRanks, RowsThatStayInTheirFileAreThoseInMemory) {
  for (const std::int64_t declared : {0, 700})
    expect_same_records(
        [](const Folder& f) {
          DataOptions o = headed_file(f.write("a.csv", uneven_csv()));
          o.memory = "map";
          convert({o.train, f.file("mapped.bin")}, o);
        },
        [&](const SharedFolder& f) {
          DataOptions o = training_file(f.file("mapped.bin"));
          o.memory = "map";
          o.records = declared;
          return o;
        });
  std::set<std::string> digests;
  for (const char* memory : {"load", "map"})
    for_each_size(all_sizes, [&](const Communicator& comm) {
      SharedFolder folder(comm);
      folder.fill([](const Folder& f) {
        DataOptions o = headed_file(f.write("a.csv", uneven_csv()));
        o.memory = "map";
        convert({o.train, f.file("mapped.bin")}, o);
      });
      DataOptions o = training_file(folder.file("mapped.bin"));
      o.memory = memory;
      digests.insert(dataset_digest(comm, load_all(comm, o)));
    });
  EXPECT_EQ(digests.size(), 1U);
}

/// Of rows in the order of the blocks, and of who has which of them.
std::string digest_of_blocks(const Communicator& comm, const Shard& shard) {
  std::string bytes;
  const auto add = [&](const auto& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
  };
  for (const Block& block : shard.blocks) {
    const Records& r = block.records;
    std::vector<std::uint32_t> begins;
    for (std::uint32_t u = 0; u <= r.units(); ++u) begins.push_back(r.unit_begin(u));
    add(begins), add(r.f32), add(r.label), add(r.weight);
  }
  std::string all;
  for (const std::string& of_rank : comm.gather(bytes)) all += of_rank;
  all = sha256(all);
  comm.broadcast(all);
  return all;
}

TEST(LoadOnRanks, Hdf5TablesAreReadAsTheCsvOfTheSameTable) {
  std::set<std::string> digests;
  for (const char* file : {"a.csv", "a.h5"})
    for (const bool persons : {false, true})
      for_each_size(all_sizes, [&](const Communicator& comm) {
        SharedFolder folder(comm);
        folder.fill([](const Folder& f) {
          write_hospital_csv(f.file("a.csv"));
          write_hospital_hdf5(f.file("a.h5"));
          const std::string columns = hospital_columns;
          f.write("persons.txt", columns);
          f.write("records.txt", "patient ignore" + columns.substr(columns.find('\n')));
        });
        DataOptions o = training_file(folder.file(file));
        o.columns = folder.file(persons ? "persons.txt" : "records.txt");
        std::vector<std::string> problems;
        read_columns(o, problems);
        EXPECT_TRUE(problems.empty());
        digests.insert(digest_of_blocks(comm, load_all(comm, o, LabelKind::class_, 2)));
        EXPECT_EQ(inspect(comm, DataFiles(o).training).records, persons ? 400U : 3001U);
      });
  EXPECT_EQ(digests.size(), 2U);
}

TEST(LoadOnRanks, RealFiles) {
  if (!real_data()) GTEST_SKIP() << "DPMPI_DATA does not name the folder of real datasets";
  std::set<std::string> digests;
  for_each_size({1, 3, 8}, [&](const Communicator& comm) {
    DataOptions a9a = training_file("libsvm/a9a"), digits = training_file("tabular/digits.csv.gz");
    a9a.features = 123;
    digits.label = "last";
    const DataOptions images = training_file("mnist/t10k-images-idx3-ubyte.gz,mnist/t10k-labels-idx1-ubyte.gz");
    digests.insert(dataset_digest(comm, load_all(comm, a9a, LabelKind::sign)) +
                   dataset_digest(comm, load_all(comm, digits, LabelKind::class_, 10)) +
                   dataset_digest(comm, load_all(comm, images, LabelKind::class_, 10)));
  });
  EXPECT_EQ(digests.size(), 1U);
}

std::string site_csv(int first, int rows) {
  std::string text = "y,x\n";
  for (int i = first; i < first + rows; ++i) text += fmt::format("{},{}\n", i % 5, i);
  return text;
}

TEST(LoadOnRanks, SitesFilesAreOneDataset) {
  for (const bool declared : {false, true})
    expect_same_records(
        [](const Folder& f) {
          f.write("0.csv", site_csv(0, 40));
          f.write_gzip("1.csv.gz", site_csv(40, 11));
          f.write("2.csv", site_csv(51, 30));
        },
        [&](const SharedFolder& f) {
          DataOptions o;
          o.header = "yes";
          o.root = f.file("");
          o.shards = {"0.csv", "1.csv.gz", "2.csv"};
          if (declared) o.shard_records = {50, 11, 30};
          return o;
        },
        9);
}

TEST(LoadOnRanks, ASitesFileIsNeededOnItsOwnRanksOnly) {
  for_each_size({1, 2, 4}, [](const Communicator& comm) {
    const Folder mine;  // another one on every rank
    DataOptions o;
    o.header = "yes";
    o.root = mine.path();
    o.shards = {"0.csv", "1.csv"};
    for (int s = 0; s < 2; ++s)
      if (comm.size() == 1 || s == comm.rank() / (comm.size() / 2))
        mine.write(o.shards[static_cast<std::size_t>(s)], site_csv(20 * s, 20));
    const Shard shard = load_all(comm, o);
    for (const Block& block : shard.blocks)
      for (std::size_t i = 0; i < block.records.count; ++i)
        EXPECT_EQ(block.records.row_f32(i)[0], static_cast<float>(block.first_index + i));
  });
}

}  // namespace
}  // namespace dpmpi::test::load_mpi_test
