// Banded noise on cyclic samples: against integrals over all outputs of short runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/events/group.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/group_guarantee.hpp"

namespace dpmpi::cyclic_samples_test {
namespace {

constexpr std::size_t steps = 3;
using Rows = std::array<std::array<double, steps>, steps>;
using Outputs = std::array<double, steps>;

// A run of three steps. One record's value is `gives[t]` in step t if it is drawn, with the rate of that step; what
// others give depends on the outputs so far.
struct ShortRun {
  Rows strategy{};
  double deviation = 1;
  std::array<double, steps> rate{};

  double density(const Outputs& y, const std::array<double, steps>& gives) const {
    double total = 0;
    for (unsigned drawn = 0; drawn < 1U << steps; ++drawn) {
      double chance = 1, exponent = 0;
      for (std::size_t t = 0; t < steps; ++t) {
        chance *= drawn >> t & 1U ? rate[t] : 1 - rate[t];
        double row = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          const double others = s == 0 ? 0.3 : std::tanh(y[s - 1]);
          row += strategy[t][s] * (others + (drawn >> s & 1U ? gives[s] : 0));
        }
        exponent -= std::pow((y[t] - row) / deviation, 2) / 2;
      }
      if (chance > 0) total += chance * std::exp(exponent);
    }
    return total * std::pow(2 * std::numbers::pi * deviation * deviation, -0.5 * steps);
  }

  // Of both datasets, at every epsilon: the larger divergence of the two orders.
  std::vector<double> deltas(const std::array<double, steps>& gives, const std::array<double, steps>& instead,
                             const std::vector<double>& epsilons) const {
    constexpr double step = 0.25, edge = 8;
    std::vector<double> forward(epsilons.size()), backward(epsilons.size());
    for (double a = -edge; a <= edge; a += step)
      for (double b = -edge; b <= edge; b += step)
        for (double c = -edge; c <= edge; c += step) {
          const double p = density({a, b, c}, gives), q = density({a, b, c}, instead);
          for (std::size_t i = 0; i < epsilons.size(); ++i) {
            const double odds = std::exp(epsilons[i]), cell = step * step * step;
            forward[i] += cell * std::max(0.0, p - odds * q);
            backward[i] += cell * std::max(0.0, q - odds * p);
          }
        }
    for (std::size_t i = 0; i < epsilons.size(); ++i) forward[i] = std::max(forward[i], backward[i]);
    return forward;
  }
};

constexpr Rows banded{{{1, 0, 0}, {.75, 1.1, 0}, {0, .6, 1.25}}};  // columns of length 1.25
constexpr double longest = 1.25;
const std::vector<double> epsilons = {0, .2, .7, 1.5};

double delta_of(const CyclicPoissonGaussian& run, Adjacency adjacency, double epsilon) {
  PldAccountant accountant(adjacency);
  accountant.compose({run, 1});
  return accountant.delta(epsilon);
}

// The first group has steps 1 and 3, the second one step 2.
TEST(CyclicSamples, NoGroupLosesMoreThanTheBound) {
  const double rate = .3;
  const CyclicPoissonGaussian event{3, 2, 2, rate, 1 / longest};
  const std::array<double, steps> none{}, one{1, 1, 1}, mixed{1, 0, -1};
  for (const auto& rates : {std::array<double, steps>{rate, 0, rate}, std::array<double, steps>{0, rate, 0}}) {
    const ShortRun run{banded, 1, rates};
    for (const auto& gives : {one, mixed}) {
      const std::vector<double> lost = run.deltas(gives, none, epsilons);
      for (std::size_t i = 0; i < epsilons.size(); ++i)
        EXPECT_GE(delta_of(event, Adjacency::add_remove, epsilons[i]), lost[i] - 2e-4) << epsilons[i];
    }
    // Replaced by its opposite: the sensitivity is 2.
    const CyclicPoissonGaussian replaced{3, 2, 2, rate, 1 / (2 * longest)};
    const std::vector<double> lost = run.deltas(one, {-1, -1, -1}, epsilons);
    for (std::size_t i = 0; i < epsilons.size(); ++i)
      EXPECT_GE(delta_of(replaced, Adjacency::replace_one, epsilons[i]), lost[i] - 2e-4) << epsilons[i];
  }
}

// With columns of one length the bound is what the first group loses.
TEST(CyclicSamples, TheBoundIsAttained) {
  const ShortRun run{{{{.8, 0, 0}, {.6, .8, 0}, {0, .6, 1}}}, 1, {.3, 0, .3}};
  const std::vector<double> lost = run.deltas({1, 1, 1}, {}, epsilons);
  for (std::size_t i = 0; i < epsilons.size(); ++i)
    EXPECT_NEAR(delta_of({3, 2, 2, .3, 1}, Adjacency::add_remove, epsilons[i]), lost[i], .01 * lost[i] + 2e-4);
}

// Why a band longer than the number of groups is refused: a row sees two steps of the record.
TEST(CyclicSamples, RowsOfTwoStepsWouldTellMore) {
  const ShortRun run{{{{.8, 0, 0}, {.6, .8, 0}, {0, .6, 1}}}, 1, {.3, .3, .3}};
  const std::vector<double> lost = run.deltas({1, 1, 1}, {}, epsilons);
  for (std::size_t i = 0; i < epsilons.size(); ++i)
    EXPECT_GT(lost[i], 1.05 * delta_of({3, 1, 1, .3, 1}, Adjacency::add_remove, epsilons[i])) << epsilons[i];
  PldAccountant accountant(Adjacency::add_remove);
  EXPECT_THROW(accountant.compose({CyclicPoissonGaussian{3, 1, 2, .3, 1}, 1}), PrivacyError);
}

TEST(CyclicSamples, AreTheirRoundsForEveryAccountant) {
  const CyclicPoissonGaussian run{103, 10, 4, .05, 1.3};
  EXPECT_EQ(run.rounds(), 11U);
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    for (const char* name : {"rdp", "pld", "best"}) {
      const auto cyclic = make_accountant(name, adjacency), poisson = make_accountant(name, adjacency);
      cyclic->compose({run, 3});
      poisson->compose({PoissonGaussian{.05, 1.3}, 33});
      EXPECT_EQ(cyclic->epsilon(1e-6), poisson->epsilon(1e-6)) << name;
      EXPECT_EQ(cyclic->delta(.5), poisson->delta(.5)) << name;
    }
    const std::vector<double> curve = rdp_curve(run, adjacency, rdp_orders()),
                              round = rdp_curve(run.round(), adjacency, rdp_orders());
    for (std::size_t i = 0; i < curve.size(); ++i) EXPECT_DOUBLE_EQ(curve[i], 11 * round[i]);
    const auto all = make_accountant("gdp", adjacency), gaussian = make_accountant("gdp", adjacency);
    all->compose({CyclicPoissonGaussian{103, 10, 4, 1, 1.3}, 2});
    gaussian->compose({Gaussian{1.3}, 22});
    EXPECT_EQ(all->epsilon(1e-6), gaussian->epsilon(1e-6));
    EXPECT_THROW(all->compose({run, 1}), PrivacyError);
  }
}

TEST(CyclicSamples, ReadAsTheyAreWritten) {
  const Event event{CyclicPoissonGaussian{2000, 16, 9, .16, 1.5}, 2};
  const std::string line = to_json(event);
  EXPECT_EQ(line, R"({"event":"cyclic_poisson_gaussian","steps":2000,"groups":16,"band":9,"sampling_rate":0.16,)"
                  R"("noise_multiplier":1.5,"count":2})");
  EXPECT_EQ(std::get<Event>(parse_event_line(line, "line").content), event);
}

TEST(CyclicSamples, NoiseForAnEpsilonIsFound) {
  const EventsOf events = [](double z) {
    return std::vector<Event>{{CyclicPoissonGaussian{2000, 16, 16, .16, z}, 1}};
  };
  const double z = calibrate_noise(events, {1, 1e-6, Adjacency::add_remove}, "best").value;
  const auto accountant = make_accountant("best", Adjacency::add_remove);
  accountant->compose(events(z));
  EXPECT_LE(accountant->epsilon(1e-6), 1);
  EXPECT_GE(accountant->epsilon(1e-6), .999);
}

// Two records may be in groups whose steps share rows.
TEST(CyclicSamples, GroupsHaveTheBoundByChainsAlone) {
  const std::vector<Event> events = {{CyclicPoissonGaussian{100, 4, 4, .05, 3}, 1}};
  EXPECT_THROW(of_group(events, 2), PrivacyError);
  const Guarantee pair = group_epsilon_guarantee(events, 2, Adjacency::add_remove, 1e-5, "best");
  ASSERT_EQ(pair.by.size(), 1U);
  EXPECT_EQ(pair.by.front().first, "chain");
}

TEST(CyclicSamples, MoreRoundsThanNumbersAreRefused) {
  const auto accountant = make_accountant("pld", Adjacency::add_remove);
  EXPECT_THROW(accountant->compose({CyclicPoissonGaussian{std::uint64_t{1} << 53, 1, 1, .1, 1}, 1U << 20}),
               PrivacyError);
}

}  // namespace
}  // namespace dpmpi::cyclic_samples_test
