// zo-hidden where a unit is a person with many records: what it charges, its noise, and what it refuses.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/promise/guarantee.hpp"
#include "problems/last_iterate_trial.hpp"

namespace dpmpi::last_iterate_persons_test {
namespace {

using namespace test::hidden_trial;
using test::Trial;
using test::with;

constexpr std::uint32_t persons = 300;

/// As many persons as a trial has records, with 0, 1, 2, 0, 1, 2, ... records of which nobody takes part.
Shard empty_persons() {
  test::RecordsShape rows = shape;
  rows.count = persons;
  Shard shard = test::one_block(test::random_records(rows, 3));
  Records& records = shard.blocks[0].records;
  std::vector<std::uint32_t> begin{0};
  for (std::uint32_t p = 0; p < persons; ++p) begin.push_back(begin.back() + p % 3);
  for (std::size_t i = 0; i < records.count; ++i) test::remove_record(records, i);
  records.person_begin = begin;
  shard.layout = BlockLayout{persons, 1};
  return shard;
}

Query of_persons(const Trial& t, std::uint64_t slots = 1) {
  QuerySpec spec = t.queries.at(0);
  spec.unit = slots > 1 ? Unit::record : Unit::person;
  spec.slots_of_unit = slots;
  return Query::declare(spec, 0, Adjacency::replace_one, persons);
}

const HiddenState& run_of(const std::vector<Event>& events) {
  return std::get<HiddenState>(events.at(0).mechanism);
}

TEST(LastIteratePersons, AreChargedWithTheRoundingOfTheirMeans) {
  const Trial t = trial(hidden, 50);
  const Query query = of_persons(t);
  EXPECT_EQ(query.sensitivity, t.queries[0].sensitivity) << "one clip bounds a person";
  const HiddenState record = run_of(t.queries[0].events(0, 400)), person = run_of(query.events(0, 400));
  const double of_records = t.queries[0].as<LastIterateRun>()->rounding * 50;
  const double added = 3 * of_records + t.queries[0].as<LastIterateRun>()->run.drift * (44 * 0x1p-52 + 2 * 0x1p-25);
  EXPECT_GT(of_records, 0);
  EXPECT_NEAR(person.error, record.error + added, 1e-12);
  EXPECT_NEAR(person.drift, record.drift + added, 1e-9);
  EXPECT_LT(added, 1e-4) << "of a person's shift";
  const auto epsilon = [](const Query& q) {
    return epsilon_guarantee(q.events(0, 400), Adjacency::replace_one, 1e-6, "best").epsilon;
  };
  EXPECT_GE(epsilon(query), epsilon(t.queries[0]));
  EXPECT_LT(epsilon(query), epsilon(t.queries[0]) * 1.001);
}

TEST(LastIteratePersons, LedgerIsThePlanAndNoiseIsTheDeclaredOne) {
  const std::map<std::string, std::string> settings =
      with(hidden, {{"ball", "1e6"}, {"radius", "1e-9"}, {"rate", "1"}});
  Trial t = trial(settings, 1000);
  const std::vector<Query> queries{of_persons(t)};
  const Shard shard = empty_persons();
  const std::string path = ::testing::TempDir() + "hidden_persons.jsonl";
  std::filesystem::remove(path);
  Ledger ledger = Ledger::create(path, {Adjacency::replace_one, persons});
  Curator curator(t.comm, shard, queries, t.objective->micro_batch_rows(), SecretKey::from_seed(4));
  curator.record_in(ledger);
  t.algorithm = t.plan->start(*t.objective, queries);

  std::vector<double> along_window, across_window;
  Vector before = state(t);
  for (std::uint64_t step = 0; step < 400; ++step) {
    t.algorithm->step(curator, step);
    Frames frames(DirectionLaw::stiefel, 13, 4, curator.public_key());
    frames.begin(step);
    Vector now = state(t);
    if (step >= 100) {
      along_window.push_back(std::pow(norm(along(frames, minus(now, before))), 2));
      across_window.push_back(std::pow(norm(across(frames, minus(now, before))), 2));
    }
    before = std::move(now);
  }
  EXPECT_EQ(ledger.events(), queries[0].events(0, 400));
  const auto mean = [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0) / 300; };
  const double s1 = t.derived("s1"), s2 = t.derived("s2");
  EXPECT_NEAR(mean(along_window) / (4 * (s1 * s1 + s2 * s2)), 1, 0.21);
  EXPECT_NEAR(mean(across_window) / (9 * s2 * s2), 1, 0.14);
}

TEST(LastIteratePersons, RefuseWhatWouldCountSecretRecords) {
  const Trial failing = trial(with(hidden, {{"clip_failure", "1e-8"}}), 50);
  EXPECT_THROW(of_persons(failing), PrivacyError);
  const Trial t = trial(hidden, 50);
  EXPECT_NO_THROW(of_persons(t));
  EXPECT_THROW(of_persons(t, 2), PrivacyError) << "a group of records in slots of their own";
}

}  // namespace
}  // namespace dpmpi::last_iterate_persons_test
