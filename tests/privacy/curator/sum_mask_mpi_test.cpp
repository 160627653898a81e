#include "privacy/curator/sum_mask.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include "support/mpi_harness.hpp"

namespace dpmpi::sum_mask_mpi_test {
namespace {

// What a rank sends looks uniform whatever its sum is; the masks of all ranks cancel to the last bit; those of any
// proper subset do not; and no two steps or sites share a mask.
TEST(SumMask, HidesEveryPartialSumAndCancelsInTheFullOne) {
  test::for_each_size({3, 4, 5, 8}, [](const Communicator& comm) {
    constexpr std::size_t dim = 3000;
    SumMask mask(comm, comm.is_root() ? std::optional(SecretKey::from_seed(1)) : std::nullopt);
    std::vector<std::int64_t> message(dim, 7 * (comm.rank() + 1)), other(dim, 0), third(dim, 0);
    mask.apply(message, 5, 0);
    mask.apply(other, 6, 0);
    mask.apply(third, 5, 1);
    double ones = 0;
    for (std::size_t j = 0; j < dim; ++j) {
      ones += std::popcount(static_cast<std::uint64_t>(message[j]));
      ASSERT_NE(message[j], other[j]);
      ASSERT_NE(message[j], third[j]);
    }
    EXPECT_NEAR(ones, 32.0 * dim, 5 * std::sqrt(16.0 * dim));

    // Every subset that misses one rank still looks uniform at the root.
    for (int missing = 0; missing < comm.size(); ++missing) {
      std::vector<std::int64_t> partial = comm.rank() == missing ? std::vector<std::int64_t>(dim, 0) : message;
      comm.sum_to_root(partial);
      if (!comm.is_root()) continue;
      double partial_ones = 0;
      for (const auto word : partial) partial_ones += std::popcount(static_cast<std::uint64_t>(word));
      EXPECT_NEAR(partial_ones, 32.0 * dim, 5 * std::sqrt(16.0 * dim));
    }
    comm.sum_to_root(message);
    if (comm.is_root()) {
      for (const auto word : message) ASSERT_EQ(word, 7 * comm.size() * (comm.size() + 1) / 2);
    }
  });
}

}  // namespace
}  // namespace dpmpi::sum_mask_mpi_test
