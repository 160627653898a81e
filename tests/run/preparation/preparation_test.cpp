// Counts of a preparation: what a record or a person can change, in integers; the noise on them; the columns file.
#include "run/preparation/preparation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/columns/added_attributes.hpp"
#include "objective/random_records.hpp"
#include "support/sensitivity_of_sums.hpp"
#include "support/shards.hpp"

namespace dpmpi::preparation_test {
namespace {

constexpr std::size_t count = 40, numbers = 4, features = 9;
constexpr const char* text =
    "# columns\r\n\"a \"\"b\" number missing=x,\n  y\nc \"number\" impute=2 # said\nd number range=0..1\n"
    "e number indicator\nf number\ng category words=u,v,w other indicator\ny label\n";

struct Counted {
  Counted(Storage storage, Adjacency adjacency, Unit unit, double share = 0.1)
      : file(text, "columns.txt"),
        plan(PreparationPlan::of(file, WordCells::of(file, ClassCells::of(file, LabelKind::sign, 0), 0.2), share, 1,
                                 9)),
        records(test::random_records({storage, count, features, 1, LabelKind::sign, 2}, 5)) {
    if (storage == Storage::dense_f32)
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < features; ++j) {
          float& x = records.f32[i * records.stride + j];
          if (j < numbers)
            x *= std::array{1e20F, 1e-20F, 0.0F, -1e30F}[(i + j) % 4];
          else  // a word, or a missing value that counts as v
            x = j - numbers == i % 5 || (i % 5 == 4 && j - numbers == 1) ? 1.0F : 0.0F;
        }
    if (unit == Unit::person) records.person_begin = {0, 1, 1, 5, 6, 30, 31, 32, 40};
    for (QuerySpec spec : plan.queries(share > 0 ? 2 : 0)) {
      spec.unit = unit;
      queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(queries.size()), adjacency, records.units()));
    }
  }
  Preparation release(std::uint64_t key, ReleaseListener* listener = nullptr) {
    Shard own;
    own.facts = {records.units(), features, records.storage};
    own.layout = {records.units(), 1};
    own.blocks.push_back({0, 0, records});
    Ledger ledger = Ledger::in_memory({queries.front().adjacency, records.units(), true});
    Curator curator(Communicator::alone(), own, queries, 16, SecretKey::from_seed(key));
    curator.record_in(ledger);
    curator.announce_to(listener);
    Preparation preparation(file, plan.words, queries);
    preparation.release(curator, queries, {0, 1, 2, 3, numbers});
    std::vector<Event> planned;
    for (const Query& query : queries)
      for (const Event& event : query.events(0, 1)) planned.push_back(event);
    EXPECT_TRUE(same_events(ledger.events(), planned)) << "the ledger has what was planned";
    return preparation;
  }

  ColumnsFile file;
  PreparationPlan plan;
  Records records;
  std::vector<Query> queries;
};

TEST(Preparation, NobodyMovesItByMoreThanItsSensitivity) {
  for (const Storage storage : {Storage::dense_f32, Storage::sparse_f32})
    for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one})
      for (const Unit unit : {Unit::record, Unit::person}) {
        Counted counted(storage, adjacency, unit);
        test::SensitivityOfSums watch(counted.records);
        counted.release(1, &watch);
        ASSERT_EQ(watch.largest.size(), 4U);
        // One cell in each of four columns; whoever is replaced may leave four and enter four. Of words there are
        // two groups: classes and a category.
        const double reached = adjacency == Adjacency::replace_one ? std::sqrt(8) : 2;
        if (unit == Unit::record) {
          EXPECT_EQ(watch.largest.front(), reached) << "the bound is met";
          EXPECT_DOUBLE_EQ(watch.largest.back(), reached / std::sqrt(2)) << "the bound is met";
        } else {
          EXPECT_GT(watch.largest.front(), 0.8 * reached);
          EXPECT_GT(watch.largest.back(), 0.5 * reached / std::sqrt(2));
        }
      }
}

TEST(Preparation, HasTheNoiseOfThePlan) {
  Counted counted(Storage::dense_f32, Adjacency::add_remove, Unit::record);
  // Three releases and a quarter of one for a tenth of the square of a promise of 1; four columns.
  EXPECT_NEAR(counted.queries.front().noise_std, std::sqrt(32.5) * 2, 1e-6);
  EXPECT_NEAR(counted.queries.back().noise_std, 2 * std::sqrt(32.5) * std::sqrt(2), 1e-6);
  double promise = 0;  // the square of its Gaussian
  for (const Query& query : counted.queries) promise += 1 / (query.noise_multiplier * query.noise_multiplier);
  EXPECT_NEAR(promise, 0.1, 1e-9);
  std::ranges::fill(counted.records.label, std::numeric_limits<float>::quiet_NaN());  // nobody is there
  double square = 0, n = 0, square_of_words = 0, words = 0;
  const auto add_words = [&](const nlohmann::ordered_json& counts) {
    for (const double value : counts)
      square_of_words += std::pow(value / counted.queries.back().noise_std, 2), ++words;
  };
  for (std::uint64_t key = 0; key < 20; ++key) {
    const Preparation released = counted.release(key);
    const nlohmann::ordered_json file = released.json();
    for (const auto& column : file["columns"])
      for (const char* of : {"octaves", "zoom", "values"})
        for (const double value : column[of]) square += std::pow(value / counted.queries.front().noise_std, 2), ++n;
    add_words(file["class_balance"]["counts"]), add_words(file["categories"][0]["counts"]);
  }
  EXPECT_NEAR(square / n, 1, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(square_of_words / words, 1, 4 * std::sqrt(2 / words));
}

TEST(Preparation, IsReadAgainFromItsFile) {
  Counted counted(Storage::dense_f32, Adjacency::add_remove, Unit::record);
  const Preparation released = counted.release(3);
  Preparation again(counted.file, counted.plan.words, counted.queries);
  again.read(nlohmann::json::parse(released.json().dump()));
  EXPECT_EQ(again.json(), released.json());
  const auto written = nlohmann::json::parse(released.json().dump());
  for (const char* change :
       {R"([{"op":"remove","path":"/columns/1"}])", R"([{"op":"remove","path":"/categories/0/counts/1"}])",
        R"([{"op":"add","path":"/class_balance/counts/0","value":1}])"})
    EXPECT_THROW(again.read(written.patch(nlohmann::json::parse(change))), DataError) << change;
}

TEST(Preparation, WritesBehindTheKindsOfItsColumns) {
  const ColumnsFile file(text, "columns.txt");
  EXPECT_EQ(columns_without_scale(file), (std::vector<std::size_t>{0, 1, 3, 4}));
  EXPECT_EQ(with_attributes(file, {{0, " mean=1"}, {1, " mean=2"}}),
            "# columns\r\n\"a \"\"b\" number mean=1 missing=x,\n  y\nc \"number\" mean=2 impute=2 # said\n"
            "d number range=0..1\ne number indicator\nf number\ng category words=u,v,w other indicator\ny label\n");
  const ColumnsFile raw = as_they_stand(file);
  EXPECT_EQ(raw.columns[0].impute, "-1e+30");
  EXPECT_EQ(raw.columns[1].impute, "2") << "a missing value counts as what is public";
  EXPECT_EQ(raw.columns[0].width, 1);
  Counted counted(Storage::dense_f32, Adjacency::add_remove, Unit::record);
  const ColumnsFile prepared = counted.release(3).columns();
  EXPECT_TRUE(columns_without_scale(prepared).empty());
  EXPECT_TRUE(prepared.columns[0].impute.has_value());
  EXPECT_FALSE(prepared.columns[3].impute.has_value()) << "its indicator says that it is missing";
}

TEST(Preparation, RefusesNamesOfTwoFeatures) {
  const ColumnsFile file("a number\nb category words=1\ny label\n", "columns.txt");
  EXPECT_EQ(places_of_columns(file, false, "b=1\na\n"), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(places_of_columns(file, true, "b=1\na\n"), (std::vector<std::uint64_t>{1, 0}));
  EXPECT_THROW(places_of_columns(file, false, "a\na\n"), ConfigError);
  EXPECT_THROW(places_of_columns(file, true, "a\nb=2\n"), ConfigError);
}

TEST(Preparation, CountsClassesAndWordsWithoutNoiseAsTheyAre) {
  Counted counted(Storage::dense_f32, Adjacency::add_remove, Unit::record, 0);
  const nlohmann::ordered_json file = counted.release(1).json();
  const std::size_t positive = static_cast<std::size_t>(std::ranges::count(counted.records.label, 1.0F));
  EXPECT_EQ(file["class_balance"]["classes"], (nlohmann::json{"-1", "+1"}));
  EXPECT_EQ(file["class_balance"]["counts"], (nlohmann::json{double(count - positive), double(positive)}));
  EXPECT_EQ(file["categories"][0]["counts"], nlohmann::json(std::vector<double>(5, 8))) << "missing ones apart";
  EXPECT_EQ(file["categories"][0]["words"].size(), 5U);
}

}  // namespace
}  // namespace dpmpi::preparation_test
