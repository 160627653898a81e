// Random allocation: against integrals over all outputs of short epochs, and against what else is known.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/events/group.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi::random_allocation_test {
namespace {

using Allocation = RandomAllocationGaussian;

double phi(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double Phi(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

PldAccountant accountant_of(const Allocation& epoch, std::uint64_t epochs = 1) {
  PldAccountant accountant(Adjacency::add_remove);
  accountant.compose({epoch, epochs});
  return accountant;
}

// The likelihood ratio of an epoch is the mean of independent X = e^(g/z - 1/(2z^2)). All but one are integrated
// numerically, and that one by the formula for the price of an option on X: the larger divergence of both orders.
struct Epoch {
  std::size_t steps;
  double z;

  double delta(double epsilon) const {
    const double odds = std::exp(epsilon), t = static_cast<double>(steps);
    const double kept = expectation(0, steps - 1, [&](double sum) { return call(t * odds - sum) / t; });
    const double lost = expectation(0, steps - 1, [&](double sum) { return odds / t * put(t / odds - sum); });
    return std::max(kept, lost);
  }

 private:
  double expectation(double sum, std::size_t left, const std::function<double(double)>& f) const {
    if (left == 0) return f(sum);
    constexpr double step = 1.0 / 32, edge = 9;
    double total = 0;
    for (double g = -edge; g <= edge; g += step)
      total += step * phi(g) * expectation(sum + std::exp(g / z - 1 / (2 * z * z)), left - 1, f);
    return total;
  }
  double call(double strike) const {  // E (X - strike)_+
    if (strike <= 0) return 1 - strike;
    const double d = -z * std::log(strike) + 1 / (2 * z);
    return Phi(d) - strike * Phi(d - 1 / z);
  }
  double put(double strike) const {  // E (strike - X)_+
    if (strike <= 0) return 0;
    const double d = -z * std::log(strike) + 1 / (2 * z);
    return strike * Phi(1 / z - d) - Phi(-d);
  }
};

// 0.3 % of delta is what the grid of ratios costs here.
TEST(RandomAllocation, TheBoundIsThatOfShortEpochs) {
  for (const Epoch& epoch : {Epoch{2, .5}, Epoch{2, 1}, Epoch{2, 3}, Epoch{3, .8}, Epoch{3, 2}}) {
    const PldAccountant accountant = accountant_of({epoch.steps, 1, epoch.z});
    for (const double epsilon : {0., .1, .5, 1., 3.}) {
      const double exact = epoch.delta(epsilon);
      if (exact < 1e-12) continue;
      EXPECT_GE(accountant.delta(epsilon), exact * (1 - 1e-9)) << epoch.steps << ' ' << epoch.z << ' ' << epsilon;
      EXPECT_LE(accountant.delta(epsilon), exact * 1.01) << epoch.steps << ' ' << epoch.z << ' ' << epsilon;
      EXPECT_LE(accountant.least_delta(epsilon), exact) << epoch.steps << ' ' << epoch.z << ' ' << epsilon;
      EXPECT_GE(accountant.least_delta(epsilon), exact * .96) << epoch.steps << ' ' << epoch.z << ' ' << epsilon;
    }
  }
}

// What the record gives in a step, and what others give, may depend on the outputs before.
TEST(RandomAllocation, NoAdaptiveEpochLosesMore) {
  constexpr double z = .7, step = 1.0 / 16, edge = 9;
  const PldAccountant accountant = accountant_of({2, 1, z});
  const auto gives = [](double y) { return y > .4 ? 1 : y > -.5 ? -.6 : .3; };
  for (const double epsilon : {0., .4, 1.}) {
    double kept = 0, lost = 0;
    for (double a = -edge; a <= edge; a += step)
      for (double b = -edge; b <= edge; b += step) {
        const double others = std::tanh(a), without = phi(a / z) * phi((b - others) / z);
        const double with =
            (phi((a - 1) / z) * phi((b - others) / z) + phi(a / z) * phi((b - others - gives(a)) / z)) / 2;
        const double cell = step * step / (z * z), odds = std::exp(epsilon);
        kept += cell * std::max(0., with - odds * without), lost += cell * std::max(0., without - odds * with);
      }
    EXPECT_GE(accountant.delta(epsilon), std::max(kept, lost) - 1e-6) << epsilon;
  }
}

// Two of four steps, any pair with the same chance.
TEST(RandomAllocation, SeveralStepsCostNoMoreThanOneOfEveryPart) {
  constexpr double z = 1.2, step = .5, edge = 5.5;
  std::array<double, 4> y{};
  const auto integral = [&](double odds, auto&& self, std::size_t i) -> double {
    double total = 0;
    if (i < 4) {
      for (y[i] = -edge; y[i] <= edge + 1; y[i] += step)
        total += step / z * phi(y[i] / z) * self(odds, self, i + 1);
      return total;
    }
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = a + 1; b < 4; ++b) total += std::exp((y[a] + y[b] - 1) / (z * z)) / 6;
    return std::max(0., total - odds);
  };
  const PldAccountant accountant = accountant_of({4, 2, z});
  for (const double epsilon : {.2, 1.}) {
    const double exact = integral(std::exp(epsilon), integral, 0);
    EXPECT_GE(accountant.delta(epsilon), exact - 1e-3) << epsilon;
    EXPECT_LE(accountant.delta(epsilon), 1.2 * exact) << epsilon;
  }
  EXPECT_EQ(accountant.delta(1), accountant_of({2, 1, z}, 2).delta(1));
  EXPECT_EQ(accountant_of({9, 4, z}, 3).epsilon(1e-6), accountant_of({2, 1, z}, 12).epsilon(1e-6));
}

TEST(RandomAllocation, EpsilonFallsWithStepsAndNoise) {
  double before = infinity;
  for (const std::uint64_t steps : {2U, 3U, 10U, 1000U}) {
    const PldAccountant accountant = accountant_of({steps, 1, 1}, 4);
    const double epsilon = accountant.epsilon(1e-6);
    EXPECT_LT(epsilon, before) << steps;
    EXPECT_LE(accountant.least_epsilon(1e-6), epsilon);
    EXPECT_GE(accountant.least_epsilon(1e-6), .98 * epsilon) << steps;
    before = epsilon;
  }
  before = infinity;
  for (const double z : {.6, 1.2, 5., 1e4}) {
    const double epsilon = accountant_of({50, 1, z}, 3).epsilon(1e-6);
    EXPECT_LT(epsilon, before) << z;
    before = epsilon;
  }
}

// Who knows the record's step sees a Gaussian; of very many steps no more is told than of 2^20.
TEST(RandomAllocation, ASecretStepHidesTheRecord) {
  GdpAccountant known(Adjacency::add_remove);
  known.compose({Gaussian{1}, 10});
  EXPECT_LT(accountant_of({128, 1, 1}, 10).epsilon(1e-5), .35 * known.epsilon(1e-5));
  EXPECT_NEAR(accountant_of({5, 5, 1}, 2).epsilon(1e-5), known.epsilon(1e-5), 1e-3);
  EXPECT_EQ(accountant_of({1ULL << 40, 1, 1}).epsilon(1e-5), accountant_of({1ULL << 20, 1, 1}).epsilon(1e-5));
}

TEST(RandomAllocation, ReadsAsItIsWritten) {
  const Event event{Allocation{128, 1, 1.5}, 20}, several{Allocation{128, 3, 1.5}, 20};
  EXPECT_EQ(to_json(event),
            R"({"event":"random_allocation_gaussian","steps":128,"noise_multiplier":1.5,"count":20})");
  for (const Event& e : {event, several})
    EXPECT_EQ(std::get<Event>(parse_event_line(to_json(e), "line").content), e);
}

TEST(RandomAllocation, WhatHasNoBoundIsRefused) {
  EXPECT_THROW(accountant_of({4, 5, 1}), PrivacyError) << "more steps than there are";
  EXPECT_THROW(accountant_of({0, 0, 1}), PrivacyError);
  GdpAccountant gdp(Adjacency::add_remove);
  EXPECT_THROW(gdp.compose({Allocation{4, 1, 1}, 1}), PrivacyError);
  EXPECT_THROW(accountant_of({1ULL << 50, 1ULL << 40, 1}, 1ULL << 30), PrivacyError) << "more than 2^64 parts";
}

// Where no secret is known to hide a record, and always by Renyi divergences, its steps may be known; and a group
// may meet in one step.
TEST(RandomAllocation, OtherBoundsAreThoseOfGaussians) {
  const auto expect_known = [](const char* accountant, Adjacency adjacency, double z) {
    const auto allocated = make_accountant(accountant, adjacency), known = make_accountant(accountant, adjacency);
    allocated->compose({Allocation{100, 2, z}, 3});
    known->compose({Gaussian{z}, 6});
    const double most = allocated->epsilon(1e-6), exact = known->epsilon(1e-6);
    EXPECT_GE(most, exact) << accountant << z;
    EXPECT_LE(most, (1 + 1e-4) * exact) << accountant << z;  // a grid's errors
  };
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one})
    expect_known("rdp", adjacency, 2);
  for (const double z : {.2, 2.}) expect_known("pld", Adjacency::replace_one, z);
  for (const double z : {.29, 0x1p31}) expect_known("pld", Adjacency::add_remove, z);
  const std::vector<Event> group = of_group({{Allocation{100, 4, 3}, 2}}, 3);
  ASSERT_EQ(group.size(), 1U);
  EXPECT_NEAR(std::get<Gaussian>(group[0].mechanism).noise_multiplier, .5, 1e-12);
  EXPECT_EQ(group[0].count, 2U);
}

TEST(RandomAllocation, NoiseForAnEpsilonIsFound) {
  const EventsOf events = [](double z) { return std::vector<Event>{{Allocation{60, 1, z}, 10}}; };
  const double z = calibrate_noise(events, {1, 1e-6, Adjacency::add_remove}, "best").value;
  const auto accountant = make_accountant("best", Adjacency::add_remove);
  accountant->compose(events(z));
  EXPECT_LE(accountant->epsilon(1e-6), 1);
  EXPECT_GE(accountant->epsilon(1e-6), .999);
}

}  // namespace
}  // namespace dpmpi::random_allocation_test
