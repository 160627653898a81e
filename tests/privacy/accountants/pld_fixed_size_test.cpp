// Samples of a fixed size, by loss distributions: against every placement of few records, by integrals that are
// written out here.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/accountants/rdp_accountant.hpp"

namespace dpmpi::pld_fixed_size_test {
namespace {

constexpr auto replace_one = Adjacency::replace_one;

PldAccountant composed(const WorGaussian& sample, std::uint64_t count) {
  PldAccountant accountant(replace_one);
  accountant.compose({sample, count});
  return accountant;
}

double density(double t) { return std::exp(-t * t / 2) / std::sqrt(2 * std::numbers::pi); }
double above(double t) { return std::erfc(t / std::numbers::sqrt2) / 2; }

// Values of records on a line, in units of twice the clipping radius: in [-1/2, 1/2].
using Values = std::vector<double>;

// The density of the noised sum of a uniform subset of `batch` among the values, summed over all subsets.
std::function<double(double)> noised_sum(const Values& values, std::size_t batch, double z) {
  std::vector<double> sums;
  for (unsigned subset = 0; subset < 1U << values.size(); ++subset) {
    double sum = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (subset >> i & 1U) sum += values[i], ++size;
    if (size == batch) sums.push_back(sum);
  }
  return [=](double x) {
    double total = 0;
    for (const double sum : sums) total += density((x - sum) / z) / z;
    return total / static_cast<double>(sums.size());
  };
}

constexpr double edge = 12, step = 1. / 32;  // integrals on [-edge, edge]; densities are analytic

struct Two {
  std::vector<double> p, q;  // both laws' masses at the points
  Two(const Values& values, double replacement, std::size_t batch, double z) {
    Values other = values;
    other.front() = replacement;
    const auto a = noised_sum(values, batch, z), b = noised_sum(other, batch, z);
    for (double x = -edge; x <= edge; x += step) p.push_back(step * a(x)), q.push_back(step * b(x));
  }
  Two reversed() const {
    Two other = *this;
    std::swap(other.p, other.q);
    return other;
  }
};

// The divergence of one use at e^epsilon, up to the error of a sum whose integrand has a kink.
double divergence(const Two& use, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < use.p.size(); ++i) sum += std::max(0.0, use.p[i] - std::exp(epsilon) * use.q[i]);
  return sum;
}
// Of one use and then the worst of several, which may be chosen by what the first one gave.
double divergence(const Two& first, const std::vector<Two>& second, double epsilon) {
  double sum = 0;
  for (std::size_t i = 0; i < first.p.size(); ++i) {
    if (first.p[i] < 1e-14) continue;
    double worst = 0;
    for (const Two& use : second)
      worst = std::max(worst, divergence(use, epsilon + std::log(first.q[i] / first.p[i])));
    sum += first.p[i] * worst;
  }
  return sum;
}

// The first record's value is replaced. All others at the opposite end, in both orders, and random ones.
std::vector<Two> placements(std::size_t population, std::size_t batch, double z) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> place(-.5, .5);
  Values values(population, -.5);
  values.front() = .5;
  std::vector<Two> list = {Two(values, -.5, batch, z), Two(values, -.5, batch, z).reversed()};
  values.assign(population, 0);
  values.front() = .5;
  list.emplace_back(values, -.5, batch, z);
  for (int i = 0; i < 6; ++i) {
    for (double& value : values) value = place(random);
    list.emplace_back(values, place(random), batch, z);
  }
  return list;
}

struct Sample {
  std::size_t population, batch;
  double z;
  WorGaussian event() const { return {population, batch, z}; }
};
const std::vector<Sample> samples = {{2, 1, .7}, {3, 1, 1}, {3, 2, .6}, {5, 2, 1}, {6, 1, .5}};

TEST(PldFixedSize, NoPlacementOfTheRecordsTellsMoreInOneUse) {
  for (const Sample& x : samples) {
    SCOPED_TRACE(to_json({x.event(), 1}));
    const PldAccountant accountant = composed(x.event(), 1);
    for (const double epsilon : {0., .1, .3, 1., 2.}) {
      double worst = 0;
      for (const Two& use : placements(x.population, x.batch, x.z))
        worst = std::max(worst, divergence(use, epsilon));
      EXPECT_GE(accountant.delta(epsilon), worst - 1e-4) << epsilon;
      EXPECT_LE(accountant.delta(epsilon), worst * 1.01 + 1e-4) << epsilon;  // the first of them attains it
    }
  }
}

// Adaptively: the placement of the second use is chosen by the output of the first.
TEST(PldFixedSize, NoPlacementOfTheRecordsTellsMoreInTwoUses) {
  for (const Sample& x : samples) {
    SCOPED_TRACE(to_json({x.event(), 2}));
    const PldAccountant accountant = composed(x.event(), 2);
    const std::vector<Two> uses = placements(x.population, x.batch, x.z);
    for (const double epsilon : {.1, 1., 3.}) {
      double worst = 0;
      for (const Two& first : uses) worst = std::max(worst, divergence(first, uses, epsilon));
      EXPECT_GE(accountant.delta(epsilon), worst - 1e-4) << epsilon;
      EXPECT_LE(accountant.delta(epsilon), worst * 1.15 + 1e-4) << epsilon;
    }
  }
}

// Whoever sees the first output may turn the values round. So the mixture against one of its two laws, which
// dominates Poisson samples in two directions, does not dominate here.
TEST(PldFixedSize, OneOrderAloneWouldPromiseTooMuch) {
  for (const Sample& x : samples) {
    SCOPED_TRACE(to_json({x.event(), 2}));
    PldAccountant one_order(Adjacency::add_remove);
    one_order.compose({PoissonGaussian{static_cast<double>(x.batch) / static_cast<double>(x.population), x.z}, 2});
    const std::vector<Two> uses = placements(x.population, x.batch, x.z), ends(uses.begin(), uses.begin() + 2);
    for (const double epsilon : {.1, .3, 1.})
      EXPECT_GT(divergence(ends.front(), ends, epsilon), 1.01 * one_order.delta(epsilon)) << epsilon;
  }
}

// The dominating pair by itself. For gamma >= 1, H(gamma) = q H_g(N(1, z^2) || N(0, z^2)) with gamma = 1 + q (g -
// 1); below 1, H(gamma) = 1 - gamma + gamma H(1/gamma).
struct Profile {
  double q, z;
  double operator()(double gamma) const {
    if (gamma <= 0) return 1 - gamma;
    if (gamma < 1) return 1 - gamma + gamma * (*this)(1 / gamma);
    const double g = 1 + (gamma - 1) / q, t = z * std::log(g);
    return q * (above(t - .5 / z) - g * above(t + .5 / z));
  }
};

// delta of one use more: E_P H(e^(epsilon - L)), with L's law from H: where losses are positive they are those of
// the output y, under P and, mirrored, under Q; the rest is at 0.
double with_one_more(const Profile& profile, const std::function<double(double)>& delta, double epsilon) {
  const double q = profile.q, z = profile.z, fine = 1e-3;
  double sum = 0, rest = 1;
  for (double y = .5 / z + fine / 2; y < .5 / z + 12; y += fine) {
    const double without = fine * density(y), with = (1 - q) * without + q * fine * density(y - 1 / z);
    const double loss = std::log1p(q * std::expm1(y / z - .5 / (z * z)));
    sum += with * delta(epsilon - loss) + without * delta(epsilon + loss);
    rest -= with + without;
  }
  return sum + rest * delta(epsilon);
}

TEST(PldFixedSize, ComposesItsPairAsIntegralsDo) {
  for (const Profile profile : {Profile{.1, 1}, Profile{.02, .6}, Profile{.25, 2}}) {
    const auto population = static_cast<std::uint64_t>(std::lround(1000)),
               batch = static_cast<std::uint64_t>(std::lround(1000 * profile.q));
    const auto once = [&](double epsilon) { return profile(std::exp(epsilon)); };
    const auto twice = [&](double epsilon) { return with_one_more(profile, once, epsilon); };
    const PldAccountant one = composed({population, batch, profile.z}, 1),
                        two = composed({population, batch, profile.z}, 2);
    for (const double epsilon : {.05, .3, 1.}) {
      EXPECT_NEAR(one.delta(epsilon), once(epsilon), 4e-3 * once(epsilon) + 1e-12) << profile.q << ' ' << epsilon;
      EXPECT_NEAR(two.delta(epsilon), twice(epsilon), 4e-3 * twice(epsilon) + 1e-9) << profile.q << ' ' << epsilon;
    }
  }
}

// A loop over rates, noises, uses and deltas: the Renyi bound is never the smaller one, and neither contradicts the
// losses that some run attains.
TEST(PldFixedSize, LiesBetweenWhatIsAttainedAndTheRenyiBound) {
  for (const std::uint64_t batch : {1, 20, 300})
    for (const double z : {.6, 1.5, 6.})
      for (const std::uint64_t count : {1, 60, 3000})
        for (const double delta : {1e-4, 1e-8}) {
          const Event event{WorGaussian{1000, batch, z}, count};
          SCOPED_TRACE(to_json(event) + " delta " + std::to_string(delta));
          const PldAccountant accountant = composed({1000, batch, z}, count);
          RdpAccountant renyi(replace_one);
          renyi.compose(event);
          PldAccountant attained(Adjacency::add_remove);
          attained.compose({PoissonGaussian{static_cast<double>(batch) / 1000, z}, count});
          EXPECT_LE(accountant.epsilon(delta), renyi.epsilon(delta) * (1 + 1e-9));
          EXPECT_GE(accountant.epsilon(delta), attained.least_epsilon(delta));
          EXPECT_LE(accountant.least_epsilon(delta), attained.epsilon(delta));
        }
}

// Against the Renyi bound's .592. What one order alone would give is .1645, and that is no bound.
TEST(PldFixedSize, AFewHundredthsAboveOneOrder) {
  const PldAccountant accountant = composed({2310, 32, 4}, 88);
  EXPECT_GT(accountant.epsilon(1.1e-8), .1645);
  EXPECT_LT(accountant.epsilon(1.1e-8), .1725);
}

TEST(PldFixedSize, TheWholePopulationIsAGaussian) {
  PldAccountant gaussian(replace_one);
  gaussian.compose({Gaussian{2}, 7});
  EXPECT_NEAR(composed({50, 50, 2}, 7).epsilon(1e-6), gaussian.epsilon(1e-6), 1e-3);
}

TEST(PldFixedSize, IsTheBestAccountantsAnswer) {
  BestAccountant best(replace_one);
  best.compose({WorGaussian{1000, 10, 1}, 500});
  EXPECT_EQ(best.epsilon(1e-6), composed({1000, 10, 1}, 500).epsilon(1e-6));
}

}  // namespace
}  // namespace dpmpi::pld_fixed_size_test
