// Policy evaluation in the grid world, whose values are known, by the min-max methods.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/synthetic/environments.hpp"
#include "data/synthetic/generate.hpp"
#include "objective/td/factory.hpp"
#include "problems/trial.hpp"
#include "support/shards.hpp"

namespace dpmpi::td_test {
namespace {

const TdSettings table{.state = 16, .hidden = 0, .bias = 0, .discount = 0.9};

Shard logged_moves() {
  GenerateOptions o;
  o.kind = "gridworld";
  return test::one_block(generate_records(o, 0, 20000));
}

double projected_error(const test::Trial& trial) {
  return trial.objective->at(trial.algorithm->iterate()).measures(SetTotals(), trial.shard).at(0).value;
}

struct Outcome {
  double first_error, last_error;  ///< projected Bellman error of the records
  double value_error;              ///< largest of any cell
};

Outcome run(const std::string& method, double multiplier, const char* rate) {
  std::map<std::string, std::string> given{{"batch", "1000"},   {"steps", "4000"}, {"clip", "3"},
                                           {"dual_clip", "12"}, {"rate", rate},    {"dual_rate", "3"}};
  if (method.starts_with("private-diff")) {  // grad_theta = e (gamma s' - s) of unit vectors: l_xx = 0, l_xy < 1.9
    given["difference_slope"] = "0";
    given["difference_dual_slope"] = "1.9";
  }
  test::Trial trial(method, given, multiplier, make_td(table), logged_moves(), Adjacency::add_remove, 5);
  const std::vector<double> values = GridWorld::values(table.discount);
  Outcome outcome{};
  outcome.first_error = projected_error(trial);
  trial.run(trial.steps);
  const auto w = trial.iterate();
  outcome.last_error = projected_error(trial);
  for (std::size_t cell = 0; cell < 15; ++cell)
    outcome.value_error = std::max(outcome.value_error, std::abs(static_cast<double>(w[cell]) - values[cell]));
  return outcome;
}

TEST(MinimaxTd, FindsTheKnownValuesWithoutNoise) {
  for (const char* method : {"private-diff", "dp-sgda"}) {
    const Outcome o = run(method, 0, "5");
    EXPECT_LT(o.last_error, o.first_error / 100) << method;
    EXPECT_LT(o.value_error, 0.7) << method << ": of values up to 9";
  }
}

// With rates that the curvature of the dual allows, and clips that do not bind, differences find on a network what
// gradients find.
TEST(MinimaxTd, DifferencesDoAsWellAsGradientsOnANetwork) {
  GenerateOptions o;
  o.kind = "cartpole";
  std::map<std::string, double> last;
  for (const char* method : {"dp-sgda", "private-diff"}) {
    test::Trial trial(method,
                      {{"batch", "256"},
                       {"steps", "200"},
                       {"clip", "1000"},
                       {"dual_clip", "1000"},
                       {"rate", "0.2"},
                       {"dual_rate", "0.1"}},
                      0, make_td({.state = 4, .hidden = 16, .bias = 0}),
                      test::one_block(generate_records(o, 0, 2000)), Adjacency::add_remove, 5);
    const double first = projected_error(trial);
    trial.run();
    last[method] = projected_error(trial);
    EXPECT_LT(last[method], 0.7 * first) << method;
  }
  EXPECT_NEAR(last["private-diff"], last["dp-sgda"], 0.1 * last["dp-sgda"]);
}

TEST(MinimaxTd, LowersTheErrorWithNoise) {
  // private-diff's multiplier is that of the whole run: each of its 4000 dual steps has 0.02 sqrt(4000 / 0.1) = 4.
  for (const auto& [method, multiplier] : {std::pair{"private-diff", 0.02}, {"dp-sgda", 2.0}}) {
    const Outcome o = run(method, multiplier, "1");
    EXPECT_LT(o.last_error, o.first_error / 4) << method;
  }
}

}  // namespace
}  // namespace dpmpi::td_test
