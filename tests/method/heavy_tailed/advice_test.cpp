#include "method/heavy_tailed/advice.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "problems/trial.hpp"
#include "support/text.hpp"

namespace dpmpi::advice_test {
namespace {

const auto objective = [] { return test::make_objective("logistic", {4, Storage::dense_f32, 0}); };

using test::contains;

// n mu / sqrt(d) with d = 4: steps by the regime of the task.
TEST(HeavyTailAdvice, StepsFollowTheSignal) {
  const auto f = objective();
  const auto advice = [&](double s) {
    return descent_advice({{1000, 4, Storage::dense_f32}, f.get(), Adjacency::replace_one}, s * 2 / 1000);
  };
  EXPECT_TRUE(contains(advice(9.9), "= 9.9: below 10 expect no signal"));
  EXPECT_TRUE(contains(advice(10.1), "10 to 20 steps"));
  EXPECT_TRUE(contains(advice(99), "10 to 20 steps"));
  EXPECT_TRUE(contains(advice(101), "20 to 60 steps"));
  EXPECT_TRUE(contains(advice(9900), "20 to 60 steps"));
  EXPECT_TRUE(contains(advice(10100), "60 to 200 steps"));
}

TEST(HeavyTailAdvice, EveryMethodGivesIt) {
  const auto f = objective();
  for (const char* name : {"clipped-gd", "ht-glm", "ht-localize", "ht-known-lipschitz"})
    for (const std::uint64_t n : {20'000u, 2'000'000u}) {
      std::map<std::string, std::string> options;
      if (std::string(name) == "ht-known-lipschitz") options["certificate"] = "0.1";
      const PublicFacts facts{{n, 4, Storage::dense_f32}, f.get(), Adjacency::replace_one, 0.5};
      const auto plan = test::make_settings(name, options)->plan(facts);
      const std::string text = plan->notes(test::queries_of(*plan, facts, 2));
      EXPECT_TRUE(contains(text, "n mu / sqrt(d) = ")) << name;
      const bool passes = std::string(name) != "clipped-gd";
      EXPECT_EQ(contains(text, "clipped-gd has the smaller error"), passes && n < 1'000'000) << name;
    }
}

}  // namespace
}  // namespace dpmpi::advice_test
