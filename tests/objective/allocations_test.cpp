#include "support/allocations.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "core/aligned.hpp"

namespace dpmpi::test::allocations_test {

TEST(Allocations, PlainAndAlignedOnesAreCounted) {
  const std::size_t before = allocation_count();
  auto plain = std::make_unique<int>(1);
  AlignedVector<float> aligned(100, 0.0F);
  EXPECT_EQ(allocation_count() - before, 2U);
  EXPECT_EQ(*plain, 1);
  EXPECT_EQ(aligned[99], 0.0F);
}

}  // namespace dpmpi::test::allocations_test
