// dpmpi inspect: from a public table to a columns file that is trained with.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/cli_folder.hpp"

namespace dpmpi::test::inspect_test {
namespace {

class InspectCommand : public Cli {
 protected:
  static std::string path(const std::string& name) { return folder() + "/" + name; }
};

TEST_F(InspectCommand, WhatItProposesIsTrainedWith) {
  std::ofstream table(path("visits.csv"));
  table << "age;ward;outcome\n";
  for (int i = 0; i < 400; ++i)
    table << fmt::format("{},5;{};{}\n", 20 + i % 60, i % 3 == 0 ? "\"A, left\"" : "B",
                         i % 4 == 0 ? "dead" : "alive");
  table.close();
  const Outcome proposed =
      dpmpi(fmt::format("inspect {} --set data.label=outcome > {}", path("visits.csv"), path("columns.txt")));
  ASSERT_EQ(proposed.code, 0) << proposed.output;
  std::ofstream(path("visits.ini")) << "[data]\ntrain = visits.csv\ncolumns = columns.txt\nseparator = semicolon\n"
                                       "decimal = comma\nblocks = 2\n[method]\nbatch = 50\nepochs = 1\n"
                                       "[privacy]\nepsilon = 2\ndelta = 1e-3\n";
  const Outcome checked = dpmpi("check " + path("visits.ini"));
  EXPECT_EQ(checked.code, 0) << checked.output;
  EXPECT_NE(checked.output.find("400 records x 4 features"), std::string::npos) << checked.output;
}

TEST_F(InspectCommand, NeedsAFileAndReadsADictionary) {
  EXPECT_EQ(dpmpi("inspect").code, 2);
  const Outcome idle = dpmpi("inspect x.csv --set data.drop=a --set data.label=b --set data.one_hot=c:d");
  EXPECT_EQ(idle.code, 2);
  EXPECT_NE(idle.output.find("--set data.drop=a: it changes nothing here; data.root"), std::string::npos)
      << idle.output;
  EXPECT_NE(idle.output.find("--set data.one_hot=c:d: it changes nothing"), std::string::npos) << idle.output;
  const Outcome names = dpmpi("inspect x.csv --from-names --set data.label=b");
  EXPECT_NE(names.output.find("--set data.label=b: it changes nothing"), std::string::npos) << names.output;
  EXPECT_EQ(dpmpi("inspect " + path("nowhere.csv")).code, 3);
  std::ofstream(path("names.csv")) << "age,integer,0..110\nsex,text,f|m\noutcome,label,dead\n";
  const Outcome lines = dpmpi("inspect " + path("names.csv") + " --from-names");
  EXPECT_EQ(lines.code, 0);
  EXPECT_NE(lines.output.find("sex category words=f,m\n"), std::string::npos) << lines.output;
}

}  // namespace
}  // namespace dpmpi::test::inspect_test
