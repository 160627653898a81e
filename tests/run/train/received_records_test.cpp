// What each rank receives, with every method, command and kind of end: no record of another rank.
#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/records/blocks.hpp"
#include "method/method.hpp"
#include "run/canary_records.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "run/train/received_records.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test::received_records_test {
namespace {

using namespace received;

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
  const std::set<std::string> bring_nothing{
      "MPI_Abort",     "MPI_Barrier",     "MPI_Comm_dup",        "MPI_Comm_free",    "MPI_Comm_rank",
      "MPI_Comm_size", "MPI_Comm_split",  "MPI_Comm_split_type", "MPI_Error_string", "MPI_Finalize",
      "MPI_Finalized", "MPI_Initialized", "MPI_Init_thread",     "MPI_Send",         "MPI_Comm_set_errhandler",
      "MPI_Isend",     "MPI_Waitall"};  // which waits for sends
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
