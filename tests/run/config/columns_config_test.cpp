// A columns file is part of a run's config: it is found again, and known again.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "run/config/config.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::columns_config_test {
namespace {

class ColumnsConfig : public ::testing::Test {
 protected:
  ColumnsConfig() {
    folder_.write("config.ini", "[data]\ntrain = a.csv\ncolumns = c.txt\n[privacy]\nepsilon = 1\n");
    folder_.write("c.txt", "x number\ny label\n");
  }
  RunConfig with(const std::vector<std::string>& settings = {}) const {
    return RunConfig(folder_.file("config.ini"), settings);
  }

  const Folder folder_;
};

TEST_F(ColumnsConfig, TheDigestIsOfTheFileWhereverItLies) {
  const std::string digest = with().digest();
  folder_.write("d.txt", "x number\ny label\n");
  EXPECT_EQ(with({"data.columns=d.txt"}).digest(), digest);
  folder_.write("d.txt", "x number std=2\ny label\n");
  EXPECT_NE(with({"data.columns=d.txt"}).digest(), digest);
  EXPECT_NE(with().essentials().find("data.columns_digest = " + sha256("x number\ny label\n")), std::string::npos);
}

TEST_F(ColumnsConfig, ARunFindsItsFileAndRefusesAnEditedOne) {
  const Folder run;
  run.write("config.ini", with().resolved());
  const RunConfig again(run.file("config.ini"), {});
  EXPECT_EQ(again.digest(), with().digest());
  EXPECT_EQ(again.data.columns_file->columns.size(), 2U);
  folder_.write("c.txt", "x number std=2\ny label\n");
  EXPECT_MENTIONS(message_of<ConfigError>([&] { RunConfig(run.file("config.ini"), {}); }),
                  "is not the file of data.columns_digest");
  const RunConfig other(run.file("config.ini"), {"data.columns=" + folder_.file("c.txt")});
  EXPECT_NE(other.digest(), again.digest()) << "by name it is read, and is another config";
}

TEST_F(ColumnsConfig, ARunIsKnownWhereItsFileIsNot) {
  const std::string digest = with().digest(), text = with().resolved();
  const Folder run;
  run.write("config.ini", text);
  std::filesystem::remove(folder_.file("c.txt"));
  const RunConfig again(run.file("config.ini"), {});
  EXPECT_EQ(again.digest(), digest);
  EXPECT_MENTIONS(message_of([&] { again.find_files(); }), "c.txt was not found");
  EXPECT_MENTIONS(message_of<ConfigError>([&] { with(); }), "c.txt was not found");
}

TEST_F(ColumnsConfig, WhatIsWrongWithItIsToldWithTheRest) {
  folder_.write("c.txt", "x numbr\ny label\n");
  const std::string message = message_of<ConfigError>([&] { with({"method.clip=-1", "data.one_hot=x:a|b"}); });
  EXPECT_MENTIONS(message, "c.txt:1: column 'x': kind 'numbr' is not known");
  EXPECT_MENTIONS(message, "method.clip");
}

}  // namespace
}  // namespace dpmpi::test::columns_config_test
