// Which files a config names, and where they are found.
#include "data/load/data_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/data_files.hpp"

namespace dpmpi::test::data_files_test {
namespace {

TEST(DataFiles, RelativePathsAreFoundInOrder) {
  const Folder root, environment, config;
  const char* const before = std::getenv("DPMPI_DATA");
  const std::string kept = before == nullptr ? "" : before;
  setenv("DPMPI_DATA", environment.path().c_str(), 1);
  DataOptions d;
  d.root = root.path();
  d.config_folder = config.path();
  config.write("a", "x");
  EXPECT_EQ(FoundFile(d, "a").path(), config.file("a"));
  environment.write("a", "x");
  EXPECT_EQ(FoundFile(d, "a").path(), environment.file("a"));
  root.write("a", "x");
  EXPECT_EQ(FoundFile(d, "a").path(), root.file("a"));
  EXPECT_EQ(FoundFile(d, "/absolute").path(), "/absolute");
  kept.empty() ? unsetenv("DPMPI_DATA") : setenv("DPMPI_DATA", kept.c_str(), 1);
}

TEST(DataFiles, KnowTheirOptionAndHowTheyAreRead) {
  const Folder folder;
  DataOptions d;
  d.train = folder.write("x", "1") + ", " + folder.write("y", "2");
  d.eval = folder.write("eval", "3");
  d.records = 7;
  d.scale = 2;
  const DataFiles files(d, folder.write("models", "4"));
  EXPECT_EQ(files.training.key, "data.train");
  EXPECT_EQ(files.training.paths(), (std::vector{folder.file("x"), folder.file("y")}));
  EXPECT_EQ(files.training.first().names, d.train);
  EXPECT_EQ(files.training.first().declared, 7);
  EXPECT_FALSE(files.training.counted);
  EXPECT_EQ(files.evaluation.key, "data.eval");
  EXPECT_EQ(files.evaluation.first().declared, 0) << "data.records is for the training records";
  EXPECT_EQ(files.models.key, "objective.train");
  EXPECT_EQ(files.models.paths(), std::vector{folder.file("models")});
  for (const Dataset* const dataset : {&files.training, &files.evaluation, &files.models}) {
    EXPECT_EQ(dataset->rules.scale, 2);
    EXPECT_EQ(dataset->shows_values(), dataset != &files.training) << "only the training records are private";
  }
  EXPECT_EQ(&files.scored(), &files.evaluation);
  const DataFiles given(d, {}, folder.file("x"));
  EXPECT_EQ(given.scored().key, "--data");
  EXPECT_FALSE(given.scored().shows_values()) << "nobody said that it is public";
}

// What is not there is said when somebody needs it, in the words of the look-up.
TEST(DataFiles, AreMissedWhereTheyAreNeeded) {
  const Folder folder;
  DataOptions d;
  d.root = folder.path();
  d.train = "gone";
  const DataFiles files(d);
  EXPECT_TRUE(files.training.seen().empty());
  EXPECT_MENTIONS(message_of([&] { files.training.paths(); }), "gone was not found (relative paths are looked up");
  EXPECT_MENTIONS(message_of([&] { files.training.paths(); }), "tried " + folder.file("gone"));
  EXPECT_TRUE(files.evaluation.empty());
  EXPECT_TRUE(files.evaluation.paths().empty());
  EXPECT_EQ(message_of<ConfigError>([&] { files.evaluation.first(); }), "data.eval is not set");
  EXPECT_EQ(message_of<ConfigError>([] { DataFiles().training.first(); }),
            "data.train (or data.shards) is not set");
}

// A rank need not see the files of other sites.
TEST(DataFiles, OfSitesAreThoseThatAreSeen) {
  const Folder folder;
  DataOptions d;
  d.root = folder.path();
  d.shards = {"here", "elsewhere"};
  d.shard_records = {3, 4};
  folder.write("here", "x");
  const DataFiles files(d);
  EXPECT_EQ(files.training.key, "data.shards");
  EXPECT_TRUE(files.training.by_site);
  EXPECT_EQ(files.training.paths(), std::vector{folder.file("here")});
  ASSERT_EQ(files.training.parts.size(), 2U);
  EXPECT_EQ(files.training.parts[1].declared, 4);
  EXPECT_MENTIONS(message_of([&] { files.training.parts[1].files[0].path(); }), "elsewhere was not found");
}

// Whoever looked once keeps to it: a file that appears later elsewhere on the way is another one.
TEST(DataFiles, AreLookedUpOnce) {
  const Folder folder, first;
  DataOptions d;
  d.root = first.path();
  d.config_folder = folder.path();
  d.train = "a";
  folder.write("a", "x");
  const DataFiles files(d);
  first.write("a", "y");
  EXPECT_EQ(files.training.paths(), std::vector{folder.file("a")});
}

}  // namespace
}  // namespace dpmpi::test::data_files_test
