// Reference values come from an independent implementation in double precision.
#include "privacy/last_iterate/bounds.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/last_iterate/case.hpp"
#include "problems/printed_last_iterate.hpp"
#include "support/close.hpp"

namespace dpmpi::bounds_test {
namespace {

constexpr double delta = 1e-5, failure = 1e-6;

using test::expect_close;

double epsilon_by(const HiddenCase& c, double T, HiddenBound factors) {
  const HiddenState run = c.run(T);
  const StretchBound bound = best_coupling(run, stretches(run).front(), failure, factors);
  return std::min(gdp_epsilon(bound.mu, delta - failure), gdp_epsilon(composition_mu(run), delta - failure));
}

struct FullBatchRow {
  HiddenCase setting;
  double steps, mu, epsilon, mu_directions, epsilon_directions, bernstein, beta, final;
  double chain_mu = 0, window = 0, theta = 0;  // of the chain bound, where it gives the final epsilon
};

TEST(HiddenState, FullBatch) {
  const FullBatchRow rows[] = {
      {G1, 1e3, 0.1787068, 0.6415419, 0.1264911, 0.4400665, 0.6462706, 0.6462706, 0.6415419},
      {G1, 2e4, 0.7992012, 3.383073, 0.5656854, 2.288387, 2.990731, 1.857942, 1.386180, 0.3583975, 3506, 478.34},
      {G1, 1e6, 5.651206, 39.32697, 4, 24.38161, 2.990731, 1.857942, 1.386180, 0.3583975, 3506, 478.34},
      {G2, 2e4, 0.7992012, 3.383073, 0.5656854, 2.288387, 3.402834, 3.402834, 3.383073},
      {G2, 1e5, 1.787068, 8.710158, 1.264911, 5.759481, 8.753243, 8.753243, 4.687033, 1.055691, 16546, 147.02},
      {G2, 1e6, 5.651206, 39.32697, 4, 24.38161, 34.59736, 28.72306, 4.687033, 1.055691, 16546, 147.02},
      {G3, 2e3, 0.6321395, 2.592922, 0.4472136, 1.760057, 2.608693, 2.608693, 2.592922},
      {G3, 5e5, 9.995004, 91.7461, 7.071068, 54.37664, 91.98136, 91.98136, 10.13819, 2.015003, 7499, 32.784},
      {G4, 5e4, 2.104820, 10.64843, 1.490712, 6.999227, 10.69897, 10.69897, 4.561924, 1.031357, 5005, 49.082},
      {G4, 5e5, 6.656026, 49.76771, 4.714045, 30.50628, 38.28310, 33.95081, 4.561924, 1.031357, 5005, 49.082},
      {G5, 2e5, 0.420964, 1.645641, 0.2981424, 1.124065, 1.656325, 1.656325, 1.645641},
      {G5, 2e6, 1.331205, 6.117666, 0.942809, 4.089234, 6.150024, 6.150024, 6.117666},
      {G6, 1e5, 0.8941411, 3.847196, 0.6324555, 2.594383, 3.869215, 3.869215, 3.847196},
      {G6, 1e6, 2.827522, 15.44981, 2, 9.997256, 15.51729, 15.51729, 13.63374, 2.554556, 56368, 193.63},
      {G7, 5e2, 0.2075243, 0.7554262, 0.1490712, 0.5263607, 0.7608749, 0.7608749, 0.7554262},
      {G7, 1e5, 2.934836, 16.20882, 2.108185, 10.66952, 8.145548, 7.027714, 1.025644, 0.2725830, 639, 24.289}};
  for (const FullBatchRow& row : rows) {
    SCOPED_TRACE(::testing::Message() << "T = " << row.steps << ", epsilon " << row.epsilon);
    const HiddenState run = row.setting.run(row.steps);
    expect_close(composition_mu(run), row.mu);
    expect_close(gdp_epsilon(composition_mu(run), delta), row.epsilon);
    const HiddenState directions = with_all_on_directions(row.setting).run(row.steps);
    expect_close(composition_mu(directions), row.mu_directions);
    expect_close(gdp_epsilon(composition_mu(directions), delta), row.epsilon_directions);
    expect_close(epsilon_by(row.setting, row.steps, HiddenBound::bernstein), row.bernstein);
    expect_close(epsilon_by(row.setting, row.steps, HiddenBound::beta), row.beta);
    if (row.chain_mu > 0) {
      const StretchBound bound = best_coupling(run, stretches(run).front(), failure, HiddenBound::chain);
      expect_close(bound.mu, row.chain_mu);
      expect_close(static_cast<double>(bound.window), row.window, 2e-2);
      expect_close(bound.theta, row.theta, 2e-2);
      expect_close(gdp_epsilon(bound.mu, delta - failure), row.final);
    }
    expect_close(explain(run, Adjacency::replace_one, delta).epsilon, row.final);
  }
}

TEST(HiddenState, LastStep) {
  const std::pair<HiddenCase, double> rows[] = {{G1, 1354.353783}, {G2, 1354.353783}, {G3, 178.8854382},
                                                {G4, 208.3333333}, {G5, 433.3333333}, {G6, 391.3118961},
                                                {G7, 59.29270613}};
  for (const auto& [setting, mu] : rows) {
    const HiddenState run = setting.run(1e6);
    expect_close(last_step_mu(run, stretches(run).front()), mu, 1e-9);
  }
}

TEST(HiddenState, PinnedWindowAndTheta) {
  struct Row {
    HiddenCase setting;
    double steps;
    std::uint64_t window;
    double theta, chain, beta, bernstein;
  };
  const Row rows[] = {{G2, 1e6, 20000, 3000, 1.611144034, 4.674815338, 5.362835977},
                      {G3, 5e5, 12000, 20, 2.114135517, 18.53914653, 23.04378953},
                      {G4, 5e5, 4000, 100, 1.073232482, 5.29549562, 5.77013436},
                      {G5, 2e6, 60000, 200, 10.49950509, 55.27065561, 60.2323763},
                      {G7, 1e5, 500, 100, 0.3481429252, 1.533891421, 1.721414268}};
  for (const Row& row : rows) {
    const HiddenState run = row.setting.run(row.steps);
    const Stretch all = stretches(run).front();
    const StepMap map = step_map(run);
    expect_close(coupling_mu(run, all, row.window, chain_growth(map, row.theta, failure)), row.chain);
    expect_close(coupling_mu(run, all, row.window, beta_growth(map, row.window, failure)), row.beta);
    expect_close(coupling_mu(run, all, row.window, bernstein_growth(map, row.window, failure)), row.bernstein);
  }
}

TEST(HiddenState, Design) {
  struct Row {
    HiddenCase setting;
    double steps, window, theta, share, mu, sigma_at_1;
  };
  const Row rows[] = {{G2, 1e6, 15744, 150.65, 0.475711846, 1.05505127, 0.198046426},
                      {G4, 5e5, 4271, 52.879, 0.425044095, 1.02503699, 1.1544742},
                      {G7, 1e5, 954, 18.884, 0.831161401, 0.247740815, 0.279024447}};
  const double target = gdp_mu(1, delta - failure);
  expect_close(target, 0.266364633);
  for (const Row& row : rows) {
    const HiddenDesign found = design(row.setting.run(row.steps), failure);
    expect_close(static_cast<double>(found.window), row.window, 2e-2);
    expect_close(found.theta, row.theta, 2e-2);
    expect_close(found.share, row.share, 1e-2);
    const double mu = found.energy_mu * row.setting.shift() / (row.setting.eta * row.setting.sigma);
    expect_close(mu, row.mu);
    expect_close(mu * row.setting.sigma / target, row.sigma_at_1);
    // The design is what the accountant then finds.
    HiddenCase designed = row.setting;
    designed.share = found.share;
    HiddenState run = designed.run(row.steps);
    run.hybrid = found.window;
    run.before_multiplier = with_all_on_directions(designed).run(1).before_multiplier;
    expect_close(hidden_total(run, failure).mu, row.mu);
  }
}

TEST(HiddenState, DirectionsHelpLikeTheirSquareRoot) {
  const std::pair<double, double> rows[] = {{1, 14.98527},   {10, 4.725983},   {50, 2.112046},  {100, 1.493180},
                                            {200, 1.055691}, {400, 0.7463892}, {800, 0.5276957}};
  for (const auto& [K, mu] : rows) {
    HiddenCase setting = G2;
    setting.K = setting.eta = K;
    expect_close(hidden_total(setting.run(1e9), failure).mu, mu, 2e-6);
    EXPECT_GT(mu, 14.226235 / std::sqrt(K));  // factors of exactly 1
  }
}

TEST(HiddenState, Releases) {
  HiddenState run = G4.run(52000);
  run.releases = {2000, 52000};
  const HiddenTotal total = hidden_total(run, failure);
  ASSERT_EQ(total.stretches.size(), 2u);
  EXPECT_EQ(total.stretches[0].bound, HiddenBound::composition);
  EXPECT_EQ(total.stretches[1].bound, HiddenBound::chain);
  expect_close(total.stretches[0].mu, 0.42096402);
  expect_close(total.stretches[1].mu, 1.0313565);
  expect_close(total.mu, 1.11396, 1e-5);
  EXPECT_DOUBLE_EQ(total.failure, failure * (1 + 0x1p-40));
  expect_close(explain(run, Adjacency::replace_one, delta).epsilon, 4.9893505);
  expect_close(composition_mu(run), 2.1465037);
  expect_close(explain(run, Adjacency::replace_one, delta).composition_epsilon, 10.910583);

  // Two long stretches share the failure; every step released leaves composition.
  run.steps = run.hybrid = 100000;
  run.releases = {50000, 100000};
  const HiddenTotal shared = hidden_total(run, failure);
  for (const StretchBound& bound : shared.stretches) EXPECT_EQ(bound.failure, failure / 2);
  EXPECT_LE(shared.failure, failure * (1 + 1e-9));
  run.steps = run.hybrid = 100;
  run.releases.clear();
  for (std::uint64_t t = 1; t <= 100; ++t) run.releases.push_back(t);
  const HiddenTotal every = hidden_total(run, failure);
  expect_close(every.mu, composition_mu(run), 1e-12);
  EXPECT_EQ(every.failure, 0);
}

TEST(HiddenState, Cyclic) {
  HiddenCase setting{.n = 1e4, .d = 1e4, .K = 64, .eta = 64, .sigma = 1, .batch = 500};
  HiddenState run = setting.run(2e5);
  run.parts = 20;
  const Stretch all = stretches(run).front();
  const Growth growth = chain_growth(step_map(run), 400, failure);
  expect_close(coupling_mu(run, all, 2660, growth), 0.16288457);
  for (const std::uint64_t window : {2600, 2640, 2680, 2720})  // full passes are no cheaper
    EXPECT_GE(coupling_mu(run, all, window, growth), 0.16288457 * (1 - 1e-6));
  expect_close(gdp_epsilon(0.16288457, delta - failure), 0.58412116);
  expect_close(composition_mu(run), 0.56388387);
  expect_close(gdp_epsilon(composition_mu(run), delta), 2.2802108);
}

TEST(HiddenState, VisitsOfARecord) {
  HiddenState run = G4.run(100);
  EXPECT_EQ(visits(run, 3, 10), 7u);
  run.parts = 5;
  EXPECT_EQ(visits(run, 0, 5), 1u);
  EXPECT_EQ(visits(run, 0, 6), 2u);
  EXPECT_EQ(visits(run, 3, 8), 1u);
  run.reshuffled = true;  // may come last in one pass and first in the next
  EXPECT_EQ(visits(run, 3, 8), 2u);
  EXPECT_EQ(visits(run, 4, 6), 2u);
  EXPECT_EQ(visits(run, 0, 5), 1u);
  EXPECT_EQ(visits(run, 4, 11), 3u);
  EXPECT_EQ(visits(run, 7, 7), 0u);
}

TEST(HiddenState, AnalyticRegulariser) {
  // M = 0.25 and convex for the part that is probed: e = M xi / 4.
  HiddenCase setting{.n = 1000, .d = 2000, .K = 64, .eta = 64, .sigma = 0.3, .e = 0.25e-8 / 4, .zeta = 1 - 0.0032};
  const HiddenState run = setting.run(1e5);
  const StretchBound bound = best_coupling(run, stretches(run).front(), failure, HiddenBound::chain);
  expect_close(bound.mu, 0.27156109);
  expect_close(static_cast<double>(bound.window), 640, 2e-2);
  expect_close(bound.theta, 21.7901, 2e-2);
  expect_close(gdp_epsilon(bound.mu, delta - failure), 1.021425);
  const Growth pinned = chain_growth(step_map(run), 25, failure);
  expect_close(coupling_mu(run, stretches(run).front(), 600, pinned), 0.2724998897);
}

TEST(HiddenState, ComparedWithThePaper) {
  const struct {
    double steps, composition, printed, route, certified;
  } rows[] = {
      {1, 0.0192021, 0.009599052, 0.01977146, 0.009718132}, {10, 0.06077709, 0.03036854, 0.06257755, 0.03534076},
      {100, 0.192741, 0.09617052, 0.1984346, 0.1254218},    {1000, 0.6149709, 0.3054854, 0.6329755, 0.4400665},
      {10000, 1.99941, 0.9797052, 2.056346, 1.147905},      {22361, 3.049097, 1.479826, 3.134236, 1.147905},
      {100000, 6.869709, 3.234854, 7.049755, 1.147905},     {300000, 12.91304, 5.856522, 9.790009, 1.147905},
      {1000000, 27.1941, 11.59705, 9.790009, 1.147905}};
  paper::Setting p{
      .records = 1e4, .dimension = 1e5, .directions = 200, .step = 200, .noise = 0.05, .convexity = 0.9};
  for (const auto& row : rows) {
    p.steps = static_cast<std::uint64_t>(row.steps);
    expect_close(paper::composition(p, 2, delta).epsilon, row.composition);
    expect_close(paper::composition(p, 1, delta).epsilon, row.printed);
    expect_close(paper::corollary_route(p, delta).epsilon, row.route);
    expect_close(paper::output_perturbation(p, delta).epsilon, 2303.485);
    const double directions = composition_mu(with_all_on_directions(G1).run(row.steps));
    const HiddenDesign found = design(G1.run(row.steps), failure);
    double certified = gdp_epsilon(directions, delta);
    if (found.window > 0)
      certified =
          std::min(certified, gdp_epsilon(found.energy_mu * G1.shift() / (G1.eta * G1.sigma), delta - failure));
    expect_close(certified, row.certified);
  }
}

}  // namespace
}  // namespace dpmpi::bounds_test
