// What noisy counts of classes let a run say: the accuracy of the largest class, and which classes are hardly
// there.
#include "run/warnings/class_balance.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/records/text.hpp"

namespace dpmpi::class_balance_test {
namespace {

constexpr std::size_t classes = 4;

/// Noisy counts of four classes, as preparation.json has them, in deviations of their noise.
struct CountedClasses {
  CountedClasses() {
    for (const QuerySpec& spec : plan.queries(1))
      queries.push_back(
          Query::declare(spec, static_cast<std::uint32_t>(queries.size()), Adjacency::add_remove, 1000));
    noise_std = queries.back().noise_std;
  }
  Preparation of(const std::vector<double>& deviations) const {
    nlohmann::json column, balance;
    column["octaves"] = std::vector<double>(OctaveCells::count);
    for (const char* even : {"zoom", "values"}) column[even] = std::vector<double>(EvenCells::count);
    for (const double count : deviations) balance["counts"].push_back(count * noise_std);
    Preparation preparation(file, plan.words, queries);
    preparation.read({{"columns", {column}}, {"class_balance", balance}});
    return preparation;
  }

  ColumnsFile file{"x number\ny label\n", "columns.txt"};
  PreparationPlan plan = PreparationPlan::of(
      file, WordCells::of(file, ClassCells::of(file, LabelKind::class_, classes), 0), 0.1, 1, 9);
  std::vector<Query> queries;
  double noise_std = 0;
};

// The largest of many counts that are noise is above all of them: its share would be called the accuracy of a model
// that says always the same.
TEST(ClassBalance, TheAccuracyOfOneClassIsSaidWhereItsCountIsBeyondFiveDeviations) {
  const CountedClasses counted;
  EXPECT_TRUE(balance_measures(counted.of({4.9, 4.8, 4.9, 4.7})).empty())
      << "their sum stands out, and none of them";
  EXPECT_TRUE(balance_measures(counted.of({5, 4, 4, 3})).empty());
  const auto found = balance_measures(counted.of({5.1, 5.1, 5.1, 5.1}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "constant.prepared_accuracy");
  EXPECT_NEAR(found[0].value, 0.25, 1e-12);
  EXPECT_NEAR(balance_measures(counted.of({60, 20, -1, 20}))[0].value, 0.6, 1e-12) << "no count is below 0";
}

TEST(ClassBalance, AWarningNamesClassesWithinTheNoiseAndHowLargeItIs) {
  const CountedClasses counted;
  EXPECT_FALSE(scarce_classes(counted.of({60, 20, 3.1, 20})).has_value());
  const auto one = scarce_classes(counted.of({60, 20, 2.9, 20}));
  ASSERT_TRUE(one.has_value());
  EXPECT_NE(one->text.find("of 1 class (" + show("2") + ")"), std::string::npos) << one->text;
  EXPECT_NE(one->text.find("noise, of deviation " + three_digits_text(counted.noise_std)), std::string::npos)
      << one->text;
  const auto three = scarce_classes(counted.of({60, -3, 0, 1}));
  ASSERT_TRUE(three.has_value());
  EXPECT_NE(three->text.find("of 3 classes (" + show("1") + ", " + show("2") + ", " + show("3") + ")"),
            std::string::npos)
      << three->text;
}

}  // namespace
}  // namespace dpmpi::class_balance_test
