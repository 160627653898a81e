// Columns of embeddings by their names: what the columns file says of them.
#include "run/config/embedded_columns.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::embedded_columns_test {
namespace {

// Features: age 1 and 2, ward 3 to 6, "home town" 7 and 8, grade 9, smokes 10.
constexpr const char* columns =
    "age number indicator\nnote ignore\nward category words=east,west,north other\n"
    "\"home town\" category words=a,b\ngrade ordinal words=1,2,3\nsmokes yes/no\ny label\n";

std::string resolved(const std::string& layers, const std::string& problem = "") {
  const ColumnsFile file(columns, "c.txt");
  std::vector<std::string> problems;
  const std::string text = with_embedded_columns(layers, &file, problems);
  EXPECT_EQ(problems.size(), problem.empty() ? 0U : 1U) << layers;
  if (!problem.empty() && !problems.empty()) EXPECT_MENTIONS(problems[0], problem);
  return text;
}

TEST(EmbeddedColumns, AreTheFeaturesOfTheirWords) {
  EXPECT_EQ(resolved("embedding 8 of ward, dense 3"), "embedding 8 of 3-6, dense 3");
  EXPECT_EQ(resolved("embedding 8 of \"home town\" ward,relu"), "embedding 8 of 3-6 7-8,relu") << "in their order";
  EXPECT_EQ(resolved("embedding 2 of 9-10 ward"), "embedding 2 of 3-6 9-10");
  EXPECT_EQ(resolved("relu, residual(embedding 1 of ward)"), "relu, residual(embedding 1 of 3-6)");
}

// Texts without names are part of digests.
TEST(EmbeddedColumns, WithoutNamesNothingChanges) {
  for (const char* const layers :
       {"", "dense 3", "embedding  8 of 3-40   43-50 , dense 32,\n relu", "embedding", "embedding 8",
        "embedding, of", "embedding 8 off ward", "embedding 8 of", "conv 3 \"quoted", "embedding 8 of 1-2)("})
    EXPECT_EQ(resolved(layers), layers);
}

TEST(EmbeddedColumns, OddNamesStandInQuotationMarks) {
  const auto of_odd = [](const std::string& layers, std::vector<std::string>& problems) {
    const ColumnsFile file("age number\n1-2 category words=a,b\n\"the \"\"C\"\"\" category words=a,b,c\ny label\n",
                           "c.txt");
    return with_embedded_columns(layers, &file, problems);
  };
  std::vector<std::string> problems;
  EXPECT_EQ(of_odd("embedding 8 of \"1-2\", relu", problems), "embedding 8 of 2-3, relu");
  EXPECT_EQ(of_odd("embedding 8 of \"the \"\"C\"\"\" \"1-2\", relu", problems), "embedding 8 of 2-3 4-6, relu");
  EXPECT_EQ(of_odd("embedding 8 of 01-2 4-6", problems), "embedding 8 of 01-2 4-6");
  EXPECT_EQ(problems, std::vector<std::string>());
  of_odd("embedding 8 of 1-2", problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_MENTIONS(problems[0], "embedding of 1-2: features FIRST-LAST are meant, or the column of c.txt");
  EXPECT_MENTIONS(problems[0], "write \"1-2\" in quotation marks for the column, or 01-2 for the features");
}

// What a finished run says of itself is read again.
TEST(EmbeddedColumns, ARangeThatIsAColumnsNameIsReadAgain) {
  const ColumnsFile file("\"1-2\" category words=a,b\n\"01-2\" category words=a,b,c\ny label\n", "c.txt");
  std::vector<std::string> problems;
  const std::string once = with_embedded_columns("embedding 2 of \"1-2\" \"01-2\"", &file, problems);
  EXPECT_EQ(once, "embedding 2 of 001-2 3-5");
  EXPECT_EQ(with_embedded_columns(once, &file, problems), once);
  EXPECT_TRUE(problems.empty());
}

TEST(EmbeddedColumns, BrokenQuotationMarksAreTold) {
  resolved("embedding 8 of \"home town, dense 3",
           "embedding of home town, dense 3: its quotation mark is not closed");
  resolved("embedding 8 of \"home town\"\"", "its quotation mark is not closed");
  resolved("embedding 8 of \"", "its quotation mark is not closed");
  resolved("embedding 8 of \"\", dense 3", "embedding of \"\": a column has a name");
  EXPECT_EQ(resolved("embedding 8 of \"\" ward, dense 3", "a column has a name"), "embedding 8 of 3-6, dense 3");
}

TEST(EmbeddedColumns, OtherNamesAreToldWithThoseThatThereAre) {
  resolved(
      "embedding 8 of wrd, dense 3",
      "objective.layers: embedding of wrd: c.txt has no column of kind category with this name; there are ward, "
      "home town");
  resolved("embedding 8 of age", "no column of kind category");
  std::vector<std::string> problems;
  with_embedded_columns("embedding 8 of ward", nullptr, problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_MENTIONS(problems[0], "names of columns need a columns file (data.columns)");
}

// A run's config has the features, so that it is read alike where the columns file is not.
TEST(EmbeddedColumns, AreNumbersInTheConfigOfARun) {
  const Folder folder;
  folder.write("c.txt", columns);
  folder.write("config.ini",
               "[data]\ntrain = a.csv\ncolumns = c.txt\n[objective]\nname = network\nclasses = 2\n"
               "layers = embedding 8 of \"home town\" ward, dense 2\n[privacy]\nepsilon = 1\n");
  const RunConfig config(folder.file("config.ini"), {});
  EXPECT_EQ(config.value("objective.layers"), "embedding 8 of 3-6 7-8, dense 2");
  EXPECT_NE(config.resolved().find("layers = embedding 8 of 3-6 7-8, dense 2\n"), std::string::npos);
  const std::string problems =
      message_of<ConfigError>([&] { RunConfig(folder.file("config.ini"), {"objective.layers=embedding 8 of x"}); });
  EXPECT_MENTIONS(problems, "embedding of x: ");
  EXPECT_EQ(problems.find("are missing"), problems.npos) << problems;
}

}  // namespace
}  // namespace dpmpi::test::embedded_columns_test
