#include "privacy/curves/buffer_search.hpp"

#include <cmath>
#include <cstdint>
#include <iostream>

#include <gtest/gtest.h>

#include "privacy/curves/strategy.hpp"
#include "problems/least_error.hpp"

namespace dpmpi::buffer_search_test {
namespace {

// Squared sensitivity times mean variance.
double error(const Buffers& buffers, std::uint64_t leaves, Participations p = {}) {
  Tree tree{Strategy::blt, leaves, 1};
  tree.buffers = buffers;
  if (p.count > 1) tree.participations = p.count, tree.separation = p.separation;
  return squared_sensitivity(tree) * mean_prefix_noise_variance(tree);
}

double error(Strategy strategy, std::uint64_t leaves) {
  const Tree tree{strategy, leaves, 1};
  return squared_sensitivity(tree) * mean_prefix_noise_variance(tree);
}

// Toeplitz matrices do not get nearer: their late columns are shorter than their first, which pays for no privacy.
TEST(BufferSearch, IsNearTheBestOfAllFactorisations) {
  for (const std::uint64_t n : {4u, 16u, 64u}) {
    const double least = std::sqrt(test::least_error_of_prefixes(static_cast<Eigen::Index>(n)));
    const double found = std::sqrt(error(best_buffers(4, n, {}), n));
    EXPECT_GE(found, least * (1 - 1e-9)) << n;
    EXPECT_LE(found, 1.04 * least) << n;
  }
}

TEST(BufferSearch, HasLessErrorThanOtherStrategies) {
  for (const std::uint64_t n : {100u, 1000u, 10000u, 100000u}) {
    const Buffers found = best_buffers(4, n, {});
    EXPECT_LT(error(found, n), error(Strategy::sqrt_toeplitz, n)) << n;
    EXPECT_LT(error(found, n), error(lambda_buffer(best_lambda(n, {})), n)) << n;
    EXPECT_LT(error(lambda_buffer(best_lambda(n, {})), n), error(Buffers{}, n)) << n;
  }
}

TEST(BufferSearch, FindsMoreWithMoreBuffersAndStopsWhereTheyGainNothing) {
  const Participations ten{10, 1000};
  double before = error(Buffers{}, 10000, ten);
  for (std::size_t most = 1; most <= 4; ++most) {
    const Buffers found = best_buffers(most, 10000, ten);
    EXPECT_LE(found.count, most);
    EXPECT_LE(error(found, 10000, ten), before) << most;
    before = error(found, 10000, ten);
  }
  EXPECT_LT(std::sqrt(before), 14.52);
  EXPECT_EQ(best_buffers(4, 1, {}).count, 0u);
  EXPECT_LT(best_buffers(5, 16, {}).count, 4u);
}

/// Buffers of another implementation, as its tests have them: JAX Privacy 52e9674f, buffered_toeplitz_test.py.
struct Published {
  std::uint64_t leaves;
  Participations of_record;
  Buffers buffers;
};
const Published published_buffers[] = {
    {100000, {}, {2, {0.9999528892, 0.9857068667}, {0.0122853238, 0.1878393665}}},
    {1000, {2, 5}, {1, {0.9877027559462715}, {0.10595704738115597}}},
    {1000, {2, 5}, {2, {0.993433070819512, 0.6342644427247973}, {0.07538320617916519, 0.5144060910151949}}},
    {1000,
     {2, 5},
     {3,
      {0.9934331427558322, 0.6342832547407998, 0.6342732636848848},
      {0.07538346317367392, 0.4808525558278832, 0.0335536865929295}}}};

// docs/results/running_sums.md has the figures, which this prints.
TEST(BufferSearch, IsNotBehindPublishedBuffers) {
  for (const Published& other : published_buffers) {
    const double theirs = std::sqrt(error(other.buffers, other.leaves, other.of_record));
    const double ours = std::sqrt(
        error(best_buffers(other.buffers.count, other.leaves, other.of_record), other.leaves, other.of_record));
    EXPECT_LE(ours, theirs) << other.leaves << ' ' << other.buffers.count;
    std::cout << other.leaves << " leaves, " << other.of_record.count << " participations, " << other.buffers.count
              << " buffers: " << ours << ", published " << theirs << '\n';
  }
}

TEST(BufferSearch, TheBestLambdaIsAMinimum) {
  for (const auto& [n, p] : {std::pair{50u, Participations{}}, {2000u, {}}, {3100u, {10, 310}}}) {
    const double found = best_lambda(n, p), rest = 1 - found, least = error(lambda_buffer(found), n, p);
    for (const double factor : {0.8, 1.25}) EXPECT_GT(error(lambda_buffer(1 - factor * rest), n, p), least) << n;
  }
}

// Plan and ledger name these numbers: they must not depend on the machine or the compiler's optimisation.
TEST(BufferSearch, HasTheSameBitsEverywhere) {
  const Buffers found = best_buffers(2, 1000, {});
  ASSERT_EQ(found.count, 2u);
  EXPECT_EQ(found.decay[0], 0x1.fe099a899e7f7p-1);
  EXPECT_EQ(found.weight[1], 0x1.52d3d0df3889ap-2);
  EXPECT_EQ(best_lambda(1000, {}), 0x1.e99915afc7118p-1);
}

double error_of_band(const Buffers& buffers, std::uint64_t leaves, std::uint64_t band) {
  Tree tree{Strategy::banded_blt, leaves, 1, band};
  tree.buffers = buffers;
  return squared_sensitivity(tree) * mean_prefix_noise_variance(tree);
}

// Beside it, the least error of all bands of so many coefficients, by a quasi-Newton search over each of them that
// shares no code with the program.
TEST(BufferSearch, ABandOfOneBufferIsNearTheBestBandAndBelowTheSquareRoots) {
  struct Row {
    std::uint64_t leaves, band;
    double root, best;  // root mean squares
  };
  for (const auto& [leaves, band, root, best] :
       {Row{320, 2, 9.4722, 9.0835}, Row{320, 8, 5.4475, 5.0022}, Row{2000, 4, 17.6719, 16.0325},
        Row{2000, 16, 9.9701, 8.5346}, Row{2000, 32, 7.5391, 6.4826}, Row{20000, 16, 31.1722, 25.4510},
        Row{20000, 64, 17.2741, 13.4448}}) {
    const Tree square_root{Strategy::banded, leaves, 1, band};
    EXPECT_NEAR(std::sqrt(squared_sensitivity(square_root) * mean_prefix_noise_variance(square_root)), root, 1e-4);
    const double found = std::sqrt(error_of_band(best_band_buffer(leaves, band), leaves, band));
    EXPECT_GE(found, best * (1 - 1e-5)) << leaves << ' ' << band;
    EXPECT_LE(found, best * 1.006) << leaves << ' ' << band;
  }
  const double longest = error_of_band(best_band_buffer(100000, 64), 100000, 64);
  const Tree square_root{Strategy::banded, 100000, 1, 64};
  EXPECT_LT(longest, squared_sensitivity(square_root) * mean_prefix_noise_variance(square_root));
}

}  // namespace
}  // namespace dpmpi::buffer_search_test
