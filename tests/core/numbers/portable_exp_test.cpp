#include "core/numbers/portable_exp.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace dpmpi::portable_exp_test {
namespace {

TEST(PortableExp, IsExact) {
  for (double x = -700; x <= 700; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 4e-16) << x;
}

}  // namespace
}  // namespace dpmpi::portable_exp_test
