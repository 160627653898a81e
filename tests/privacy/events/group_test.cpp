// Groups: what is known of them is what theory says, and never less than what they really lose.
#include "privacy/events/group.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/promise/group_guarantee.hpp"

namespace dpmpi::group_test {
namespace {

double delta_of(const Event& event, std::uint64_t size, double epsilon, Adjacency adjacency) {
  return delta_guarantee(of_group({event}, size), adjacency, epsilon, "best").delta;
}

// Both have steps; each is refused by its name.
TEST(Group, CyclicSamplesAreRefusedByTheirName) {
  try {
    of_group({{CyclicPoissonGaussian{20, 4, 4, 0.08, 3}, 1}}, 2);
    ADD_FAILURE() << "accepted";
  } catch (const PrivacyError& e) {
    EXPECT_NE(std::string(e.what()).find("cyclic_poisson_gaussian"), std::string::npos) << e.what();
  }
}

TEST(Group, OfASampledGroupIsLarger) {
  const auto seen = [](const Mechanism& m, std::uint64_t k) { return of_group({{m, 3}}, k).front().mechanism; };
  EXPECT_EQ(seen(PoissonGaussian{0.1, 2}, 4), Mechanism(PoissonGaussianGroup{0.1, 2, 4}));
  EXPECT_EQ(seen(PoissonGaussianGroup{0.1, 2, 4}, 5), Mechanism(PoissonGaussianGroup{0.1, 2, 20}));
  const auto most = std::get<PoissonGaussian>(seen(PoissonGaussianGroup{1e-4, 2, 400}, 5));
  EXPECT_NEAR(most.sampling_rate, 1 - std::pow(1 - 1e-4, 2000), 1e-12);
  EXPECT_NEAR(most.noise_multiplier, 1e-3, 1e-14);
}

double density(double x, double mean, double deviation) {
  const double z = (x - mean) / deviation;
  return std::exp(-0.5 * z * z) / (deviation * std::sqrt(2 * M_PI));
}

/// How far the noised sums of a group's Poisson sample and of nobody's are apart, by quadrature: each of `size`
/// records that are drawn moves the sum by 1.
double lost_by_sample(std::uint64_t size, double rate, double deviation, double epsilon, bool group_first) {
  double delta = 0;
  constexpr double step = 1e-3;
  for (double x = -40; x < 60; x += step) {
    double mixture = 0, weight = std::pow(1 - rate, static_cast<double>(size));
    for (std::uint64_t j = 0; j <= size; ++j) {
      mixture += weight * density(x, static_cast<double>(j), deviation);
      weight *= static_cast<double>(size - j) / static_cast<double>(j + 1) * rate / (1 - rate);
    }
    const double nobody = density(x, 0, deviation);
    const double gap = group_first ? mixture - std::exp(epsilon) * nobody : nobody - std::exp(epsilon) * mixture;
    delta += std::max(0.0, gap) * step;
  }
  return delta;
}

TEST(Group, OfOneIsTheSame) {
  const std::vector<Event> events{{PoissonGaussian{0.1, 2}, 5}, {HiddenState{}, 1}};
  EXPECT_EQ(of_group(events, 1), events);
}

TEST(Group, OfAGaussianIsItsShiftAndNoMore) {
  for (const std::uint64_t size : {2U, 7U})
    for (const double epsilon : {0.3, 1.0, 4.0}) {
      const double mu = static_cast<double>(size) / 5;
      const auto phi = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
      const double exact = phi(-epsilon / mu + mu / 2) - std::exp(epsilon) * phi(-epsilon / mu - mu / 2);
      const double bound = delta_of({Gaussian{5}}, size, epsilon, Adjacency::add_remove);
      EXPECT_GE(bound, exact * (1 - 1e-9));
      EXPECT_LE(bound, exact * (1 + 1e-3) + 1e-12);
    }
}

TEST(Group, OfAPoissonSampleLosesTheBoundAndNoMore) {
  for (const std::uint64_t size : {2U, 3U, 10U})
    for (const double rate : {0.01, 0.1, 0.4})
      for (const double epsilon : {0.1, 1.0, 3.0}) {
        const double bound = delta_of({PoissonGaussian{rate, 4}}, size, epsilon, Adjacency::add_remove);
        const double lost =
            std::max(lost_by_sample(size, rate, 4, epsilon, true), lost_by_sample(size, rate, 4, epsilon, false));
        EXPECT_GE(bound * (1 + 1e-6) + 1e-12, lost) << size << " " << rate << " " << epsilon;
        EXPECT_LE(bound, lost * 1.01 + 1e-9) << size << " " << rate << " " << epsilon;
        EXPECT_LT(delta_of({PoissonGaussian{rate, 4}}, size, epsilon, Adjacency::add_remove),
                  delta_of({Gaussian{4}}, size, epsilon, Adjacency::add_remove))
            << "sampling helps groups, too";
      }
}

TEST(Group, OfOtherEventsIsWhatTheirTheoremsSay) {
  const auto seen = [](const Mechanism& m) { return of_group({{m, 3}}, 4).front().mechanism; };
  EXPECT_NEAR(std::get<Laplace>(seen(Laplace{2})).scale, 0.5, 1e-12);
  EXPECT_LE(std::get<Laplace>(seen(Laplace{2})).scale, 0.5);
  EXPECT_NEAR(std::get<Zcdp>(seen(Zcdp{0.1})).rho, 1.6, 1e-12);
  EXPECT_NEAR(std::get<Gdp>(seen(Gdp{0.1})).mu, 0.4, 1e-12);
  EXPECT_NEAR(std::get<Exponential>(seen(Exponential{0.1})).epsilon, 0.4, 1e-12);
  const auto approx = std::get<ApproxDp>(seen(ApproxDp{0.5, 1e-6}));
  EXPECT_NEAR(approx.epsilon, 2, 1e-12);
  EXPECT_NEAR(approx.delta, 1e-6 * (1 + std::exp(0.5) + std::exp(1.0) + std::exp(1.5)), 1e-15);
  EXPECT_EQ(std::get<ApproxDp>(seen(ApproxDp{500, 0})).delta, 0);
  const auto tree = std::get<Tree>(seen(Tree{Strategy::full, 64, 3}));
  EXPECT_NEAR(tree.noise_multiplier, 0.75, 1e-12);
  EXPECT_NEAR(std::get<Gaussian>(seen(WorGaussian{100, 10, 8})).noise_multiplier, 2, 1e-12);
  EXPECT_NEAR(std::get<DiscreteGaussian>(seen(WorDiscreteGaussian{100, 10, 8})).noise_multiplier, 2, 1e-12);
  const auto best = std::get<RepeatAndSelect>(seen(RepeatAndSelect{{}, {{Gaussian{8}, 2}}}));
  EXPECT_NEAR(std::get<Gaussian>(best.run.front().mechanism).noise_multiplier, 2, 1e-12);
  EXPECT_EQ(of_group({{Gaussian{1}, 3}}, 4).front().count, 3U);
  EXPECT_TRUE(std::holds_alternative<NonPrivate>(seen(NonPrivate{})));
}

// Many steps of small samples: a chain of neighbours says more than the chance that one of the group is drawn, and
// less than how many of it are.
TEST(Group, GuaranteesAreTheBetterOfTwoBounds) {
  const std::vector<Event> samples{{PoissonGaussian{0.0427, 2.64}, 235}};
  const double one = epsilon_guarantee(samples, Adjacency::add_remove, 1e-5, "pld").epsilon;
  const Guarantee five = group_epsilon_guarantee(samples, 5, Adjacency::add_remove, 1e-5, "pld");
  EXPECT_EQ(five.winner(), "pld");
  EXPECT_GT(five.epsilon, 5 * one);
  EXPECT_LT(five.epsilon, 8 * one);
  const Guarantee by_renyi = group_epsilon_guarantee(samples, 5, Adjacency::add_remove, 1e-5, "rdp");
  EXPECT_EQ(by_renyi.winner(), "chain");
  EXPECT_LT(by_renyi.epsilon, 9 * one);
  EXPECT_EQ(five.least, 0);
  // The same question the other way round.
  const Guarantee back = group_delta_guarantee(samples, 5, Adjacency::add_remove, five.epsilon, "pld");
  EXPECT_LE(back.delta, 1e-5 * (1 + 2e-3)) << "the ends of the noise count on top of it";
  EXPECT_GT(back.delta, 0.9e-5);
  const Guarantee noisy = group_epsilon_guarantee({{Gaussian{50}, 1}}, 5, Adjacency::add_remove, 1e-5, "best");
  EXPECT_EQ(noisy.winner(), "gdp") << "of one Gaussian the shift is known";
  HiddenState hidden;
  hidden.steps = 10, hidden.noise_multiplier = 1, hidden.diameter = 1, hidden.drift = 1, hidden.directions = 1,
  hidden.dimension = 2, hidden.population = 10, hidden.batch = 10, hidden.before_multiplier = 50, hidden.hybrid = 5,
  hidden.isotropic_multiplier = 50;
  const Guarantee run = group_epsilon_guarantee({{hidden, 1}}, 3, Adjacency::replace_one, 1e-5, "best");
  EXPECT_EQ(run.winner(), "chain") << "nothing else is known";
  EXPECT_EQ(run.refusals.count("events"), 1u);
}

// What is exactly Gaussian is answered exactly: convolutions of such losses would take minutes.
TEST(Group, OfFixedSizeSamplesIsAGaussianAtOnce) {
  const std::vector<Event> samples{{WorGaussian{2500, 64, 1.4768}, 118}};
  const Guarantee five = group_epsilon_guarantee(samples, 5, Adjacency::replace_one, 1e-5, "best");
  for (const auto& [name, bound] : five.by) EXPECT_TRUE(name == "gdp" || name == "chain") << name;
  EXPECT_LT(five.epsilon, epsilon_guarantee(of_group(samples, 5), Adjacency::replace_one, 1e-5, "gdp").epsilon);
  EXPECT_EQ(five.winner(), "chain");
}

// A group that shifts a sum beyond the ends of the noise is seen, whatever accountants say of Gaussians.
TEST(Group, WhoShiftsBeyondTheEndsOfTheNoiseHasNoBound) {
  const std::vector<Event> weak{{Gaussian{1}, 1}};
  EXPECT_THROW(group_epsilon_guarantee(weak, 12, Adjacency::add_remove, 1e-5, "best"), PrivacyError);
  EXPECT_EQ(group_delta_guarantee(weak, 12, Adjacency::add_remove, 5, "best").delta, 1);
  EXPECT_THROW(group_epsilon_guarantee(weak, 4, Adjacency::add_remove, 1e-12, "best"), PrivacyError);
  EXPECT_NO_THROW(group_epsilon_guarantee({{DiscreteGaussian{1}, 1}}, 12, Adjacency::add_remove, 1e-5, "best"))
      << "which reaches every integer";
  EXPECT_NO_THROW(group_epsilon_guarantee(weak, 3, Adjacency::add_remove, 1e-5, "best"));
}

// The shift of one value decides, which a first leaf, entries of a matrix and participations may lengthen.
TEST(Group, TreesShiftAsFarAsTheirLongestRow) {
  const Tree first{.strategy = Strategy::fenwick, .leaves = 1, .noise_multiplier = 6, .first_leaf = 3};
  const Tree one{.strategy = Strategy::explicit_matrix, .leaves = 1, .noise_multiplier = 6, .matrix = {3}};
  const Tree thrice{.strategy = Strategy::blt,
                    .leaves = 3,
                    .noise_multiplier = 6,
                    .participations = 3,
                    .separation = 1,
                    .buffers = {1, {0.999}, {0.999}}};
  for (std::uint64_t size = 2; size < 25; ++size) {
    const auto refused = [&](const Mechanism& m) {
      try {
        return std::ranges::none_of(group_epsilon_guarantee({{m, 1}}, size, Adjacency::add_remove, 1e-9, "best").by,
                                    [](const auto& bound) { return bound.first == "gdp"; });
      } catch (const PrivacyError&) {
        return true;
      }
    };
    EXPECT_EQ(refused(first), refused(Gaussian{2})) << size;
    EXPECT_EQ(refused(one), refused(Gaussian{2})) << size;
    if (refused(Gaussian{2})) {
      EXPECT_TRUE(refused(thrice)) << size;
    }
  }
  EXPECT_THROW(group_epsilon_guarantee({{first, 1}}, 20, Adjacency::add_remove, 1e-9, "best"), PrivacyError);
  EXPECT_NO_THROW(group_epsilon_guarantee({{first, 1}}, 4, Adjacency::add_remove, 1e-9, "best"));
}

// All of a large group are hardly ever drawn: what their shift would show counts as rarely as it is there.
TEST(Group, WhatIsHardlyEverDrawnIsHardlyEverBeyondTheNoise) {
  EXPECT_NEAR(chance_beyond({0.25, 2, 2}, 3),
              2 * 0.25 * 0.75 * std::exp(-0.5 * 2.5 * 2.5) + 0.25 * 0.25 * std::exp(-0.5 * 2 * 2), 1e-15);
  EXPECT_NEAR(chance_beyond({0.5, 1, 3}, 2), 3 * 0.125 * std::exp(-0.5) + 3 * 0.125 + 0.125, 1e-15);
  EXPECT_EQ(chance_beyond({1e-9, 1, 2000}, 10), 1) << "all are counted where they are too many to tell apart";
  const std::vector<Event> samples{{PoissonGaussian{0.001, 1.1}, 100}};
  EXPECT_NO_THROW(group_epsilon_guarantee(samples, 12, Adjacency::add_remove, 1e-6, "pld"));
  EXPECT_EQ(group_epsilon_guarantee(samples, 12, Adjacency::add_remove, 1e-6, "pld").winner(), "pld");
}

TEST(Group, OfWhichNothingIsKnownIsRefused) {
  EXPECT_THROW(of_group({{HiddenState{}, 1}}, 2), PrivacyError);
  EXPECT_THROW(of_group({{Zcdp{0.1, 1e-9}, 1}}, 2), PrivacyError);
  EXPECT_THROW(of_group({{ApproxDp{5, 1e-3}, 1}}, 4), PrivacyError);
}

}  // namespace
}  // namespace dpmpi::group_test
