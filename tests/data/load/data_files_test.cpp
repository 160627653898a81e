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

std::vector<std::string> paths_of(const NamedFiles& named) {
  std::vector<std::string> paths;
  for (const FoundFile& file : named.files) paths.push_back(file.path());
  return paths;
}

TEST(DataFiles, ThatMatchAPatternAreTakenInTheOrderOfTheirNames) {
  const Folder root, config;
  DataOptions d;
  d.root = root.path(), d.config_folder = config.path();
  for (const char* name : {"v10.csv", "v9.csv", "V1.csv", "v\xc3\xa4.csv", "w.csv"}) config.write(name, "x");
  NamedFiles named(d, "v*.csv");
  EXPECT_TRUE(named.joined);
  EXPECT_EQ(paths_of(named),
            (std::vector{config.file("v10.csv"), config.file("v9.csv"), config.file("v\xc3\xa4.csv")}));
  root.write("v0.csv", "x");
  EXPECT_EQ(paths_of(NamedFiles(d, "v*.csv")), std::vector{root.file("v0.csv")}) << "the first folder with one";
  EXPECT_FALSE(NamedFiles(d, "v*.csv").joined);
  EXPECT_EQ(paths_of(NamedFiles(d, config.path() + "/[vV]1*")),
            (std::vector{config.file("V1.csv"), config.file("v10.csv")}));
  root.write("odd[1].csv", "x");
  EXPECT_EQ(paths_of(NamedFiles(d, "odd[1].csv")), std::vector{root.file("odd[1].csv")}) << "a name, if one has it";
  const NamedFiles none(d, "nothing-*.csv");
  EXPECT_MENTIONS(message_of([&] { paths_of(none); }), "no file matches nothing-*.csv (relative patterns are");
  const Folder odd(root.path() + "/a*b[c]");
  odd.write("v1.csv", "x"), odd.write("v2.csv", "x");
  d.root = odd.path();
  EXPECT_EQ(paths_of(NamedFiles(d, "v*.csv")), (std::vector{odd.file("v1.csv"), odd.file("v2.csv")}));
  std::vector<std::string> problems;
  d.shards = {"a-*.csv", "b.csv"};
  d.validate(problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_MENTIONS(problems[0], "data.shards = a-*.csv: it takes the name of one file for each site");
}

// Each in one message that has the name of the file, and nothing that stands in it.
TEST(DataFiles, ThatCannotBeOneTableAreRefused) {
  const Folder folder;
  DataOptions d;
  d.header = "yes";
  d.train = folder.path() + "/t*";
  const std::string good = "x,label\n1,0\n2,1\n";
  folder.write("t1.csv", good);
  const auto refused = [&](const std::string& name, const std::string& part) {
    const std::string message = message_of([&] { load_one(d); });
    EXPECT_MENTIONS(message, folder.file(name) + ": ");
    EXPECT_MENTIONS(message, part);
    EXPECT_EQ(message.find("qzcanary"), message.npos) << message;
    std::filesystem::remove_all(folder.file(name));
  };
  folder.write("t2.csv", "label,x\nqzcanary,1\n");
  refused("t2.csv", "its first line is not as that of " + folder.file("t1.csv"));
  folder.write("t2.csv", "qzcanary,1\n3,1\n");
  refused("t2.csv", "its first line is not as that of");
  folder.write("t2.csv", "x,label\n");
  refused("t2.csv", "holds no records");
  folder.write("t2.csv", "");
  refused("t2.csv", "is empty");
  folder.write_gzip("t2.csv.gz", "x,label\n");
  refused("t2.csv.gz", "holds no records");
  folder.write_gzip("t2.csv.gz", good);
  EXPECT_EQ(load_one(d).count, 4U);
  std::filesystem::resize_file(folder.file("t2.csv.gz"), std::filesystem::file_size(folder.file("t2.csv.gz")) - 5);
  refused("t2.csv.gz", "gzip data are truncated");
  folder.write("t2.svm", "1 1:2\n");
  refused("t2.svm", "is read as libsvm");
  folder.write("t2.tsv", "x\tlabel\n1\t0\n");
  refused("t2.tsv", "is read as tsv, and");
  std::filesystem::create_directory(folder.file("t2"));
  refused("t2", "is a directory");
  std::filesystem::create_symlink(folder.file("t1.csv"), folder.file("t2.csv"));
  refused("t2.csv", "is the same file as " + folder.file("t1.csv"));
  folder.write("t2.csv", good);
  EXPECT_EQ(load_one(d).count, 4U);
  d.header = "no", d.label = "last";
  folder.write("t1.csv", "1,0\n"), folder.write("t2.csv", "2,0\n3,1");
  EXPECT_EQ(load_one(d).label, (std::vector<float>{0, 0, 1}));
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
