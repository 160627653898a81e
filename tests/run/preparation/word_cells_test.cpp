// What noisy counts of words say: shares, and which words are rare.
#include "run/preparation/word_cells.hpp"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/columns/added_attributes.hpp"

namespace dpmpi::word_cells_test {
namespace {

using WordList = std::vector<std::string>;

TEST(WordCells, AreThoseOfLabelsAndOfCategoriesWhoseRareWordsNobodyNames) {
  const ColumnsFile file(
      "a number\nb category words=x,y other\nc category words=u,v rare=u\nd category words=u indicator\n"
      "y label classes=low,high\n",
      "c.txt");
  EXPECT_EQ(categories_without_rare(file), (std::vector<std::size_t>{1, 3}));
  const auto classes = [&](LabelKind kind, std::size_t n) { return ClassCells::of(file, kind, n); };
  const WordCells cells = WordCells::of(file, classes(LabelKind::class_, 2), 0.1);
  EXPECT_EQ(cells.classes.names, (WordList{"low", "high"}));
  EXPECT_EQ(cells.groups(), 3U);
  EXPECT_EQ(cells.count(), 2U + 3U + 2U);
  EXPECT_EQ(WordCells::of(file, classes(LabelKind::class_, 3), 0).count(), 3U);
  EXPECT_EQ(WordCells::of(file, classes(LabelKind::real, 0), 0).groups(), 0U) << "quantities are not counted";
  EXPECT_EQ(classes(LabelKind::sign, 0).cell(-1), 0U);
  EXPECT_EQ(classes(LabelKind::sign, 0).cell(1), 1U);
  EXPECT_EQ(classes(LabelKind::class_, 3).cell(2), 2U);
}

TEST(WordCells, SharesAreThoseOfWhatStandsOutOfNoise) {
  EXPECT_EQ(shares_of(std::vector<double>{30, 10, -20}, 0), (std::vector<double>{0.75, 0.25, 0}));
  EXPECT_TRUE(shares_of(std::vector<double>{30, 10, -20}, 20).empty());
  EXPECT_TRUE(shares_of(std::vector<double>{0, 0}, 0).empty()) << "nobody is there";
  EXPECT_TRUE(shares_of({}, 1).empty());
}

TEST(WordCells, RareWordsAreBelowTheShare) {
  const ColumnsFile file("b category words=x,y,z other\nn number\n", "c.txt");
  const std::vector<double> counts{700, 9, 11, 280};
  EXPECT_EQ(rare_words(file.columns[0], counts, 0, 0.01), WordList{"y"});
  EXPECT_EQ(rare_words(file.columns[0], counts, 0, 0.3), (WordList{"y", "z"})) << "other words are no word";
  EXPECT_EQ(rare_words(file.columns[0], counts, 1e4, 0.3), WordList{}) << "nothing is known";
}

/// A word well above the threshold or below it is told apart through the noise of epsilon 1 and 10,000 records.
TEST(WordCells, NoiseMovesOnlyWordsNearTheThreshold) {
  const ColumnsFile file("b category words=often,seldom,never\nn number\n", "c.txt");
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 40);
  for (int round = 0; round < 200; ++round) {
    const std::vector<double> counts{9700 + noise(random), 300 + noise(random), noise(random)};
    const WordList rare = rare_words(file.columns[0], counts, 40, 0.03 / 2);
    EXPECT_EQ(rare, WordList{"never"});
  }
}

}  // namespace
}  // namespace dpmpi::word_cells_test
