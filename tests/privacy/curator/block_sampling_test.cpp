// What a rank learns from how many of its own records take part in a batch without replacement: nothing, because
// blocks have public quotas; and what it would learn from the quotas of a batch that is uniform over all records.

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "data/records/sampling.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/loss_distributions/pairs.hpp"

namespace dpmpi::block_sampling_test {
namespace {

const BlockLayout sites{10'100, 2, {0, 100, 10'100}};
constexpr std::uint64_t batch = 101;
constexpr double z = 2;  // over the sensitivity 2C, that is 4 C

// H_gamma, gamma = e^epsilon, of what one step tells about a record whose chance to take part is `rate`: it is C or
// -C on the line, and all others are 0.
double divergence(double rate, double epsilon) {
  if (rate == 0) return 0;
  const LossCut cut = opposite_gaussian_pair(rate, 2 * z).cut(epsilon);
  return cut.p_above - std::exp(epsilon) * cut.q_above;
}

// P{k of a batch from all records are from the small site}.
double hypergeometric(double k) {
  const auto log_choose = [](double n, double m) {
    return std::lgamma(n + 1) - std::lgamma(m + 1) - std::lgamma(n - m + 1);
  };
  return std::exp(log_choose(100, k) + log_choose(10'000, batch - k) - log_choose(10'100, batch));
}

TEST(BlockSampling, TheStatedEventCoversWhatARankSees) {
  const auto rule = std::get<WithoutReplacement>(stratified(WithoutReplacement{batch}, sites));
  const auto certified = make_accountant("rdp", Adjacency::replace_one);
  certified->compose(Event{WorGaussian{rule.among, rule.most, z}, 1});
  const double stated = static_cast<double>(rule.most) / static_cast<double>(rule.among);
  EXPECT_EQ(stated, 0.01);
  for (const double epsilon : {1e-4, 1e-3, 3e-3, 6e-3, 0.01, 0.02})
    for (std::uint64_t t = 0; t < 50; ++t)
      for (const std::uint32_t block : {0u, 1u}) {
        const double rate =
            static_cast<double>(block_quota(sites, batch, block, t)) / static_cast<double>(sites.size(block));
        EXPECT_LE(divergence(rate, epsilon), divergence(stated, epsilon));
        EXPECT_LE(divergence(rate, epsilon), certified->delta(epsilon));
      }
}

// Why quotas are not drawn: the large site would know the small one's, and what it sees given that number tells
// more than the rate b/n says, at every epsilon.
TEST(BlockSampling, DrawnQuotasWouldTellMore) {
  for (const double epsilon : {3e-3, 6e-3, 0.01}) {
    double seen = 0, total = 0;
    for (int k = 0; k <= 40; ++k) {
      total += hypergeometric(k);
      seen += hypergeometric(k) * divergence(k / 100.0, epsilon);
    }
    EXPECT_NEAR(total, 1, 1e-9);
    EXPECT_GT(seen, 1.2 * divergence(0.01, epsilon)) << epsilon;
  }
}

}  // namespace
}  // namespace dpmpi::block_sampling_test
