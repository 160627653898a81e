#pragma once
// Numbers against references.

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace dpmpi::test {

/// Up to a relative error.
inline void expect_close(double value, double expected, double tolerance = 1e-6, const std::string& what = "") {
  EXPECT_LE(std::abs(value - expected), tolerance * std::abs(expected))
      << what << ": " << value << " instead of " << expected;
}

}  // namespace dpmpi::test
