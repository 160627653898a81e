// Tables of which nearly every column is wrong, and columns files, too: one answer has a line for each, whatever
// the number of ranks, and shows nothing of the records.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::wrong_columns_test {
namespace {

namespace fs = std::filesystem;

/// A kind of columns, with a field that fits and one that does not.
struct Kind {
  const char *line, *good, *bad, *said;
};
const std::vector<Kind> kinds{
    {"number", "1.5", "SECRETabc", "is not a finite number"},
    {"number range=0..10", "3", "1,5SECRET", "is not a finite number"},
    {"number", "1", "", "missing value"},
    {"number mean=1 std=2", "1", "1e999", "is not a finite number"},
    {"number", "1", "\xff\xfeSECRET", "is not a finite number"},
    {"number", "1", "0x5EC2E7", "is not a finite number"},
    {"yes/no", "yes", "SECRETmaybe", "is none of its words"},
    {"category words=a,b", "b", "SECRETc", "is none of its words"},
    {"category words=a,b", "a", "\xe4SECRET", "is none of its words"},
    {"ordinal words=I,II,III", "II", "SECRETIV", "is none of its words"},
    {"date format=%Y-%m-%d from=2015-01-01", "2015-03-04", "2015-02-30", "is not a date of the calendar"},
    {"date format=%d.%m.%Y from=2015-01-01", "04.03.2015", "2015-03-04SECRET", "is not a date of the calendar"},
};
constexpr std::size_t wrong = 60;  // columns
const Kind& kind_of(std::size_t column) { return kinds[column % kinds.size()]; }
std::size_t row_of(std::size_t column) { return 7 * column % 211; }  // in which it is wrong

class WrongColumns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    std::ofstream table(path("t.csv"), std::ios::binary), columns(path("columns.txt"));
    for (std::size_t c = 0; c < wrong; ++c) {
      table << "c" << c << ",";
      columns << "c" << c << " " << kind_of(c).line << "\n";
    }
    table << "y\n";
    columns << "y label positive=dead\n";
    for (std::size_t row = 0; row < 211; ++row) {
      for (std::size_t c = 0; c < wrong; ++c)
        table << '"' << (row_of(c) == row ? kind_of(c).bad : kind_of(c).good) << "\",";
      table << (row == 100 ? "SECRETlabel" : row % 2 == 0 ? "dead" : "alive") << "\n";
    }
    std::ofstream(path("t.ini")) << "[data]\ntrain = t.csv\ncolumns = columns.txt\nheader = yes\nblocks = 5\n"
                                    "[method]\nbatch = 10\nsteps = 2\n[privacy]\nepsilon = 1\n[run]\ndir = out\n";
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_WrongColumns"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  // mpirun may put its own notice in the middle of a long message that goes through it, so this one does not.
  static test::Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string command = fmt::format("{} {}", test::program(), arguments);
    if (ranks == 1) return test::run_command(fmt::format("cd {} && {}", folder(), command));
    return test::run_command(
        fmt::format("cd {} && rm -f said && mpirun -n {} sh -c \"{} 2>>said\"; code=$?; cat said; exit $code",
                    folder(), ranks, command));
  }
  /// The lines of the program's message, without what mpirun adds.
  static std::string answer(const test::Outcome& outcome) {
    std::istringstream lines(outcome.output);
    std::string kept;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("dpmpi: ") || line.starts_with("  /")) kept += line + "\n";
    return kept;
  }
};

TEST_F(WrongColumns, SixtyOfATableAreToldInOneAnswer) {
  const std::string alone = answer(dpmpi("check t.ini"));
  std::size_t after = 0;
  for (std::size_t row = 0; row < 211; ++row)  // in the order of the lines
    for (std::size_t c = 0; c < wrong; ++c) {
      if (row_of(c) != row) continue;
      const std::string place = fmt::format("t.csv:{}: column 'c{}': ", row + 2, c);
      const std::size_t at = alone.find(place, after);
      ASSERT_NE(at, alone.npos) << place << "\n" << alone;
      after = alone.find('\n', at);
      const std::string line = alone.substr(at, after - at);
      EXPECT_NE(line.find(kind_of(c).said), line.npos) << line;
      EXPECT_NE(line.find(fmt::format("columns.txt:{}", c + 1)), line.npos) << line;
    }
  EXPECT_EQ(alone.find("SECRET"), alone.npos) << alone;
  EXPECT_EQ(alone.find("5EC2E7"), alone.npos) << alone;
  for (const char* const command : {"check t.ini", "train --config t.ini"})
    for (const int ranks : {1, 3, 5}) {
      const test::Outcome outcome = dpmpi(command, ranks);
      EXPECT_EQ(outcome.code, 3) << outcome.output;
      EXPECT_EQ(answer(outcome), alone);
    }
  EXPECT_FALSE(fs::exists(path("out/ledger.jsonl")));
}

// Of each there is one in a table.
TEST_F(WrongColumns, WeightsAndExposuresAreToldBesideTheOthers) {
  std::ofstream(path("w.txt")) << "c number\nw weight range=0..20\ne exposure range=0.1..1 missing=NULL\ny label\n";
  std::ofstream table(path("w.csv"));
  table << "c,w,e,y\n";
  for (int row = 0; row < 50; ++row)
    table << (row == 11 ? "SECRETnumber" : "1") << ','
          << (row == 7   ? "SECRETheavy"
              : row == 9 ? ""
                         : "-1e9")
          << ',' << (row == 20 ? "NULL" : "0") << ",3\n";
  table.close();
  const std::string settings =
      " --set data.train=w.csv --set data.columns=w.txt --set objective.name=poisson --set method.batch=5";
  const std::string alone = answer(dpmpi("check t.ini" + settings));
  for (const char* const said : {"w.csv:9: column 'w': ", "w.txt:2 says weight",
                                 "w.csv:13: column 'c': ", "w.csv:22: column 'e': missing value",
                                 "w.txt:3 says neither impute= (the public value"})
    EXPECT_NE(alone.find(said), alone.npos) << said << "\n" << alone;
  EXPECT_EQ(alone.find("SECRET"), alone.npos) << alone;
  EXPECT_EQ(answer(dpmpi("check t.ini" + settings, 3)), alone);
}

// One clear message where nobody would heed them, and where they cannot be kept.
TEST_F(WrongColumns, WeightsAndExposuresThatNobodyHeedsAreRefused) {
  std::ofstream(path("v.csv")) << "c,w,e,y\n1,2,1,1\n2,1,0.5,1\n";
  std::ofstream(path("w.txt")) << "c number\nw weight range=0..20\ne exposure range=0.1..1\ny label\n";
  std::ofstream(path("w1.txt")) << "c number\nw weight range=0..20\ne ignore\ny label\n";
  std::ofstream(path("v.ini"))
      << "[data]\ntrain = v.csv\nheader = yes\nblocks = 1\n[privacy]\nepsilon = 1\n[run]\ndir = out\n";
  const auto said = [](const std::string& settings, const char* columns = "w.txt") {
    const test::Outcome outcome = dpmpi(fmt::format("check v.ini --set data.columns={} {}", columns, settings));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    return outcome.output;
  };
  EXPECT_NE(said("--set objective.name=squared")
                .find("w.txt:3: column 'e' is of kind exposure, which objective.name "
                      "= squared does not heed: poisson does"),
            std::string::npos);
  const std::string both = said("--set objective.name=mallows");
  EXPECT_NE(both.find("column 'w' is of kind weight, which objective.name = mallows"), both.npos) << both;
  EXPECT_NE(both.find("column 'e' is of kind exposure"), both.npos) << both;
  EXPECT_NE(said("--set objective.name=mean", "w1.txt").find("column 'w' is of kind weight"), std::string::npos);
  const std::string saddle = "--set objective.name=auc --set objective.prior=0.5 --set method.name=dp-sgda";
  const std::string no_mean = said(saddle, "w1.txt");
  EXPECT_NE(no_mean.find("objective.mean_weight is required, because "), no_mean.npos) << no_mean;
  EXPECT_NE(no_mean.find("w1.txt:2: column 'w' is of kind weight"), no_mean.npos) << no_mean;
  const std::string counted =
      said(saddle + " --set objective.mean_weight=0.1 --set method.prior=private", "w1.txt");
  EXPECT_NE(counted.find("method.prior = private counts positive records, and "), counted.npos) << counted;
  EXPECT_NE(said(saddle).find("column 'e' is of kind exposure"), std::string::npos);
  const std::string steps = said("--set objective.name=squared --set method.name=ht-known-lipschitz", "w1.txt");
  EXPECT_NE(steps.find("w1.txt:2: column 'w' is of kind weight, which clamped steps do not heed"), steps.npos)
      << steps;
  const std::string hidden = said("--set objective.name=poisson --set method.name=zo-hidden");
  EXPECT_NE(hidden.find("w.txt:3: column 'e' is of kind exposure, which "), hidden.npos) << hidden;
  EXPECT_EQ(hidden.find("column 'w'"), hidden.npos) << hidden;
  const test::Outcome converted =
      dpmpi("convert v.csv --output v.bin --set data.header=yes --set data.columns=w.txt");
  EXPECT_EQ(converted.code, 2) << converted.output;
  for (const char* const kind : {"column 'w' (", "column 'e' ("})
    EXPECT_NE(converted.output.find(std::string("convert writes features and labels: ") + kind),
              converted.output.npos)
        << converted.output;
}

TEST_F(WrongColumns, NamesThatAreMissingOrNotKnownAreToldTogether) {
  std::ofstream columns(path("others.txt"));
  for (std::size_t c = 0; c < wrong; ++c) columns << "d" << c << " number\n";
  columns << "y label positive=dead\n";
  columns.close();
  const test::Outcome outcome = dpmpi("check t.ini --set data.columns=others.txt");
  EXPECT_NE(outcome.code, 0);
  for (std::size_t c = 0; c < wrong; ++c)
    for (const char* const name : {"c", "d"}) {
      const std::string word = fmt::format("{}{}", name, c);
      EXPECT_NE(outcome.output.find(word), std::string::npos) << word << "\n" << outcome.output;
    }
}

TEST_F(WrongColumns, FiftyLinesOfAColumnsFileAreToldInOneAnswer) {
  const std::vector<std::pair<const char*, const char*>> lines{{"numbr", "numbr"},
                                                               {"number range=5..1", "range"},
                                                               {"category", "words"},
                                                               {"number std=0", "std"},
                                                               {"date format=%Y", "from"},
                                                               {"ordinal words=I", "words"},
                                                               {"yes/no true=a,b true=c", "true"},
                                                               {"number center=1", "center"},
                                                               {"category words=a,a", "a"},
                                                               {"date format=%Q from=2015-01-01", "%Q"}};
  std::ofstream columns(path("wrong.txt"));
  for (std::size_t i = 0; i < 50; ++i) columns << "c" << i << " " << lines[i % lines.size()].first << "\n";
  columns.close();
  const test::Outcome outcome = dpmpi("check t.ini --set data.columns=wrong.txt");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  for (std::size_t i = 0; i < 50; ++i) {
    const std::size_t at = outcome.output.find(fmt::format("wrong.txt:{}: ", i + 1));
    ASSERT_NE(at, std::string::npos) << i << "\n" << outcome.output;
    const std::string line = outcome.output.substr(at, outcome.output.find('\n', at) - at);
    EXPECT_NE(line.find(lines[i % lines.size()].second), line.npos) << line;
  }
}

}  // namespace
}  // namespace dpmpi::wrong_columns_test
