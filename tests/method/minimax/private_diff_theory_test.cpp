// Closed forms against the values of an independent reference.
#include "method/minimax/private_diff.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "problems/printed_noise.hpp"

namespace dpmpi::private_diff_theory_test {
namespace {

// A21 of min-max methods.
TEST(PrivateDiffTheory, NoiseEnergy) {
  EXPECT_NEAR(difference_noise_energy(2, 0.1), 1.005, 1e-7);
  EXPECT_NEAR(difference_noise_energy(8, 0.1), 0.31125, 1e-7);
  EXPECT_NEAR(difference_noise_energy(16, 0.1), 0.265625, 1e-7);
  EXPECT_NEAR(difference_noise_energy(2, 0.5), 1.125, 1e-7);
  EXPECT_NEAR(difference_noise_energy(4, 0.5), 1.0625, 1e-7);
  EXPECT_NEAR(best_difference_noise_energy(2, 0.1), 0.57321068, 1e-7);
  EXPECT_NEAR(best_difference_noise_energy(8, 0.1), 0.27936869, 1e-7);
  EXPECT_NEAR(best_restart_share(2, 0.1), 0.93395912, 1e-7);
  EXPECT_NEAR(best_restart_share(8, 0.1), 0.66890762, 1e-7);
}

// With the paper's own T = 2 and equal split the estimator never has less noise than dp-sgda's gradient.
TEST(PrivateDiffTheory, NothingIsGainedWithTheExperimentsSettings) {
  for (double rho = 0; rho <= 2; rho += 0.01) EXPECT_GE(difference_noise_energy(2, rho), 1);
}

TEST(PrivateDiffTheory, PrintedMultipliers) {
  const double delta = std::pow(60000, -1.1);
  struct Row {
    double epsilon, sgda, restart, difference;
  };
  for (const Row row : {Row{0.5, 91.983858, 32.521205, 45.991929}, Row{1, 45.991929, 16.260602, 22.995965},
                        Row{5, 9.198386, 3.252120, 4.599193}, Row{10, 4.599193, 1.626060, 2.299596}}) {
    const test::PrintedNoise paper{60000, 2048, row.epsilon, delta};
    EXPECT_NEAR(paper.dp_sgda(2344), row.sgda, 1e-6);
    EXPECT_NEAR(paper.private_diff(2344.0 / 2), row.restart, 1e-6);
    EXPECT_NEAR(paper.private_diff(2344), row.difference, 1e-6);
  }
}

}  // namespace
}  // namespace dpmpi::private_diff_theory_test
