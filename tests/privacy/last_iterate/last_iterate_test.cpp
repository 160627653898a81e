// Runs with hidden iterates in ledgers, beside other events.
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/last_iterate/case.hpp"
#include "privacy/last_iterate/run.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi::last_iterate_test {
namespace {

constexpr double delta = 1e-5;
constexpr auto replace_one = Adjacency::replace_one;

double epsilon(const std::vector<Event>& events, const char* accountant = "best") {
  const auto a = make_accountant(accountant, replace_one);
  a->compose(events);
  return a->epsilon(delta);
}
double epsilon(const HiddenState& run, const char* accountant = "best") {
  return epsilon(std::vector<Event>{{run, 1}}, accountant);
}

// Up to the roundings upwards on different ways.
void expect_same(double a, double b) { EXPECT_NEAR(a, b, 1e-13 * b); }

TEST(HiddenAccountant, TakesTheSmallestBound) {
  const HiddenState run = G4.run(5e5);
  EXPECT_NEAR(epsilon(run, "gdp"), 4.561924, 1e-5);
  expect_same(epsilon(run, "gdp"), explain(run, replace_one, delta).epsilon);
  EXPECT_GT(epsilon(run, "rdp"), epsilon(run, "gdp"));
  EXPECT_LT(epsilon(run, "rdp"), 4.561924 * 1.15);
  EXPECT_EQ(epsilon(run), epsilon(run, "gdp"));
  EXPECT_THROW(epsilon(run, "pld"), PrivacyError);

  const auto best = make_accountant("best", replace_one);
  best->compose({run, 1});
  EXPECT_EQ(best->least_epsilon(delta), 0);  // nothing is known from below
  EXPECT_EQ(best->least_delta(1), 0);
  const HiddenState short_run = G4.run(100);
  expect_same(epsilon(short_run), gdp_epsilon(composition_mu(short_run), delta));
}

TEST(HiddenAccountant, ComposesWithOtherEvents) {
  const HiddenState run = G4.run(5e5);
  const double mu = hidden_total(run, delta / 10).mu;
  const std::vector<Event> events{{run, 1}, {Gaussian{2}, 1}, {Gdp{0.5}, 3}, {Tree{Strategy::fenwick, 4, 4}, 1}};
  const double tree = std::sqrt(3.0) / 4;  // leaf 1 is part of three nodes

  EXPECT_NEAR(epsilon(events, "gdp"), gdp_epsilon(std::sqrt(mu * mu + .25 + 3 * .25 + tree * tree), delta * .9),
              1e-2);
  GdpAccountant exact(replace_one);
  exact.compose(events);
  GdpAccountant others(replace_one);
  others.compose(std::vector<Event>(events.begin() + 1, events.end()));
  EXPECT_EQ(exact.least_epsilon(delta), others.least_epsilon(delta));
  EXPECT_NEAR(exact.epsilon(delta), gdp_epsilon(std::hypot(mu, others.mu()), delta - delta / 10), 1e-9);

  // Two runs share the failures.
  const double half = hidden_total(run, delta / 20).mu;
  EXPECT_NEAR(epsilon({{run, 2}}, "gdp"), gdp_epsilon(half * std::sqrt(2.0), delta - delta / 10), 1e-9);
  // Sampled events have no exact mu: the Renyi accountant is left.
  const std::vector<Event> mixed{{run, 1}, {PoissonGaussian{.01, 1}, 100}};
  EXPECT_THROW(epsilon(mixed, "gdp"), PrivacyError);
  EXPECT_EQ(epsilon(mixed), epsilon(mixed, "rdp"));
  EXPECT_GT(epsilon(mixed), epsilon(run, "rdp"));
  EXPECT_LT(epsilon(mixed), epsilon(run, "rdp") + 1);
  // Failures of an approximate mechanism add to those of the coupling.
  EXPECT_GT(epsilon({{run, 1}, {ApproxDp{0, 5e-6}, 1}}, "rdp"), epsilon(run, "rdp"));
}

TEST(HiddenAccountant, FailuresUseUpDelta) {
  HiddenState run = G4.run(5e5);
  const double without = epsilon(run);
  run.failure = 1e-7;
  const double with = epsilon(run);
  EXPECT_GT(with, without);
  EXPECT_NEAR(with, gdp_epsilon(hidden_total(run, delta / 10).mu, delta - delta / 10 - 1e-7), 1e-9);
  const HiddenExplanation e = explain(run, replace_one, delta);
  EXPECT_EQ(e.clip_failure, 1e-7);
  EXPECT_EQ(e.coupling_failure, failure_share * delta);
  run.failure = 1e-5;  // all of delta: composition needs no inactive clip
  expect_same(epsilon(run), gdp_epsilon(composition_mu(run), delta));
  EXPECT_TRUE(std::isinf(explain(run, replace_one, delta).hidden_epsilon));
  EXPECT_EQ(explain(run, replace_one, delta).used, "composition");
}

TEST(HiddenAccountant, DeltaInvertsEpsilon) {
  for (const char* name : {"gdp", "rdp"}) {
    const auto a = make_accountant(name, replace_one);
    a->compose({G4.run(5e5), 1});
    double before = 1;
    for (const double e : {0.0, 0.5, 2.0, 4.561924, 8.0, 20.0}) {
      const double d = a->delta(e);
      EXPECT_LE(d, before);
      if (d < .5) {
        EXPECT_LE(a->epsilon(d * 1.15), e + 1e-9) << name;  // failures by powers of ten cost up to a tenth of delta
      }
      before = d;
    }
    EXPECT_LT(a->delta(4.561924), 1.12e-5 * (name[0] == 'r' ? 10 : 1));
  }
}

// What may not make the promise weaker, and what may not make it stronger.
TEST(HiddenAccountant, MovesInTheRightDirection) {
  using Change = std::function<void(HiddenCase&, double)>;
  const auto sweep = [](const HiddenCase& base, const std::vector<double>& values, const Change& change, double T) {
    std::vector<double> epsilons;
    for (const double value : values) {
      HiddenCase c = base;
      change(c, value);
      epsilons.push_back(epsilon(c.run(T)));
    }
    return epsilons;
  };
  const auto falls = [](const std::vector<double>& e) {
    for (std::size_t i = 1; i < e.size(); ++i) EXPECT_LE(e[i], e[i - 1] * (1 + 1e-6));
  };
  const auto rises = [](const std::vector<double>& e) {
    for (std::size_t i = 1; i < e.size(); ++i) EXPECT_GE(e[i], e[i - 1] * (1 - 1e-6));
  };
  for (const HiddenCase& base : {G4, G7}) {
    falls(sweep(
        base, {.1, .3, 1, 3}, [](HiddenCase& c, double x) { c.sigma = x; }, 1e5));
    falls(sweep(
        base, {300, 1000, 5000}, [](HiddenCase& c, double x) { c.n = x; }, 1e5));
    falls(sweep(
        base, {2, 8, 32, 128}, [](HiddenCase& c, double x) { c.K = c.eta = x; }, 1e5));
    rises(sweep(
        base, {.1, 1, 3}, [](HiddenCase& c, double x) { c.radius = x; }, 1e5));
    rises(sweep(
        base, {1, 4, 9}, [](HiddenCase& c, double x) { c.norm = x; }, 1e5));
    rises(sweep(
        base, {0, 1e-8, 1e-6, 1e-4}, [](HiddenCase& c, double x) { c.e = x; }, 1e5));
    rises(sweep(
        base, {1, 1.001, 1.01, 1.1}, [](HiddenCase& c, double x) { c.contraction = x; }, 1e5));
    std::vector<double> by_steps;
    for (const double T : {1e2, 1e3, 1e4, 1e5, 1e6, 1e7}) by_steps.push_back(epsilon(base.run(T)));
    rises(by_steps);
    EXPECT_EQ(by_steps[4], by_steps[5]);  // constant once the window and the forward distance fit
    for (const double T : {1e2, 1e4, 1e6})
      EXPECT_LE(epsilon(base.run(T)), gdp_epsilon(composition_mu(base.run(T)), delta) * (1 + 1e-14));
  }
  for (const HiddenCase& c : {G1, G2, G4, G7}) {
    const HiddenState run = c.run(1e6);
    const Stretch all = stretches(run).front();
    const auto mu = [&](HiddenBound factors) { return best_coupling(run, all, 1e-6, factors).mu; };
    EXPECT_LE(mu(HiddenBound::chain), mu(HiddenBound::beta));
    EXPECT_LE(mu(HiddenBound::beta), mu(HiddenBound::bernstein) * (1 + 1e-9));
  }
}

TEST(HiddenAccountant, MuIsProportionalToTheInverseNoise) {
  const HiddenState run = G4.run(5e5);
  const double mu = hidden_total(run, 1e-6).mu;
  for (const double scale : {1e-3, 0.5, 7.0, 1e4}) {
    HiddenState scaled = run;
    scaled.noise_multiplier = scale;
    EXPECT_NEAR(hidden_total(scaled, 1e-6).mu * scale, mu, 1e-12 * mu);
    EXPECT_NEAR(composition_mu(scaled) * scale, composition_mu(run), 1e-12 * composition_mu(run));
  }
}

// Trap 17: executed steps; a window that is longer than the run, or reaches into the steps without isotropic noise.
TEST(HiddenAccountant, WindowsStayInsideTheHybridSteps) {
  HiddenState run = G4.run(5e5);
  const std::uint64_t window = best_coupling(run, stretches(run).front(), 1e-6, HiddenBound::chain).window;
  EXPECT_LT(epsilon(G4.run(2.5e4)), epsilon(run) + 1e-9);  // stopped early: its own, never larger, bound
  run.before_multiplier = std::hypot(run.directional_multiplier, run.isotropic_multiplier);
  run.hybrid = window;
  const double wide = epsilon(run);
  EXPECT_NEAR(wide, epsilon(G4.run(5e5)), 1e-6);  // what happens before the window costs nothing
  run.hybrid = window / 4;
  const StretchBound narrow = best_coupling(run, stretches(run).front(), 1e-6, HiddenBound::chain);
  EXPECT_LE(narrow.window, run.hybrid);
  EXPECT_GT(epsilon(run), wide);
  EXPECT_THROW(coupling_mu(run, stretches(run).front(), window / 4 + 1, narrow.growth), BugError);
  run.hybrid = 0;  // HS-05: no isotropic noise, no coupling
  EXPECT_TRUE(std::isinf(best_coupling(run, stretches(run).front(), 1e-6, HiddenBound::chain).mu));
  EXPECT_TRUE(std::isinf(last_step_mu(run, stretches(run).front())));
  expect_same(epsilon(run), gdp_epsilon(composition_mu(run), delta));
  EXPECT_TRUE(std::isinf(best_coupling(G4.run(1), {0, 1, 1}, 1e-6, HiddenBound::chain).mu));  // nothing before it
}

// Trap 2: T = 1, all noise on the directions, n = 10, sigma = Delta = 1: the sensitivity is 2 Delta.
TEST(HiddenAccountant, SensitivityOfOneStep) {
  for (const double K : {1.0, 16.0}) {
    const HiddenCase one{.n = 10, .K = K, .eta = K, .sigma = 1, .share = 1};
    EXPECT_NEAR(composition_mu(one.run(1)), 0.2, 1e-12);
    EXPECT_NEAR(epsilon(one.run(1)), gdp_epsilon(0.2, delta), 1e-9);
  }
}

// Without noise on the directions the isotropic noise hides the record's own shift as well.
TEST(HiddenAccountant, NoDirectionalNoise) {
  HiddenCase c = G4;
  c.share = 0;
  c.sigma = 3;
  const HiddenState run = c.run(5e5);
  EXPECT_EQ(run.directional_multiplier, 0);
  const StretchBound bound = best_coupling(run, stretches(run).front(), 1e-6, HiddenBound::chain);
  EXPECT_LT(bound.mu, composition_mu(run));
  // Every allocation costs at least what the exact shifts (s + a)^2 / s2^2 of its steps cost with a = 0.
  EXPECT_GT(bound.mu, std::sqrt(static_cast<double>(bound.window)) / run.isotropic_multiplier);
}

TEST(HiddenAccountant, CalibratesAllMultipliersTogether) {
  const auto events = [](double noise) {
    HiddenState run = G4.run(5e5);
    run.noise_multiplier = noise;
    return std::vector<Event>{{run, 1}};
  };
  const double z = calibrate_noise(events, {.epsilon = 1, .delta = delta, .adjacency = replace_one}, "best").value;
  EXPECT_NEAR(z, 1.0313565 / 0.266364633, 1e-4);
  EXPECT_LE(epsilon(events(z)), 1);
  EXPECT_GT(epsilon(events(z * (1 - 1e-5))), 1);
  Event open{G4.run(10), 1};
  EXPECT_TRUE(assign(open, "noise_multiplier", 3));
  EXPECT_EQ(std::get<HiddenState>(open.mechanism).noise_multiplier, 3);
  EXPECT_FALSE(assign(open, "scale", 3));
}

TEST(HiddenAccountant, AttackersAreBounded) {
  const std::vector<Event> events{{G4.run(5e5), 1}};
  const Guarantee g = epsilon_guarantee(events, replace_one, delta, "best");
  EXPECT_EQ(g.winner(), "gdp");
  EXPECT_EQ(g.least, 0);
  double before = 0;
  for (const auto& [rate, power] : attacker_table(events, replace_one, g)) {
    EXPECT_GT(power, rate);
    EXPECT_GE(power, before);
    before = power;
  }
}

// Whatever check() lets through has a bound, and no search runs away.
TEST(HiddenAccountant, ExtremeRunsHaveBounds) {
  const auto with = [](auto change) {
    HiddenState run = G4.run(5e5);
    change(run);
    check({run, 1}, "run");
    const double e = epsilon(run);
    EXPECT_FALSE(std::isnan(e));
    EXPECT_GE(e, 0);
    return e;
  };
  const double base = with([](HiddenState&) {});
  for (const double c : {0.0, 1e-300, 3.0, 1e3, 1e200}) with([=](HiddenState& m) { m.contraction = c; });
  for (const double zeta : {1e-300, 1e-3}) EXPECT_LT(with([=](HiddenState& m) { m.retention = zeta; }), base);
  for (const double x : {1e-300, 1e300}) {
    with([=](HiddenState& m) { m.diameter = x; });
    with([=](HiddenState& m) { m.drift = x; });
    with([=](HiddenState& m) { m.error = x; });
    with([=](HiddenState& m) { m.directional_multiplier = x; });
    with([=](HiddenState& m) { m.isotropic_multiplier = x; });
    with([=](HiddenState& m) { m.noise_multiplier = x; });
  }
  with([](HiddenState& m) { m.steps = m.hybrid = 1ULL << 53; });
  with([](HiddenState& m) { m.dimension = 1ULL << 53; });
  with([](HiddenState& m) { m.dimension = m.directions = 1ULL << 53; });
  with([](HiddenState& m) { m.population = 1ULL << 53, m.parts = 1ULL << 52, m.reshuffled = true; });
  with([](HiddenState& m) { m.population = 1ULL << 53, m.batch = 1; });
  // The smallest noise is no noise, the largest no proof of perfect privacy.
  EXPECT_TRUE(std::isinf(with([](HiddenState& m) { m.noise_multiplier = 1e-300; })));
  HiddenState loud = G4.run(5e5);
  loud.noise_multiplier = 1e300;
  EXPECT_GT(composition_mu(loud), 0);
}

// What is remembered of a search that throws would be a run that costs nothing.
TEST(HiddenAccountant, ASearchThatThrowsIsNotRemembered) {
  HiddenState sampled = G4.run(5e5);
  sampled.batch = 10;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(remembered_total(sampled, 1e-6), PrivacyError);
  const double orders[] = {2, 4};
  for (int i = 0; i < 2; ++i) EXPECT_THROW(remembered_curve(G4.run(5e5), 1e-6, delta, orders), BugError);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(chain_growth_at(step_map(sampled), -1, 1e-6), BugError);
}

TEST(HiddenAccountant, FewStepsOfFullDirections) {
  HiddenCase c{.n = 50, .d = 8, .K = 8, .eta = 8, .sigma = 1, .contraction = .5};
  const HiddenTotal total = hidden_total(c.run(1000), 1e-6);
  EXPECT_EQ(total.failure, 0);  // nothing is left to chance
  EXPECT_LT(total.mu, composition_mu(c.run(1000)));
}

}  // namespace
}  // namespace dpmpi::last_iterate_test
