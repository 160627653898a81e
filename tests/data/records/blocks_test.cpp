// Which rank owns which blocks.
#include <gtest/gtest.h>

#include "data/records/blocks.hpp"

namespace dpmpi::blocks_test {
namespace {

std::uint32_t blocks_of_root(int ranks, double own_work, double afterwards = 0) {
  const Ownership o = Ownership::balanced(16, ranks, own_work, afterwards);
  EXPECT_EQ(o.first.front(), 0U);
  EXPECT_EQ(o.first.back(), 16U);
  for (int r = 0; r < ranks; ++r) EXPECT_LT(o.begin(r), o.end(r)) << "rank " << r;
  return o.end(0);
}

TEST(Ownership, LeavesTheRootTimeForItsOwnWork) {
  EXPECT_EQ(blocks_of_root(1, 1000), 16U) << "nobody else is there";
  EXPECT_EQ(blocks_of_root(2, 0), 8U);
  EXPECT_EQ(blocks_of_root(2, 4), 6U);
  EXPECT_EQ(blocks_of_root(4, 2), 3U);
  EXPECT_EQ(blocks_of_root(4, 1000), 1U);
}

// 4 blocks' worth of its own work, while the others do theirs; then all wait for who has most blocks.
TEST(Ownership, IsEvenWhereMostOfTheWorkComesAfterTheRoots) {
  EXPECT_EQ(blocks_of_root(2, 4, 0.5), 6U);
  EXPECT_EQ(blocks_of_root(2, 4, 2), 8U);
  EXPECT_EQ(blocks_of_root(2, 1000, 1e6), 8U);
}

}  // namespace
}  // namespace dpmpi::blocks_test
