#include "data/records/options.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support/data_files.hpp"

namespace dpmpi::test::options_test {
namespace {

std::string problems_of(const DataOptions& o) {
  std::vector<std::string> problems;
  o.validate(problems);
  return fmt::format("{}", fmt::join(problems, "\n"));
}

TEST(DataOptions, ReadsSettings) {
  DataOptions d;
  Options o("data");
  d.declare(o);
  Settings settings;
  settings["data.shards"] = {"a.csv,b.csv", "x:1"};
  settings["data.shard_records"] = {"10,20", "x:2"};
  settings["data.std"] = {"1,2", "x:3"};
  std::vector<std::string> problems;
  o.read(settings, problems);
  EXPECT_TRUE(problems.empty()) << problems[0];
  EXPECT_EQ(d.shards, (std::vector<std::string>{"a.csv", "b.csv"}));
  EXPECT_EQ(d.shard_records, (std::vector<std::int64_t>{10, 20}));
  EXPECT_EQ(d.deviation, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(problems_of(d), "");
}

TEST(DataOptions, ColumnStatisticsOfPrivateDataAreNotOffered) {
  for (const char* kind : {"standard", "minmax", "whiten"}) {
    DataOptions d;
    d.normalize = kind;
    EXPECT_MENTIONS(problems_of(d), "would need statistics of the private records");
    d.mean = {"0"};
    d.deviation = {"1"};
    EXPECT_EQ(problems_of(d), "");
  }
}

TEST(DataOptions, ContradictionsAreReportedTogether) {
  DataOptions d;
  d.train = "a";
  d.shards = {"b", "c"};
  d.shard_records = {1};
  d.records = 5;
  d.positive = {"1"};
  d.label_map = {"a:b"};
  d.keep_one_in = {"1:0.5"};
  d.comment = "//";
  const std::string all = problems_of(d);
  EXPECT_MENTIONS(all, "data.train and data.shards are both set");
  EXPECT_MENTIONS(all, "1 entries for 2 shards");
  EXPECT_MENTIONS(all, "data.positive and data.label_map are both set");
  EXPECT_MENTIONS(all, "data.label_map: 'b' is not a finite number");
  EXPECT_MENTIONS(all, "keep one in a whole number");
  EXPECT_MENTIONS(all, "single character");
  EXPECT_MENTIONS(all, "give data.shard_records");
}

TEST(DataOptions, RepeatedNamesAreContradictions) {
  DataOptions d;
  d.label_map = {"1:1", "+1.0:2"};
  d.keep_one_in = {"a:2", "a:3"};
  d.one_hot = {"c:x|y", "d:u|v|u"};
  d.mean = {"p:1", "p:2"};
  d.shards = {"s/a.csv", "b.csv", "s/./a.csv"};
  const std::string all = problems_of(d);
  EXPECT_MENTIONS(all, "data.label_map names '+1.0' twice (also as '1')");
  EXPECT_MENTIONS(all, "data.keep_one_in names 'a' twice");
  EXPECT_MENTIONS(all, "data.one_hot = d:u|v|u has the word 'u' twice");
  EXPECT_MENTIONS(all, "data.mean names 'p' twice");
  EXPECT_MENTIONS(all, "data.shards has s/./a.csv twice: a record would fill two slots");
  d = {};
  d.label_map = {"1:1", "01x:1"};
  d.mean = {"1", "1"};
  d.one_hot = {"c:1|1.0", "d:1|2"};
  EXPECT_EQ(problems_of(d), "");
}

TEST(DataOptions, OneFileUnderTwoNamesIsOneShard) {
  const Folder folder;
  DataOptions d;
  d.header = "yes";
  d.shards = {folder.write("a.csv", "x,y\n1,2\n"), folder.file("link.csv")};
  std::filesystem::create_hard_link(d.shards[0], d.shards[1]);
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_all(Communicator::alone(), d); }),
                  "link.csv are the same file: a record would fill two slots");
  std::filesystem::remove(d.shards[1]);
  folder.write("link.csv", "x,y\n1,2\n");
  EXPECT_EQ(load_all(Communicator::alone(), d).layout.records, 2U);
}

TEST(DataOptions, WrongNumbersOfMeans) {
  const Folder folder;
  DataOptions d;
  d.header = "yes";
  d.train = folder.write("a.csv", "a,b,y\n1,2,3\n");
  d.mean = {"1", "2", "3"};
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(d); }), "3 numbers for 2 features");
  d.mean = {"y:1"};
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(d); }), "is not a number column");
  d.mean = {"0"};
  d.deviation = {"0"};
  EXPECT_MENTIONS(message_of<ConfigError>([&] { load_one(d); }), "must be > 0");
}

TEST(Blocks, SitesNeverShareABlock) {
  DatasetFacts facts;
  facts.shards = {10, 3, 7};
  facts.records = 20;
  const BlockLayout layout = BlockLayout::of(facts, 6);
  EXPECT_EQ(layout.cuts, (std::vector<std::uint64_t>{0, 5, 10, 12, 13, 17, 20}));
  EXPECT_EQ(layout.begin(6), 20U);
  EXPECT_EQ(layout.size(1), 5U);
  EXPECT_EQ(layout.largest(), 5U);
  EXPECT_THROW(BlockLayout::of(facts, 4), ConfigError);
  EXPECT_THROW(BlockLayout::of(facts, 2), ConfigError);
  const BlockLayout even = BlockLayout::of({20, 1}, 6);
  EXPECT_EQ(even.largest(), 4U);
  EXPECT_EQ(even.begin(2), 8U);
}

}  // namespace
}  // namespace dpmpi::test::options_test
