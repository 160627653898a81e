#pragma once
// Gradients against differences of values.

#include <functional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "objective/property_case.hpp"

namespace dpmpi::test {

/// Central differences of `value` by coordinates first, first + stride, ... against `gradient`, relative to its
/// norm.
inline void expect_slopes(const std::function<double(std::span<const double>)>& value, std::vector<double> w,
                          std::size_t first, std::span<const double> gradient, std::size_t stride) {
  const double size = norm_of(gradient);
  ASSERT_GT(size, 1e-3);
  for (std::size_t j = 0; j < gradient.size(); j += stride) {
    const double here = w[first + j], step = 1e-6;
    w[first + j] = here + step;
    const double above = value(w);
    w[first + j] = here - step;
    const double below = value(w);
    w[first + j] = here;
    EXPECT_NEAR((above - below) / (2 * step), gradient[j], 1e-5 * size) << "coordinate " << j;
  }
}

}  // namespace dpmpi::test
