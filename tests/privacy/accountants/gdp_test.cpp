#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/gaussian_curve.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "support/close.hpp"
#include "support/special_numbers.hpp"

namespace dpmpi::gdp_test {
namespace {

using test::infinity;
constexpr Adjacency adjacencies[] = {Adjacency::add_remove, Adjacency::replace_one};

using test::expect_close;

std::string text(double mu, double epsilon) { return fmt::format("mu={} epsilon={}", mu, epsilon); }

struct Point {
  double mu, epsilon, delta;
};

// The formula in 150 digits, at exactly these doubles.
constexpr Point references[] = {{1e-06, 0.0, 3.9894228040141604e-7},       {1e-06, 1e-06, 8.3315512245425392e-8},
                                {1e-06, 3.5e-05, 3.2088606371720395e-276}, {0.001, 0.02, 1.3837811770864424e-93},
                                {0.1, 1.0, 1.2308359836427112e-25},        {0.3, 0.0, 0.11923538474048503},
                                {0.5, 4.0, 2.7060338029569069e-16},        {1.0, 8.0, 3.6508216874217909e-15},
                                {1.0, 30.0, 4.7093263180975222e-193},      {2.0, 1.0, 0.50986166005467015},
                                {2.5, 3.0, 0.37647161707973712},           {7.0, 24.0, 0.47216751029760588},
                                {20.0, 300.0, 2.2727748823194894e-7},      {50.0, 1000.0, 0.99999968032650774},
                                {50.0, 1300.0, 0.1539125519367163}};

TEST(GdpDelta, IsTheExactValueRoundedUp) {
  for (const auto& [mu, epsilon, delta] : references) {
    expect_close(gdp_delta(mu, epsilon), delta, 2e-15, text(mu, epsilon));
    EXPECT_GE(gdp_delta(mu, epsilon), delta) << text(mu, epsilon);
  }
}

// A1 of heavy tails, with GdpEpsilon and GdpMu below.
TEST(GdpDelta, PublishedVectors) {
  const Point vectors[] = {{0.1, 0.1, 8.7517681458e-3}, {0.5, 0.5, 5.2440323288e-2}, {0.5, 1, 6.8295949831e-3},
                           {0.5, 2, 9.4391686349e-6},   {1, 0.5, 2.3842170813e-1},   {1, 1, 1.2693673751e-1},
                           {1, 2, 2.0923635821e-2},     {1, 4, 4.7122412008e-5},     {2, 1, 5.0986166005e-1},
                           {2, 4, 8.4953318671e-2},     {0.5, 0, 0.1974126514},      {1, 8, 3.650821687e-15}};
  for (const auto& [mu, epsilon, delta] : vectors)
    expect_close(gdp_delta(mu, epsilon), delta, 3e-10, text(mu, epsilon));
  expect_close(gdp_delta(0.1, 1), 1.2308e-25, 1e-4, "mu=0.1 epsilon=1");
  expect_close(gdp_delta(0.2, 0.5), 5.1253608e-4, 1e-7, "mu=0.2 epsilon=0.5");
  expect_close(gdp_delta(2, 8), 4.9540174e-4, 1e-7, "mu=2 epsilon=8");
}

TEST(GdpDelta, NeverUnderflowsToAPerfectGuarantee) {
  EXPECT_GT(gdp_delta(1e-6, 1), 0);
  EXPECT_GT(gdp_delta(1, 1e3), 0);
  EXPECT_GT(gdp_delta(std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()), 0);
}

TEST(GdpDelta, Ends) {
  EXPECT_EQ(gdp_delta(0, 0), 0);
  EXPECT_EQ(gdp_delta(infinity, 5), 1);
  EXPECT_EQ(gdp_delta(1, infinity), 0);
  EXPECT_EQ(gdp_delta(1e200, 1), 1);
  EXPECT_EQ(gdp_epsilon(0, 1e-5), 0);
  EXPECT_EQ(gdp_epsilon(0.1, 0.5), 0);
  EXPECT_EQ(gdp_epsilon(infinity, 1e-5), infinity);
  EXPECT_EQ(gdp_mu(infinity, 1e-5), infinity);
  EXPECT_THROW(gdp_delta(-1, 1), BugError);
  EXPECT_THROW(gdp_delta(1, std::nan("")), BugError);
  EXPECT_THROW(gdp_epsilon(1, 0), BugError);
  EXPECT_THROW(gdp_mu(1, 1), BugError);
}

TEST(GdpEpsilon, PublishedVectors) {
  const Point vectors[] = {{0.1, 0.34066936, 1e-5},       {0.5, 1.993091404, 1e-5},     {1, 4.377178096, 1e-5},
                           {2, 9.99725615, 1e-5},         {1, 4.88655412, 1e-6},        {0.5, 2.25408465, 1e-6},
                           {2, 10.99715121, 1e-6},        {0.1787068, 0.6415419, 1e-5}, {0.7992012, 3.383073, 1e-5},
                           {5.651206, 39.32697, 1e-5},    {4, 24.38161, 1e-5},          {9.994994, 91.7460, 1e-5},
                           {0.316227766, 1.3675714, 1e-6}};
  for (const auto& [mu, epsilon, delta] : vectors)
    expect_close(gdp_epsilon(mu, delta), epsilon, 2e-6, fmt::format("mu={} delta={}", mu, delta));
  expect_close(gdp_epsilon(1, 1e-5), 4.3771780957, 2e-11, "noise multiplier 1");
}

// A2 of min-max methods.
TEST(GdpMu, PublishedVectors) {
  const Point vectors[] = {{0.12410615, 0.5, 1e-6}, {0.23670438, 1, 1e-6}, {0.18197481, 1, 1e-9},
                           {0.44833474, 2, 1e-6},   {0.67213169, 4, 1e-9}, {1.5315451, 8, 1e-6},
                           {0.2680511232, 1, 1e-5}, {1.666030598, 8, 1e-5}};
  for (const auto& [mu, epsilon, delta] : vectors)
    expect_close(gdp_mu(epsilon, delta), mu, 4e-8, fmt::format("epsilon={} delta={}", epsilon, delta));
  expect_close(1 / gdp_mu(1, 1e-5), 3.7306316348, 2e-11, "noise multiplier");
  expect_close(1 / gdp_mu(0.5, 1e-6), 8.0576184807, 2e-11, "noise multiplier");
  expect_close(1 / gdp_mu(5, std::pow(60000, -1.1)), 0.9151035828, 1e-10, "noise multiplier");
}

TEST(GdpMu, VectorsForDeltaOfTheNumberOfRecords) {
  const double epsilons[] = {0.5, 1, 2, 4, 8};
  const double table[][5] = {{.124106, .236704, .448335, .837859, 1.531545},
                             {.105960, .204368, .391748, .742136, 1.378200},
                             {.093686, .181975, .351550, .672132, 1.262248},
                             {.084733, .165380, .321234, .618234, 1.170729}};
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 5; ++column)
      EXPECT_NEAR(gdp_mu(epsilons[column], std::pow(10, -1.5 * (row + 4))), table[row][column], 6e-7);
}

// A35 of heavy tails: under a secret uniform order of the T batches the curve is the mean of those of mu (T - t) /
// T. No method claims it: their orders come from public seeds (T20).
TEST(GdpDelta, MeanOverSecretPositionsVectors) {
  const Point vectors[] = {{0.1474511, 0.5, 1e-6}, {0.27847463, 1, 1e-6}, {0.74501998, 4, 1e-9}};
  constexpr int batches = 400;
  for (const auto& [mu, epsilon, delta] : vectors) {
    double sum = 0;
    for (int t = 1; t <= batches; ++t) sum += gdp_delta(mu * (batches - t) / batches, epsilon);
    expect_close(sum / batches, delta, 2e-5, text(mu, epsilon));
  }
  EXPECT_NEAR(gdp_mu(1, 1e-6) / vectors[1].mu, 0.85, 1e-4) << "of the noise that the first place needs";
}

// Log-uniform over mu 1e-6..50, epsilon 0..1e3 and delta 1e-300..0.99.
class Draws {
 public:
  double log_uniform(double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random_));
  }
  double mu() { return log_uniform(1e-6, 50); }
  double epsilon() { return random_() % 8 == 0 ? 0 : log_uniform(1e-7, 1e3); }
  double delta() { return random_() % 2 == 0 ? log_uniform(1e-300, 0.99) : log_uniform(1e-12, 0.99); }

 private:
  std::mt19937_64 random_{7};
};

// A2 of heavy tails.
TEST(GdpConversions, InvertEachOtherAndKeepToTheTarget) {
  Draws draws;
  for (int i = 0; i < 400; ++i) {
    const double mu = draws.mu(), delta = draws.delta(), epsilon = gdp_epsilon(mu, delta);
    EXPECT_LE(gdp_delta(mu, epsilon), delta) << text(mu, epsilon);
    const double largest = gdp_mu(epsilon, delta);
    EXPECT_LE(gdp_delta(largest, epsilon), delta) << text(largest, epsilon);
    if (epsilon > 0) {
      expect_close(largest, mu, 1e-13, fmt::format("mu={} delta={}", mu, delta));
      EXPECT_GT(gdp_delta(mu, epsilon * (1 - 1e-13) - mu * 1e-13), delta * (1 - 1e-13)) << text(mu, epsilon);
    }
  }
}

TEST(GdpConversions, KeepToAnyBudget) {
  Draws draws;
  for (int i = 0; i < 400; ++i) {
    const double epsilon = draws.epsilon(), delta = draws.delta(), mu = gdp_mu(epsilon, delta);
    EXPECT_LE(gdp_delta(mu, epsilon), delta) << text(mu, epsilon);
    EXPECT_GT(gdp_delta(mu * (1 + 1e-13), epsilon), delta) << text(mu, epsilon);
    EXPECT_LE(gdp_epsilon(mu, delta), epsilon + 1e-13 * (epsilon + mu)) << text(mu, epsilon);
  }
}

TEST(GdpConversions, AreMonotone) {
  Draws draws;
  for (int i = 0; i < 400; ++i) {
    const double mu = draws.mu(), epsilon = draws.epsilon(), delta = draws.delta();
    const double more = draws.log_uniform(1 + 1e-12, 1.5);
    EXPECT_LE(gdp_delta(mu, epsilon), gdp_delta(mu * more, epsilon)) << text(mu, epsilon);
    EXPECT_GE(gdp_delta(mu, epsilon), gdp_delta(mu, epsilon * more)) << text(mu, epsilon);
    EXPECT_LE(gdp_epsilon(mu, delta), gdp_epsilon(mu * more, delta)) << text(mu, delta);
    EXPECT_LE(gdp_mu(epsilon, delta), gdp_mu(epsilon * more + 1e-12, delta)) << text(epsilon, delta);
  }
}

TEST(GdpAccountant, AddsUpSquaresWhateverTheGrouping) {
  const Tree tree{.strategy = Strategy::fenwick, .leaves = 1000, .noise_multiplier = 5};
  const double expected = std::sqrt(20 / 4.0 + 7 * 0.09 + 3 * 10 / 25.0 + 2 / 9.0);
  for (const Adjacency adjacency : adjacencies) {
    GdpAccountant lines(adjacency), uses(adjacency);
    lines.compose(std::vector<Event>{{Gaussian{2}, 20}, {Gdp{0.3}, 7}, {tree, 3}, {PoissonGaussian{1, 3}, 2}});
    for (int i = 0; i < 20; ++i) {
      if (i < 2) uses.compose({PoissonGaussian{1, 3}, 1});
      if (i < 3) uses.compose({tree, 1});
      if (i < 7) uses.compose({Gdp{0.3}, 1});
      uses.compose({Gaussian{2}, 1});
    }
    expect_close(lines.mu(), expected, 1e-15, "mu");
    EXPECT_EQ(lines.mu(), uses.mu());
    EXPECT_EQ(lines.delta(3), gdp_delta(lines.mu(), 3));
    EXPECT_EQ(lines.epsilon(1e-6), gdp_epsilon(lines.mu(), 1e-6));
  }
}

TEST(GdpAccountant, Vectors) {
  GdpAccountant sampled(Adjacency::replace_one);  // noise 10 C has the multiplier 5 under replace_one
  sampled.compose({PoissonGaussian{1, 5}, 20});
  expect_close(sampled.epsilon(1e-6), 4.3058411, 2e-8, "Poisson sampling with rate 1");
  GdpAccountant toeplitz(Adjacency::add_remove);
  toeplitz.compose({Tree{.strategy = Strategy::sqrt_toeplitz, .leaves = 1024, .noise_multiplier = 1}, 1});
  expect_close(toeplitz.mu(), std::sqrt(3.2725541503), 1e-11, "sqrt_toeplitz");
}

TEST(GdpAccountant, WithoutEventsGuaranteesEverything) {
  const GdpAccountant none(Adjacency::add_remove);
  EXPECT_EQ(none.mu(), 0);
  EXPECT_EQ(none.epsilon(1e-300), 0);
  EXPECT_EQ(none.delta(0), 0);
}

TEST(GdpAccountant, GivesNothingAfterANonPrivateRelease) {
  GdpAccountant accountant(Adjacency::add_remove);
  accountant.compose({Gaussian{10}, 1});
  accountant.compose({NonPrivate{}, 1});
  EXPECT_EQ(accountant.mu(), infinity);
  EXPECT_EQ(accountant.epsilon(0.5), infinity);
  EXPECT_EQ(accountant.delta(100), 1);
}

TEST(GdpAccountant, RefusesWhatIsNotExactlyGaussianAndStaysAsItWas) {
  const Mechanism refused[] = {PoissonGaussian{0.5, 2},
                               CyclicPoissonGaussian{9, 3, 2, 0.5, 2},
                               RandomAllocationGaussian{9, 1, 2},
                               WorGaussian{10, 5, 2},
                               DiscreteGaussian{2},
                               PoissonDiscreteGaussian{1, 2},
                               WorDiscreteGaussian{10, 5, 2},
                               Laplace{1},
                               PoissonLaplace{1, 1},
                               Zcdp{0.1},
                               Exponential{1},
                               ApproxDp{1, 1e-6},
                               RepeatAndSelect{{}, {{Gaussian{3}, 1}}}};
  for (const Adjacency adjacency : adjacencies)
    for (const Mechanism& mechanism : refused) {
      GdpAccountant accountant(adjacency);
      accountant.compose({Gaussian{3}, 1});
      const double before = accountant.mu();
      try {
        accountant.compose({mechanism, 1});
        FAIL() << name(mechanism) << " is accepted";
      } catch (const PrivacyError& e) {
        EXPECT_NE(std::string(e.what()).find(name(mechanism)), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("accountant gdp has no bound for it: "), std::string::npos)
            << e.what();
      }
      EXPECT_EQ(accountant.mu(), before);
    }
  GdpAccountant accountant(Adjacency::add_remove);
  EXPECT_THROW(accountant.compose({Gaussian{0}, 1}), PrivacyError);
}

TEST(GdpAccountant, BoundsFromBelowBarelyUnderTheBoundFromAbove) {
  Draws draws;
  for (int i = 0; i < 300; ++i) {
    GdpAccountant accountant(Adjacency::add_remove);
    const double mu = draws.mu(), epsilon = draws.epsilon(), delta = draws.delta();
    accountant.compose({Gdp{mu}, 1});
    EXPECT_LE(accountant.least_delta(epsilon), accountant.delta(epsilon));
    EXPECT_LE(accountant.least_epsilon(delta), accountant.epsilon(delta));
    EXPECT_GE(accountant.least_epsilon(delta),
              accountant.epsilon(delta) - 1e-11 * (accountant.epsilon(delta) + mu));
    if (accountant.delta(epsilon) > 1e-300)
      expect_close(accountant.least_delta(epsilon), accountant.delta(epsilon), 1e-8, text(mu, epsilon));
  }
}

TEST(GdpAccountant, LiesBelowRenyiBoundsOfTheSameEventsAndIsTheBest) {
  BestAccountant best(Adjacency::add_remove);
  RdpAccountant rdp(Adjacency::add_remove);
  GdpAccountant gdp(Adjacency::add_remove);
  const Event event{Gaussian{4}, 30};
  for (Accountant* const accountant : std::vector<Accountant*>{&best, &rdp, &gdp}) accountant->compose(event);
  for (const double delta : {1e-3, 1e-6, 1e-12}) {
    EXPECT_LT(gdp.epsilon(delta), rdp.epsilon(delta));
    EXPECT_EQ(best.epsilon(delta), gdp.epsilon(delta));
    EXPECT_EQ(best.least_epsilon(delta), gdp.least_epsilon(delta));
  }
}

}  // namespace
}  // namespace dpmpi::gdp_test
