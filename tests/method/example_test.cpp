// The method of examples/method, which docs/developer/adding_a_method.md explains: it takes the steps of dp-sgd on
// all records.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "problems/trial.hpp"

namespace dpmpi::example_test {
namespace {

TEST(ExampleMethod, TakesTheStepsOfDpSgdOnAllRecords) {
  const auto trial = [](const char* name, const std::map<std::string, std::string>& sampling) {
    return test::Trial(name, test::with({{"steps", "5"}, {"clip", "0.8"}, {"rate", "2"}}, sampling), 1.5,
                       test::make_objective("logistic", {6, Storage::dense_f32, 1}),
                       test::random_shard({Storage::dense_f32, 300, 6, 1, LabelKind::sign}, 2),
                       Adjacency::add_remove);
  };
  for (const double l2 : {0.0, 0.05}) {
    test::Trial descent = trial("descent", {}), dp_sgd = trial("dp-sgd", {{"sampling", "full"}});
    descent.objective->l2 = dp_sgd.objective->l2 = l2;
    descent.run();
    dp_sgd.run();
    for (std::size_t j = 0; j < 7; ++j)
      EXPECT_NEAR(descent.iterate()[j], dp_sgd.iterate()[j], 1e-6) << "l2 " << l2 << ", coordinate " << j;
    EXPECT_EQ(descent.ledger->events(), dp_sgd.ledger->events());
  }
}

}  // namespace
}  // namespace dpmpi::example_test
