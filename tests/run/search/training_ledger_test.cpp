// The ledger of models that a search trains on private records: no more than planned, and a number belongs to one
// list of settings for ever.
#include "run/plan/training_ledger.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "run/directory/files.hpp"

namespace dpmpi::training_ledger_test {
namespace {

namespace fs = std::filesystem;

/// A ledger for `runs` trainings of two mechanisms each.
struct TwoEvents {
  static Plan plan(std::uint64_t runs) {
    Plan plan;
    plan.runs = runs, plan.steps = 3;
    for (const double multiplier : {1.0, 2.0})
      plan.queries.push_back(Query::declare({.name = "q",
                                             .dim = 2,
                                             .sampling = FullBatch{},
                                             .bound = {1},
                                             .slack = {},
                                             .noise_multiplier = multiplier,
                                             .steps = 3},
                                            static_cast<std::uint32_t>(plan.queries.size()), Adjacency::add_remove,
                                            100));
    return plan;
  }
};

class TrainingBooks : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove(path_); }
  Ledger fresh() const { return Ledger::create(path_, {Adjacency::add_remove, 100}); }
  Ledger again() const { return Ledger::open(path_); }
  std::string path_ = ::testing::TempDir() + "dpmpi_training_books.jsonl";
  const Plan plan_ = TwoEvents::plan(3);
};

// The filter: a path that takes all that were planned, and not one more.
TEST_F(TrainingBooks, RefuseOneMoreThanPlanned) {
  TrainingLedger books(fresh(), plan_);
  EXPECT_EQ(books.pay({"a", "b"}), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(books.pay({"c"}), (std::vector<std::uint64_t>{2}));
  const std::string before = read_file(path_);
  EXPECT_EQ(uses(books.ledger().events()), uses(plan_.events()));
  EXPECT_THROW(books.pay({"d"}), PrivacyError);
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(books.pay({"b", "a"}), (std::vector<std::uint64_t>{1, 0})) << "what was paid for costs nothing";
  EXPECT_EQ(read_file(path_), before);
}

// A window that goes beyond the plan is refused as a whole.
TEST_F(TrainingBooks, RefuseAWindowBeforeAnyLineOfIt) {
  TrainingLedger books(fresh(), plan_);
  const std::string before = read_file(path_);
  EXPECT_THROW(books.pay({"a", "b", "c", "d"}), PrivacyError);
  EXPECT_EQ(read_file(path_), before);
  EXPECT_EQ(books.pay({"a", "a", "b"}), (std::vector<std::uint64_t>{0, 0, 1})) << "the same model twice";
}

// A write that was interrupted between the lines of a training is completed; what was asked for since the
// checkpoint must be asked for again, in the same order.
TEST_F(TrainingBooks, GoOnWhereTheyWereAndNowhereElse) {
  {
    TrainingLedger books(fresh(), plan_);
    books.pay({"a"});
    books.pay({"b", "c"});
  }
  const std::string whole = read_file(path_);
  std::string cut = whole;
  for (int i = 0; i < 3; ++i) cut.erase(cut.rfind('\n', cut.size() - 2) + 1);  // half of b, all of c
  std::ofstream(path_) << cut;
  {
    TrainingLedger books(again(), plan_, 1);
    EXPECT_EQ(books.pay({"a", "b", "c"}), (std::vector<std::uint64_t>{0, 1, 2}));
  }
  EXPECT_EQ(read_file(path_), whole);
  for (const std::vector<std::string>& others :
       std::vector<std::vector<std::string>>{{"c"}, {"x"}, {"a", "c", "b"}}) {
    TrainingLedger books(again(), plan_, 1);
    EXPECT_THROW(books.pay(others), PrivacyError) << others.front();
  }
  EXPECT_EQ(read_file(path_), whole);
  EXPECT_THROW(TrainingLedger(again(), TwoEvents::plan(2), 1), PrivacyError) << "more than planned";
  EXPECT_THROW(TrainingLedger(again(), plan_, 4), PrivacyError) << "fewer than the checkpoint has seen";
}

TEST_F(TrainingBooks, RefuseLinesThatAreNotTheirs) {
  const auto events = events_of_training(plan_.events(), 3);
  ASSERT_EQ(events.size(), 2u);
  const std::string a = sha256("a"), b = sha256("b");
  const auto extra = [](int number, const std::string& digest) {
    return fmt::format(R"("training":{},"settings":"{}")", number, digest);
  };
  for (const auto& entries : std::vector<std::vector<LedgerEntry>>{
           {{events[0], extra(1, a)}},
           {{events[1], extra(0, a)}},
           {{events[0], ""}},
           {{events[0], extra(0, "a")}},
           {{events[0], extra(0, a)}, {events[1], extra(0, b)}},
           {{events[0], extra(0, a)}, {events[1], extra(0, a)}, {events[0], extra(1, a)}},
           {{{events[0].mechanism, events[0].count + 1}, extra(0, a)}}}) {
    fs::remove(path_);
    Ledger ledger = fresh();
    ledger.append(entries);
    EXPECT_THROW(TrainingLedger(std::move(ledger), plan_), PrivacyError) << entries.back().extra;
  }
}

// Their types and number are not trusted either.
TEST_F(TrainingBooks, RefuseLinesThatSayOtherThings) {
  const std::vector<Event> events = events_of_training(plan_.events(), plan_.runs);
  const std::string header = R"({"ledger":1,"adjacency":"add_remove"})";
  for (const std::string& members :
       {std::string(R"("training":0,"settings":7)"), fmt::format(R"("training":"0","settings":"{}")", sha256("a")),
        fmt::format(R"("training":-1,"settings":"{}")", sha256("a"))})
    EXPECT_THROW(trainings_in({header, to_json(events[0], members)}, events, "f"), PrivacyError) << members;
  EXPECT_THROW(trainings_in({header, header}, events, "f"), PrivacyError);
  EXPECT_THROW(trainings_in({header, to_json(events[0])}, {}, "f"), PrivacyError) << "of none planned";
}

}  // namespace
}  // namespace dpmpi::training_ledger_test
