// Poisson batches of the size of an MNIST run: mean and deviation of their sizes, and no correlation between
// records.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "data/records/sampling.hpp"

namespace dpmpi::poisson_batches_test {
namespace {

// A18 of min-max methods.
TEST(Poisson, TrapBatchesAreIndependentRecordByRecord) {
  constexpr std::uint32_t n = 60000, batches = 1000, pairs = 1000;
  constexpr double q = 2048.0 / n;
  SecretStream stream(SecretKey::from_seed(8).derive("bits"));
  std::vector<std::vector<bool>> taken(batches, std::vector<bool>(n));
  std::vector<std::uint32_t> rows;
  double sum = 0, square = 0;
  for (std::uint32_t t = 0; t < batches; ++t) {
    select(Poisson{q}, 0, n, stream, 0, t, 0, rows);
    for (const auto i : rows) taken[t][i] = true;
    sum += static_cast<double>(rows.size());
    square += static_cast<double>(rows.size()) * static_cast<double>(rows.size());
  }
  const double mean = sum / batches;
  EXPECT_NEAR(mean, 2048, 4.3);
  EXPECT_NEAR(std::sqrt(square / batches - mean * mean), 44.476, 3.0);

  const PublicStream choice(1, "pairs");
  double correlation = 0;
  for (std::uint32_t p = 0; p < pairs; ++p) {
    const auto i = choice.below(2 * p, n), j = choice.below(2 * p + 1, n);
    if (i == j) continue;
    double both = 0;
    for (std::uint32_t t = 0; t < batches; ++t) both += ((taken[t][i] ? 1 : 0) - q) * ((taken[t][j] ? 1 : 0) - q);
    correlation += both / batches / (q * (1 - q)) / pairs;
  }
  EXPECT_NEAR(correlation, 0, 0.005);
}

}  // namespace
}  // namespace dpmpi::poisson_batches_test
