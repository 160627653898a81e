// What each rank receives, seen from between the program and MPI (support/mpi_tap.c): no record of another rank,
// and of other ranks' blocks neither their places nor how full they are.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/records/blocks.hpp"
#include "method/method.hpp"
#include "run/canary_records.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test::received_records_test {
namespace {

namespace fs = std::filesystem;

constexpr int ranks = 3;
constexpr std::uint32_t blocks = 7;
constexpr std::uint64_t slots = 1700;  // data.records, of which fewer hold one
const CanaryRecords training{0, 1531}, unseen{10000, 300}, published{20000, 90};

const std::string& folder() {
  static const std::string path = ::testing::TempDir() + "dpmpi_ReceivedRecords";
  return path;
}
void write(const std::string& name, const std::string& bytes) {
  std::ofstream(folder() + "/" + name, std::ios::binary) << bytes;
}
/// Beside the plain file one with the ending .gz.
void write_both(const std::string& name, const std::string& bytes) {
  write(name, bytes);
  const gzFile out = gzopen((folder() + "/" + name + ".gz").c_str(), "wb6");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  gzclose(out);
}

void write_tables(const CanaryRecords& records, const std::string& name) {
  write_both(name + ".csv", records.table(","));
  write_both(name + ".tsv", records.table("\t"));
  write_both(name + ".svm", records.libsvm());
}

void write_arrays(const CanaryRecords& records) {
  const auto count = static_cast<std::uint32_t>(records.count);
  const auto width = static_cast<std::uint32_t>(CanaryRecords::features);
  write_both("x.idx", idx_file(0x0d, {count, width}, records.floats(true)));
  write_both("images.idx", idx_file(8, {count, 3, 4}, records.images()));
  write_both("y.idx", idx_file(8, {count}, records.labels()));
  write_both("x.npy", npy_file("<f4", fmt::format("({}, {})", count, width), records.floats(false)));
  write_both("y.npy", npy_file("|u1", fmt::format("({},)", count), records.labels()));
}

void write_native(const std::string& input, const std::string& output) {
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

Launch tapped(const std::string& program, const std::string& arguments) {
  const std::string tap = folder() + "/tap";
  fs::remove_all(tap);
  fs::create_directories(tap);
  Launch result;
  result.outcome = run_command(fmt::format("cd {} && mpirun -n {} env LD_PRELOAD={} MPI_TAP_FOLDER={} "
                                           "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 {} {}",
                                           folder(), ranks, DPMPI_MPI_TAP, tap, program, arguments),
                               120);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string file = fmt::format("{}/{}", tap, rank);
    const std::string bytes = fs::exists(file) ? read_file(file) : "";
    result.received.push_back(bytes + inflated(bytes));
  }
  return result;
}
Launch launch(const std::string& program, const std::string& arguments) {
  Launch result = tapped(program, arguments);
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_GT(result.received[static_cast<std::size_t>(rank)].size(), 100u)
        << "rank " << rank << " received something";
  return result;
}
Launch launch(const std::string& arguments) { return launch(test::program(), arguments); }

/// A training run with the level of log that tells who owns what.
Launch train(const Settings& settings) {
  fs::remove_all(folder() + "/run");
  std::string arguments = "--log-level debug --config base.ini";
  for (const std::string& setting : settings) arguments += " --set " + setting;
  return launch(arguments);
}

/// Nobody received a record that another rank owns. Records by rank that were received.
using Owner = std::function<int(std::uint64_t)>;
constexpr int nobody = -1;
std::vector<std::uint64_t> expect_own_only(const Launch& run, const CanaryRecords& records, const Owner& owner) {
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

Owner owner_in(const BlockLayout& layout, const Ownership& ownership) {
  return [=](std::uint64_t index) {
    std::uint32_t block = 0;
    while (layout.begin(block + 1) <= index) ++block;
    return ownership.owner(block);
  };
}

bool holds(const std::string& bytes, std::uint64_t number) { return bytes.find(raw_bytes(number)) != bytes.npos; }

class ReceivedRecords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    write_tables(training, "train");
    write_tables(unseen, "unseen");
    write_tables(published, "public");
    write_arrays(training);
    write_native("train.csv", "dense.bin");
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
  for (const char* native : {"dense.bin", "sparse.bin", "bytes.bin"}) all.push_back({native});
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

TEST_F(ReceivedRecords, AreNoneFromOtherSites) {
  for (const char* counts : {"500,540,491", "510,600,590"}) {
    const Launch run = train({"data.shards=site0.csv,site1.csv.gz,site2.csv", "data.blocks=6",
                              fmt::format("data.shard_records={}", counts), "method.batch=150", "method.steps=3"});
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
    expect_own_only(run, training, [](std::uint64_t) { return nobody; });
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_FALSE(holds(run.received[static_cast<std::size_t>(rank)], training.count)) << counts;
  }
}

// The root sends the records of this file out, so all of them are on their way.
TEST_F(ReceivedRecords, AreTheRanksOwnWithEveryMethod) {
  const std::string known = test::run_command(fmt::format("{} list methods", test::program())).output;
  std::size_t launched = 0;
  for (const auto& method : methods()) {
    if (known.find(fmt::format("\n  {} ", method.name)) == known.npos) continue;  // of these tests alone
    ++launched;
    SCOPED_TRACE(method.name);
    const std::string objective = min_max(method.name)         ? "auc"
                                  : searches(method.name)      ? "mlp"
                                  : method.name == "ht-smooth" ? "softmax"
                                                               : "logistic";
    Settings settings{"data.train=train.csv.gz", fmt::format("data.records={}", slots),
                      "method.name=" + method.name, "objective.name=" + objective};
    if (objective == "auc") settings.emplace_back("objective.prior=0.5");
    if (objective == "mlp" || objective == "softmax") settings.emplace_back("objective.classes=2");
    if (objective == "mlp") settings.emplace_back("objective.hidden=3");
    for (const std::string& option : options_of(method.name, objective)) settings.push_back(option);
    const Launch run = train(settings);
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
    expect_own_only(run, training, owner_in({slots, blocks}, run.ownership()));
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_FALSE(holds(run.received[static_cast<std::size_t>(rank)], training.count)) << "rank " << rank;
  }
  EXPECT_EQ(launched, static_cast<std::size_t>(std::ranges::count(known, '\n')) - 1) << known;
}

// Every rank reads the second private set, on which models are trained, by itself.
TEST_F(ReceivedRecords, AreNoneOfTheSetThatSearchesTrainOn) {
  Settings settings{"data.train=train.csv.gz",
                    fmt::format("data.records={}", slots),
                    "method.name=gibo",
                    "objective.name=tune_private",
                    "objective.trainer=trainer.ini",
                    "objective.search=method.rate:0.1:10,objective.l2:1e-4:1",
                    "privacy.trust=cluster"};
  for (const std::string& option : options_of("gibo", "tune_private")) settings.push_back(option);
  const Launch run = train(settings);
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
  expect_own_only(run, training, owner_in({slots, blocks}, run.ownership()));
  expect_own_only(run, unseen, [](std::uint64_t) { return nobody; });
}

TEST_F(ReceivedRecords, AreTheRanksOwnWithEveryCommand) {
  const Settings settings{"data.train=train.csv.gz", fmt::format("data.records={}", slots), "data.eval=public.csv",
                          "method.batch=150", "method.steps=4"};
  Settings stopped = settings;
  stopped.emplace_back("run.max_hours=1e-9");
  Launch command = train(stopped);
  ASSERT_EQ(command.outcome.code, 6) << command.outcome.output;
  command = launch("resume run --log-level debug --set run.max_hours=0");
  ASSERT_EQ(command.outcome.code, 0) << command.outcome.output;
  expect_own_only(command, training, owner_in({slots, blocks}, command.ownership()));

  // Records to score are as private as those of the training.
  const Owner scorer = owner_in({unseen.count, 16}, Ownership::even(16, ranks));
  for (const char* arguments :
       {"evaluate run --data unseen.csv.gz", "evaluate run --data unseen.csv",
        "predict run --data unseen.csv.gz --output p.csv", "predict run --data unseen.tsv --output p.npy"}) {
    SCOPED_TRACE(arguments);
    command = launch(arguments);
    ASSERT_EQ(command.outcome.code, 0) << command.outcome.output;
    const auto own = expect_own_only(command, unseen, scorer);
    expect_own_only(command, training, [](std::uint64_t) { return nobody; });
    EXPECT_EQ(own[1] > 0, std::string(arguments).find(".gz") != std::string::npos);
  }

  std::string common;
  for (const std::string& setting : settings) common += " --set " + setting;
  const std::vector<std::string> without_records{
      "plan --measure --config base.ini" + common,
      "audit --config base.ini --quiet --set audit.runs=48 --set audit.canaries=16" + common};
  for (const std::string& arguments : without_records) {
    SCOPED_TRACE(arguments);
    command = launch(arguments);
    ASSERT_EQ(command.outcome.code, 0) << command.outcome.output;
    expect_own_only(command, training, [](std::uint64_t) { return nobody; });
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_FALSE(holds(command.received[static_cast<std::size_t>(rank)], training.count)) << "rank " << rank;
  }
}

// td reads a record as a transition or as an episode. It measures by sums that every rank sees: of private records
// it does so on one rank alone, and several are refused before any receives anything.
TEST_F(ReceivedRecords, AreTheRanksOwnWithTransitionsAndEpisodes) {
  const auto logged = [](const CanaryRecords& records, bool episodes) {
    std::string text = episodes ? "label,s,t,done,reward,u,v,last,gain\n" : "label,s,t,u,v,done\n";
    for (std::uint64_t i = records.first; i < records.end(); ++i) {
      const auto x = [&](std::uint64_t j) { return CanaryRecords::text(i, j); };
      text += episodes ? fmt::format("2,{},{},0,0.5,{},{},1,0.25\n", x(0), x(1), x(2), x(3))
                       : fmt::format("{},{},{},{},{},0\n", i % 2, x(0), x(1), x(2), x(3));
    }
    return text;
  };
  for (const bool episodes : {false, true}) {
    SCOPED_TRACE(episodes ? "episodes" : "transitions");
    write_both("log.csv", logged(training, episodes));
    write_both("more.csv", logged(unseen, episodes));
    write("known.csv", logged(published, episodes));
    Settings settings{"data.train=log.csv.gz", fmt::format("data.records={}", slots),
                      "data.eval=known.csv",   "objective.name=td",
                      "method.name=dp-sgda",   "data.bias=0"};
    if (episodes)
      for (const char* more : {"objective.unit=episode", "objective.episode_steps=2"}) settings.emplace_back(more);
    for (const std::string& option : options_of("dp-sgda", "td")) settings.push_back(option);
    const Launch run = train(settings);
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
    const auto own = expect_own_only(run, training, owner_in({slots, blocks}, run.ownership()));
    EXPECT_GT(own[1], 100u);
    const Launch scored = launch("predict run --data more.csv.gz --output p.csv");
    ASSERT_EQ(scored.outcome.code, 0) << scored.outcome.output;
    expect_own_only(scored, unseen, owner_in({unseen.count, 16}, Ownership::even(16, ranks)));
    const Launch refused = tapped(test::program(), "evaluate run --data more.csv.gz");
    EXPECT_EQ(refused.outcome.code, 2) << refused.outcome.output;
    EXPECT_NE(refused.outcome.output.find("start it on one rank"), std::string::npos) << refused.outcome.output;
    for (const std::string& received : refused.received) EXPECT_TRUE(received.empty());
  }
}

// What a worker receives while private records are scored does not depend on the records of others; and to the root
// their sums come one by one, not through other ranks, as those of a reduction.
TEST_F(ReceivedRecords, AreNotSummedOnOtherRanks) {
  const Launch run = train(
      {"data.train=train.csv.gz", fmt::format("data.records={}", slots), "method.batch=150", "method.steps=4"});
  ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
  const BlockLayout layout{unseen.count, 16};
  const Ownership ownership = Ownership::even(16, ranks);
  const auto rows = [](std::uint64_t from, std::uint64_t to) {
    const std::string table = CanaryRecords{from, to - from}.table(",");
    return table.substr(table.find('\n') + 1);
  };
  const std::string table = unseen.table(",");
  for (const char* command : {"evaluate run --data scored.csv", "predict run --data scored.csv --output p.csv"}) {
    SCOPED_TRACE(command);
    for (int rank = 1; rank < ranks; ++rank) {
      const std::uint64_t begin = unseen.first + layout.begin(ownership.begin(rank));
      const std::uint64_t end = unseen.first + layout.begin(ownership.end(rank)), shift = 20000;
      const std::string changed = table.substr(0, table.find('\n') + 1) +
                                  rows(unseen.first + shift, begin + shift) + rows(begin, end) +
                                  rows(end + shift, unseen.end() + shift);
      ASSERT_EQ(changed.size(), table.size());
      std::vector<std::string> received;
      for (const std::string& text : {table, changed}) {
        write("scored.csv", text);
        const Launch scored = launch(command);
        ASSERT_EQ(scored.outcome.code, 0) << scored.outcome.output;
        EXPECT_EQ(scored.received[0].find("<MPI_Reduce"), std::string::npos) << "a reduction of private sums";
        received.push_back(scored.received[static_cast<std::size_t>(rank)]);
      }
      EXPECT_TRUE(received[0] == received[1]) << "rank " << rank << " received other bytes";
    }
  }
}

// What ends a job is told to all ranks: the place, not the value.
TEST_F(ReceivedRecords, AreNoneInErrors) {
  const std::string word = "mischief", header = "label,north,east,south,west\n";
  const std::string good = training.table(",").substr(header.size());
  struct Bad {
    const char* name;
    std::string table;
    std::size_t owner;
  };
  for (const Bad& bad : {Bad{"first.csv", header + word + ",0.1,0.2,0.3,0.4\n" + good, 0},
                         Bad{"last.csv", header + good + "1,0.1,0.2," + word + ",0.4\n", ranks - 1}}) {
    write_both(bad.name, bad.table);
    for (const char* gzip : {"", ".gz"}) {
      SCOPED_TRACE(std::string(bad.name) + gzip);
      const Launch run =
          train({fmt::format("data.train={}{}", bad.name, gzip), "method.batch=150", "method.steps=3"});
      EXPECT_EQ(run.outcome.code, 3) << run.outcome.output;
      EXPECT_NE(run.outcome.output.find("private, not shown"), std::string::npos) << run.outcome.output;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const bool own = *gzip != 0 && rank == bad.owner && rank > 0;
        EXPECT_EQ(run.received[rank].find(word) != std::string::npos, own) << "rank " << rank;
      }
    }
  }
}

// A self-check: the functions that bring data to this program are those that are tapped.
TEST_F(ReceivedRecords, AreLookedForInEverythingThatTheProgramReceives) {
  const auto symbols = [](const std::string& how, const std::string& file) {
    std::istringstream words(run_command(fmt::format("nm -D {} {}", how, file)).output);
    std::set<std::string> found;
    for (std::string word; words >> word;)
      if (word.starts_with("MPI_")) found.insert(word.substr(0, word.find('@')));
    return found;
  };
  const std::set<std::string> tapped = symbols("--defined-only", DPMPI_MPI_TAP);
  EXPECT_EQ(tapped.size(), 4u);
  const std::set<std::string> bring_nothing{"MPI_Abort",        "MPI_Barrier",
                                            "MPI_Comm_dup",     "MPI_Comm_free",
                                            "MPI_Comm_rank",    "MPI_Comm_size",
                                            "MPI_Comm_split",   "MPI_Comm_split_type",
                                            "MPI_Error_string", "MPI_Finalize",
                                            "MPI_Finalized",    "MPI_Init_thread",
                                            "MPI_Send",         "MPI_Comm_set_errhandler"};
  const std::set<std::string> used = symbols("--undefined-only", test::program());
  EXPECT_TRUE(used.count("MPI_Recv"));
  for (const std::string& function : used)
    EXPECT_TRUE(tapped.count(function) || bring_nothing.count(function)) << function << " is not tapped";
}

// Another: each form of a record is recognised, in the midst of other bytes and compressed too.
TEST_F(ReceivedRecords, AreRecognisedInEveryForm) {
  const CanarySearch search(training);
  const CanaryRecords one{77, 1};
  std::string doubles;
  for (std::uint64_t j = 0; j < CanaryRecords::features; ++j)
    doubles += raw_bytes(static_cast<double>(CanaryRecords::value(77, j)));
  for (const std::string& form :
       {one.table(","), one.table("\t"), one.libsvm(), one.floats(false), one.floats(true), one.images(), doubles})
    EXPECT_EQ(search.in("x" + form + "y"), std::set<std::uint64_t>{77}) << form;
  write_both("one.csv", one.table(","));
  EXPECT_EQ(search.in(inflated("abc" + read_file(folder() + "/one.csv.gz"))), std::set<std::uint64_t>{77});
  EXPECT_TRUE(search.in(unseen.table(",") + unseen.floats(false) + published.libsvm()).empty());
}

}  // namespace
}  // namespace dpmpi::test::received_records_test
