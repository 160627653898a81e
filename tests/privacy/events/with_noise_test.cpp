#include <gtest/gtest.h>

#include "privacy/events/with_noise.hpp"

namespace dpmpi::with_noise_test {
namespace {

TEST(WithNoise, GrowsWhereverThereIsSome) {
  const std::vector<Event> before{{Gaussian{2}, 3},
                                  {PoissonGaussian{0.1, 1}, 5},
                                  {Laplace{3}, 1},
                                  {Gdp{1}, 1},
                                  {Zcdp{.rho = 1}, 1},
                                  {ApproxDp{1, 1e-6}, 2},
                                  {RepeatAndSelect{{}, {{Gaussian{1}, 1}}}, 1}};
  const std::vector<Event> after{{Gaussian{4}, 3},
                                 {PoissonGaussian{0.1, 2}, 5},
                                 {Laplace{6}, 1},
                                 {Gdp{0.5}, 1},
                                 {Zcdp{.rho = 0.25}, 1},
                                 {ApproxDp{0.5, 1e-6}, 2},
                                 {RepeatAndSelect{{}, {{Gaussian{2}, 1}}}, 1}};
  EXPECT_TRUE(same_events(with_noise(before, 2), after));
  EXPECT_TRUE(same_events(with_noise(after, 0.5), before));
}

}  // namespace
}  // namespace dpmpi::with_noise_test
