#include "privacy/curator/noise_slice.hpp"

#include <gtest/gtest.h>

namespace dpmpi::noise_slice_test {
namespace {

TEST(NoiseSlices, AreAllCoordinatesOnceFromBlocksOfTheCipherOn) {
  for (const std::size_t dim : {1, 7, 8, 9, 15, 16, 17, 63, 1000, 1024, 203530})
    for (const int ranks : {1, 2, 3, 5, 8, 48, 3072}) {
      std::size_t next = 0, least = dim, most = 0;
      for (int r = 0; r < ranks; ++r) {
        const Slice slice = slice_of(dim, r, ranks);
        ASSERT_EQ(slice.first, next) << dim << " on " << ranks;
        ASSERT_EQ(slice.first % 8, 0u);
        ASSERT_LE(slice.first, slice.last);
        next = slice.last;
        least = std::min(least, slice.size()), most = std::max(most, slice.size());
      }
      EXPECT_EQ(next, dim) << ranks;
      EXPECT_LE(most, least + 16) << "a block more, and the last block is short";
    }
}

TEST(NoiseSlices, OverlapOfAPiece) {
  const Slice slice{16, 40};
  EXPECT_EQ(slice.within({0, 100}).size(), 24u);
  EXPECT_EQ(slice.within({0, 20}).last, 20u);
  EXPECT_EQ(slice.within({32, 64}).first, 32u);
  EXPECT_EQ(slice.within({0, 16}).size(), 0u);
  EXPECT_EQ(slice.within({48, 64}).size(), 0u);
}

}  // namespace
}  // namespace dpmpi::noise_slice_test
