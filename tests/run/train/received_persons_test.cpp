// Records of persons: each reaches one rank at most, that of its person; no name and no key of the run is sent.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/numbers/random.hpp"
#include "run/train/received_records.hpp"

namespace dpmpi::test::received_persons_test {
namespace {

using namespace received;

constexpr std::uint64_t persons = 400;

std::uint64_t person_of(std::uint64_t record) { return record * 31 % persons; }

std::string table_of_persons() {
  std::istringstream lines(training.table(","));
  std::string text, line;
  for (std::uint64_t i = 0; std::getline(lines, line); ++i)
    text += i == 0 ? "who," + line + "\n" : fmt::format("Somebody {:04},{}\n", person_of(i - 1), line);
  return text;
}

std::string bytes_of(const SecretKey& key) {
  return {reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size()};
}

TEST_F(ReceivedRecords, OfPersonsReachTheOwnersOfThesePersonsAlone) {
  write_both("persons.csv", table_of_persons());
  const CanarySearch search(training);
  for (const char* file : {"persons.csv", "persons.csv.gz"}) {
    SCOPED_TRACE(file);
    Settings settings{fmt::format("data.train={}", file), "data.person=who", "data.records=450", "privacy.seed=42"};
    for (const std::string& more : options_of("dp-sgd", "logistic")) settings.push_back(more);
    const Launch run = train(settings);
    ASSERT_EQ(run.outcome.code, 0) << run.outcome.output;
    std::map<std::uint64_t, int> rank_of_person;
    std::uint64_t received = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string& bytes = run.received[static_cast<std::size_t>(rank)];
      for (const std::uint64_t record : search.in(bytes)) {
        const auto [known, first] = rank_of_person.emplace(person_of(record), rank);
        EXPECT_EQ(known->second, rank) << "record " << record << " of person " << known->first;
        ++received;
      }
      EXPECT_EQ(bytes.find("Somebody"), std::string::npos) << "a name, at rank " << rank;
      const SecretKey key = SecretKey::from_seed(42);
      EXPECT_EQ(bytes.find(bytes_of(key)), std::string::npos) << "the run's key, at rank " << rank;
      for (const char* purpose : {"noise", "phase noise", "repetitions", "public randomness"})
        EXPECT_EQ(bytes.find(bytes_of(key.derive(purpose))), std::string::npos) << purpose << ", at rank " << rank;
    }
    EXPECT_GT(received, training.count / 3) << "the tap sees records that move";
  }
}

}  // namespace
}  // namespace dpmpi::test::received_persons_test
