// The records of persons, brought together: the same on any number of ranks, each where its person is.
#include "data/load/persons.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/load/read_columns.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "objective/copy_rows.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::persons_mpi_test {
namespace {

const auto all_sizes = {1, 2, 3, 5, 8};

struct Visit {
  std::string person;
  int number = 0;  // in the file
};

/// Person p of `persons` has p % 5 + 1 visits (the last one 300); they stand in any order.
std::vector<Visit> visits(int persons, unsigned seed = 1) {
  std::vector<Visit> all;
  for (int p = 0; p < persons; ++p)
    for (int v = 0; v < (p + 1 == persons ? 300 : p % 5 + 1); ++v)
      all.push_back({fmt::format("No. {}, ward", p), 0});
  std::ranges::shuffle(all, std::mt19937(seed));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<int>(i);
  return all;
}

/// A feature says who it is and one when it was, so that tests can find both.
std::string table(const std::vector<Visit>& all) {
  std::string text = "when,patient,who,label\n";
  for (const Visit& visit : all)
    text += fmt::format("{},\"{}\",{},{}\n", visit.number, visit.person,
                        visit.person.substr(4, visit.person.find(',') - 4), visit.number % 2);
  return text;
}

DataOptions options_of(const std::string& file) {
  DataOptions o;
  o.train = file;
  o.header = "yes";
  o.person = "patient";
  return o;
}

Shard load_persons(const Communicator& comm, const DataOptions& options, std::uint32_t blocks = 8,
                   std::uint64_t key = 5) {
  const Dataset dataset = DataFiles(options).training;
  const BlockLayout layout = BlockLayout::of(inspect(comm, dataset), blocks);
  return load(comm, dataset, layout, Ownership::even(blocks, comm.size()), LabelKind::real, 0,
              {comm.is_root() ? std::optional(SecretKey::from_seed(key)) : std::nullopt, {}});
}

/// Of every slot of this rank's blocks the records, "who when,when,...", in the order in which they are.
std::map<std::uint64_t, std::string> slots_of_rank(const Shard& shard) {
  std::map<std::uint64_t, std::string> slots;
  for (const Block& block : shard.blocks) {
    const Records& r = block.records;
    EXPECT_EQ(r.units(), shard.layout.size(block.id));
    for (std::uint32_t p = 0; p < r.units(); ++p) {
      std::string& text = slots[block.first_index + p];
      for (std::uint32_t i = r.unit_begin(p); i < r.unit_begin(p + 1); ++i) {
        if (std::isnan(r.label[i])) continue;  // an empty slot for a record
        const float when = feature_of(r, i, 0), who = feature_of(r, i, 1);
        if (text.empty()) text = fmt::format("{} ", who);
        EXPECT_EQ(text.substr(0, text.find(' ')), fmt::format("{}", who)) << "one person's slot";
        text += fmt::format("{},", when);
        EXPECT_EQ(r.label[i], static_cast<float>(static_cast<int>(when) % 2));
        EXPECT_GE(r.norm[i], when);
      }
    }
  }
  return slots;
}

/// Those of all ranks, on all of them.
std::string all_slots(const Communicator& comm, const Shard& shard) {
  std::string mine, all;
  for (const auto& [slot, text] : slots_of_rank(shard)) mine += fmt::format("{}: {}\n", slot, text);
  for (const std::string& part : comm.gather(mine)) all += part;
  comm.broadcast(all);
  return all;
}

/// How often each text comes of keys 0 to `keys`, which the ranks share out; the same on all ranks.
std::map<std::string, int> counts_over_keys(int keys, const std::function<std::string(std::uint64_t)>& text_of) {
  std::string mine, all;
  for (int key = world().rank(); key < keys; key += world().size())
    mine += text_of(static_cast<std::uint64_t>(key)) + '\0';
  for (const std::string& part : world().gather(mine)) all += part;
  world().broadcast(all);
  std::map<std::string, int> counts;
  for (std::size_t at = 0; at < all.size(); at = all.find('\0', at) + 1) ++counts[all.c_str() + at];
  return counts;
}

std::map<std::string, std::string> expected_visits(const std::vector<Visit>& all) {
  std::map<std::string, std::string> of;
  for (const Visit& visit : all)
    of[visit.person.substr(4, visit.person.find(',') - 4)] += fmt::format("{},", visit.number);
  return of;
}

TEST(Persons, RecordsComeTogetherInTheFilesOrderOnAnyNumberOfRanks) {
  const auto file = visits(200);
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) { f.write("a.csv", table(file)); });
    const DataOptions o = options_of(folder.file("a.csv"));
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(shard.layout.records, 200u);
    EXPECT_EQ(shard.facts.records, 200u);
    EXPECT_EQ(shard.facts.features, 2u);
    const std::string all = all_slots(comm, shard);
    EXPECT_EQ(all, all_slots(Communicator::alone(), load_persons(Communicator::alone(), o)));
    for (const auto& [who, when] : expected_visits(file))
      EXPECT_NE(all.find(fmt::format(": {} {}\n", who, when)), std::string::npos) << who;
    EXPECT_NE(all, all_slots(comm, load_persons(comm, o, 8, 6))) << "the key decides who is where";
  });
}

// Rows with two entries, one and none.
TEST(Persons, OfSparseRowsAreThoseOfDenseOnes) {
  const auto file = visits(80);
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) { f.write("a.csv", table(file)); });
    for (const auto& [most, sampling] :
         {std::pair{0, "persons"}, std::pair{3, "persons"}, std::pair{3, "records"}}) {
      DataOptions o = options_of(folder.file("a.csv"));
      o.person_records = most;
      o.person_sampling = sampling;
      const std::string dense = all_slots(comm, load_persons(comm, o));
      o.storage = "sparse";
      const Shard shard = load_persons(comm, o);
      for (const Block& block : shard.blocks) EXPECT_EQ(block.records.storage, Storage::sparse_f32);
      EXPECT_EQ(all_slots(comm, shard), dense);
    }
  });
}

// The root reads it and sends each record to its owner.
TEST(Persons, OfAGzippedFileAreThoseOfThePlainOne) {
  for_each_size({1, 3, 8}, [](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) {
      f.write("a.csv", table(visits(90)));
      f.write_gzip("a.csv.gz", table(visits(90)));
    });
    EXPECT_EQ(all_slots(comm, load_persons(comm, options_of(folder.file("a.csv.gz")))),
              all_slots(comm, load_persons(comm, options_of(folder.file("a.csv")))));
  });
}

TEST(Persons, SlotsThatAreDeclaredAndNotFilledAreEmpty) {
  for_each_size({1, 3, 8}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) { f.write("a.csv", table(visits(50))); });
    DataOptions o = options_of(folder.file("a.csv"));
    o.records = 120;
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(shard.layout.records, 120u);
    std::int64_t filled = 0;
    for (const auto& [slot, text] : slots_of_rank(shard)) filled += text.empty() ? 0 : 1;
    comm.sum(std::span(&filled, 1));
    EXPECT_EQ(filled, 50);
    o.records = 49;
    const std::string message = without_path(message_of([&] { load_persons(comm, o); }), folder.file(""));
    EXPECT_NE(message.find("a.csv: has more persons than the 49 that are declared"), std::string::npos) << message;
    EXPECT_EQ(message.find("50"), std::string::npos) << message;
  });
}

TEST(Persons, NoMoreRecordsOfAPersonAreUsedThanTheConfigSays) {
  const auto file = visits(60);
  const auto expected = expected_visits(file);
  for_each_size({1, 2, 5}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) { f.write("a.csv", table(file)); });
    DataOptions o = options_of(folder.file("a.csv"));
    o.person_records = 3;
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(all_slots(comm, shard), all_slots(Communicator::alone(), load_persons(Communicator::alone(), o)));
    for (const auto& [slot, text] : slots_of_rank(shard)) {
      const std::string who = text.substr(0, text.find(' '));
      const auto count = std::ranges::count(text, ',');
      EXPECT_EQ(count, std::min<std::ptrdiff_t>(3, std::ranges::count(expected.at(who), ',')));
    }
  });
}

// The same records, in the same places, but each in a slot of its own.
TEST(Persons, WhoseRecordsAreDrawnOneByOneHaveASlotForEachOfThem) {
  const auto file = visits(60);
  for_each_size({1, 2, 5}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) { f.write("a.csv", table(file)); });
    DataOptions o = options_of(folder.file("a.csv"));
    o.person_records = 3;
    const Communicator alone = Communicator::alone();
    const auto of_persons = slots_of_rank(load_persons(alone, o));
    o.person_sampling = "records";
    const DatasetFacts facts = inspect(alone, DataFiles(o).training);
    EXPECT_EQ(facts.records, 180U);
    EXPECT_EQ(facts.units(), 60U);
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(all_slots(comm, shard), all_slots(alone, load_persons(alone, o)));
    for (const Block& block : shard.blocks) {
      EXPECT_EQ(block.first_index % 3, 0U) << "a person's slots are in one block";
      EXPECT_TRUE(block.records.person_begin.empty());
    }
    const auto slots = slots_of_rank(shard);
    for (auto at = slots.begin(); at != slots.end(); std::advance(at, 3)) {
      std::string person = of_persons.at(at->first / 3), taken;
      for (auto slot = at; slot != std::next(at, 3); ++slot) {
        if (!slot->second.empty())
          taken += taken.empty() ? slot->second : slot->second.substr(slot->second.find(' ') + 1);
      }
      EXPECT_EQ(taken, person);
    }
    o.records = 70;
    EXPECT_EQ(inspect(alone, DataFiles(o).training).records, 210U);
    o.records = 59;
    EXPECT_MENTIONS(message_of([&] { load_persons(comm, o); }), "has more persons than the 59 that are declared");
  });
}

// Which of a person's records are used is uniform on all sets, over keys.
TEST(Persons, AnyRecordOfAPersonIsAsLikelyToBeUsed) {
  const Communicator alone = Communicator::alone();
  Folder folder;
  std::vector<Visit> file;
  for (int i = 0; i < 6; ++i) file.push_back({"No. 1, ward", i});
  DataOptions o = options_of(folder.write("a.csv", table(file)));
  o.person_records = 2;
  constexpr int keys = 3000;
  const auto sets = counts_over_keys(
      keys, [&](std::uint64_t key) { return slots_of_rank(load_persons(alone, o, 1, key)).at(0); });
  EXPECT_EQ(sets.size(), 15u);
  double chi_square = 0;
  for (const auto& [set, count] : sets) chi_square += (count - keys / 15.0) * (count - keys / 15.0) / (keys / 15.0);
  EXPECT_LT(chi_square, 42);  // 14 degrees of freedom: once in 8,000
}

// The law that the proof takes for granted: with or without somebody, the others fall on all slots alike.
TEST(Persons, SlotsAreAUniformInjection) {
  const Communicator alone = Communicator::alone();
  Folder folder;
  DataOptions o =
      options_of(folder.write("a.csv", table({{"No. 1, ward", 0}, {"No. 2, ward", 1}, {"No. 1, ward", 2}})));
  o.records = 4;
  constexpr int keys = 3000;
  const auto places =
      counts_over_keys(keys, [&](std::uint64_t key) { return all_slots(alone, load_persons(alone, o, 2, key)); });
  EXPECT_EQ(places.size(), 12u);
  double chi_square = 0;
  for (const auto& [place, count] : places)
    chi_square += (count - keys / 12.0) * (count - keys / 12.0) / (keys / 12.0);
  EXPECT_LT(chi_square, 37);  // 11 degrees of freedom: once in 8,000
}

// No block mixes two sites; who is at both of them is two persons, and none of them is counted twice.
TEST(Persons, OfSeveralSitesStayThere) {
  const auto first = visits(40, 1), second = visits(70, 2);
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) {
      f.write("a.csv", table(first));
      f.write("b.csv", table(second));
    });
    DataOptions o = options_of("");
    o.shards = {folder.file("a.csv"), folder.file("b.csv")};
    const DatasetFacts facts = inspect(comm, DataFiles(o).training);
    EXPECT_EQ(facts.shards, (std::vector<std::uint64_t>{40, 70}));
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(all_slots(comm, shard), all_slots(Communicator::alone(), load_persons(Communicator::alone(), o)));
    const auto of_first = expected_visits(first), of_second = expected_visits(second);
    for (const auto& [slot, text] : slots_of_rank(shard)) {
      const std::string who = text.substr(0, text.find(' '));
      EXPECT_EQ(text, who + " " + (slot < 40 ? of_first : of_second).at(who)) << slot;
    }
    o.shard_records = {40, 69};
    EXPECT_NE(message_of([&] { load_persons(comm, o); }).find("more persons"), std::string::npos);
  });
}

TEST(Persons, OfAColumnsFile) {
  for_each_size({1, 3}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) {
      f.write("a.csv", table(visits(30)));
      f.write("c.txt", "who number\nwhen number\npatient person\nlabel label\n");
    });
    DataOptions o;
    o.train = folder.file("a.csv");
    o.columns = folder.file("c.txt");
    std::vector<std::string> problems;
    read_columns(o, problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(o.person, "patient");
    const Shard shard = load_persons(comm, o);
    EXPECT_EQ(shard.layout.records, 30u);
    EXPECT_EQ(shard.facts.features, 2u);
    folder.fill([](const Folder& f) {
      f.write("m.txt", "who number\nwhen number\npatient person missing=\"No. 3, ward\"\nlabel label\n");
    });
    o.columns = folder.file("m.txt");
    o.columns_digest.clear(), o.person.clear();
    read_columns(o, problems);
    EXPECT_TRUE(problems.empty());
    EXPECT_NE(message_of([&] { load_persons(comm, o); }).find("column 'patient': missing value"),
              std::string::npos);
  });
}

// On every rank, dense and sparse, with and without a cap, and in slots of their own.
TEST(Persons, RecordsKeepTheirWeightsAndExposures) {
  const auto file = visits(80);
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) {
      std::string text = "when,patient,who,label,w,e\n";
      for (const Visit& visit : file)
        text += fmt::format("{},\"{}\",{},{},{},{}\n", visit.number, visit.person,
                            visit.person.substr(4, visit.person.find(',') - 4), visit.number % 2,
                            0.5 * visit.number, 1 + visit.number % 3);
      f.write("a.csv", text);
      f.write("c.txt",
              "when number\nwho number\npatient person\nlabel label\nw weight range=0..100\n"
              "e exposure range=0.5..2\n");
    });
    for (const auto& [most, sampling, storage] :
         {std::tuple{0, "persons", "dense"}, {3, "persons", "sparse"}, {3, "records", "dense"}}) {
      DataOptions o;
      o.train = folder.file("a.csv");
      o.columns = folder.file("c.txt");
      o.person_records = most, o.person_sampling = sampling, o.storage = storage;
      std::vector<std::string> problems;
      read_columns(o, problems);
      ASSERT_TRUE(problems.empty());
      const Shard shard = load_persons(comm, o);
      EXPECT_EQ(all_slots(comm, shard), all_slots(Communicator::alone(), load_persons(Communicator::alone(), o)));
      for (const Block& block : shard.blocks) {
        const Records& r = block.records;
        for (std::uint32_t i = 0; i < r.count; ++i) {
          const double when = std::isnan(r.label[i]) ? 0 : feature_of(r, i, 0);
          const double exposure = std::min(2.0, 1 + std::fmod(when, 3));
          EXPECT_EQ(r.weight_of(i), std::isnan(r.label[i]) ? 1 : static_cast<float>(std::min(when / 200, 1.0)));
          EXPECT_EQ(r.offset_of(i), std::isnan(r.label[i]) ? 0 : static_cast<float>(std::log(exposure)));
        }
      }
    }
  });
}

// Records that are no empty rows, and persons whose records all are.
TEST(Persons, WhoseRecordsTakeNoPartKeepTheirSlot) {
  const Communicator alone = Communicator::alone();
  Folder folder;
  DataOptions o =
      options_of(folder.write("a.csv", table({{"No. 1, ward", 0}, {"No. 2, ward", 1}, {"No. 1, ward", 2}})));
  o.only_labels = {"0"};
  const Shard shard = load_persons(alone, o, 1);
  EXPECT_EQ(shard.layout.records, 2u);
  const std::string all = all_slots(alone, shard);
  EXPECT_NE(all.find("1 0,2,"), std::string::npos) << all;
  EXPECT_EQ(all.find("2 1,"), std::string::npos) << all;
}

TEST(Persons, WrongFilesAreRefused) {
  const Communicator alone = Communicator::alone();
  Folder folder;
  const auto refusal = [&]<class E>(const char* text, E*, auto&& change) {
    DataOptions o = options_of(folder.write("a.csv", text));
    change(o);
    return message_of<E>([&] { load_persons(alone, o, 1); });
  };
  const auto as_is = [](DataOptions&) {};
  const std::string missing = refusal("patient,x,label\nA,1,0\n?,2,1\n", static_cast<DataError*>(nullptr), as_is);
  EXPECT_NE(missing.find(":3: column 'patient': missing value"), std::string::npos) << missing;
  EXPECT_NE(missing.find("every record needs the person"), std::string::npos) << missing;
  for (const char* nobody : {"NULL", "n/a", "NaN", "-", "\" \""}) {
    const std::string text = fmt::format("patient,x,label\nA,1,0\n{},2,1\n", nobody);
    EXPECT_NE(refusal(text.c_str(), static_cast<DataError*>(nullptr), as_is).find("missing value"),
              std::string::npos);
  }
  const std::string alike =
      refusal("patient,x,patient,label\nA,1,5,0\n", static_cast<ConfigError*>(nullptr), as_is);
  EXPECT_NE(alike.find("two columns are called 'patient'"), std::string::npos) << alike;
  const std::string no_column = refusal("person,x,label\nA,1,0\n", static_cast<ConfigError*>(nullptr), as_is);
  EXPECT_NE(no_column.find("data.person: there is no column 'patient'"), std::string::npos) << no_column;
  const std::string twice = refusal("patient,x,label\n1,1,0\n", static_cast<ConfigError*>(nullptr),
                                    [](DataOptions& o) { o.label = "patient"; });
  EXPECT_NE(twice.find("column 'patient' already has another use"), std::string::npos) << twice;
  const std::string no_table = refusal("1 1:2\n", static_cast<ConfigError*>(nullptr), [](DataOptions& o) {
    o.format = "libsvm";
    o.features = 3;
  });
  EXPECT_NE(no_table.find("data.person names a column of a table"), std::string::npos) << no_table;
}

}  // namespace
}  // namespace dpmpi::test::persons_mpi_test
