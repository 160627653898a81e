#include "privacy/promise/attacker_power.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi::attacker_power_test {
namespace {

constexpr double rates[] = {1e-12, 1e-6, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.9999};

// The curve of randomised response with bias e^epsilon : 1, or of Gaussian noise, with every evaluation counted.
class Curve : public Accountant {
 public:
  Curve() : Accountant(Adjacency::add_remove) {}
  std::string_view name() const override { return "curve"; }
  void compose(const Event&) override {}
  double epsilon(double) const override { return 0; }
  double delta(double epsilon) const override {
    ++evaluations;
    return value(epsilon);
  }
  mutable int evaluations = 0;

 private:
  virtual double value(double epsilon) const = 0;
};

class RandomizedResponse final : public Curve {
 public:
  explicit RandomizedResponse(double bias) : bias_(bias) {}

 private:
  double value(double epsilon) const override {
    return std::max(0.0, (std::exp(bias_) - std::exp(epsilon)) / (1 + std::exp(bias_)));
  }
  double bias_;
};

class GaussianCurve final : public Curve {
 public:
  explicit GaussianCurve(double mu) : mu_(mu) {}

 private:
  double value(double epsilon) const override { return gdp_delta(mu_, epsilon); }
  double mu_;
};

template <class A>
A composed(const Event& event) {
  A accountant(Adjacency::add_remove);
  accountant.compose(event);
  return accountant;
}

// Values of Phi at whole numbers.
TEST(AttackerPower, OfGaussianNoiseIsExact) {
  const auto accountant = composed<GdpAccountant>({Gaussian{1}, 1});
  EXPECT_NEAR(attacker_power(accountant, 0.5), 0.841344746068543, 1e-14);                 // Phi(1)
  EXPECT_NEAR(attacker_power(accountant, 0.158655253931457), 0.5, 1e-14);                 // Phi(-1)
  EXPECT_NEAR(attacker_power(accountant, 0.022750131948179), 0.158655253931457, 1e-14);   // Phi(-2)
  EXPECT_NEAR(attacker_power(accountant, 1.3498980316301e-3), 0.022750131948179, 1e-14);  // Phi(-3)
  EXPECT_NEAR(attacker_power(accountant, 0.977249868051821), 0.998650101968370, 1e-14);   // Phi(2)
  EXPECT_EQ(attacker_power(accountant, 0), 0);
  EXPECT_EQ(attacker_power(accountant, 1), 1);
}

TEST(AttackerPower, OfTheBestAccountantIsTheExactOne) {
  const auto gdp = composed<GdpAccountant>({Gaussian{3}, 5});
  const auto best = composed<BestAccountant>({Gaussian{3}, 5});
  for (const double rate : rates) EXPECT_EQ(attacker_power(best, rate), attacker_power(gdp, rate)) << rate;
}

// The exact trade-off function is the envelope of the exact curve's bounds.
TEST(AttackerPower, FromTheExactGaussianCurveIsTheExactPower) {
  for (const double mu : {0.01, 0.3, 1.0, 3.0, 6.0})
    for (const double rate : rates) {
      const auto exact = attacker_power(composed<GdpAccountant>({Gdp{mu}, 1}), rate);
      const double power = attacker_power(GaussianCurve(mu), rate);
      EXPECT_GE(power, exact * (1 - 1e-14)) << fmt::format("mu={} rate={}", mu, rate);
      EXPECT_LE(power, exact * (1 + 1e-6)) << fmt::format("mu={} rate={}", mu, rate);
    }
}

// The conversion from Renyi divergences loses up to 60 % here; the search must lose nothing more. Its curve is the
// smallest over many orders, which is not convex.
TEST(AttackerPower, FromARenyiCurveIsItsSmallestBoundAndAboveTheExactPower) {
  for (const double z : {0.5, 1.0, 3.0, 20.0})
    for (const double rate : {1e-3, 0.01, 0.1, 0.5, 0.9}) {
      const auto rdp = composed<RdpAccountant>({Gaussian{z}, 1});
      const double power = attacker_power(rdp, rate);
      EXPECT_GE(power, attacker_power(composed<GdpAccountant>({Gaussian{z}, 1}), rate)) << z << " " << rate;
      double smallest = 1;
      for (double epsilon = 1e-3; epsilon < 40; epsilon *= 1.002) {
        const double delta = rdp.delta(epsilon);
        smallest =
            std::min({smallest, delta + std::exp(epsilon) * rate, 1 - std::exp(-epsilon) * (1 - delta - rate)});
      }
      EXPECT_LE(power, smallest * (1 + 1e-9)) << fmt::format("z={} rate={}", z, rate);
      EXPECT_GE(power, smallest * (1 - 1e-4)) << fmt::format("z={} rate={}", z, rate);
    }
}

TEST(AttackerPower, OfRandomizedResponse) {
  for (const double bias : {0.01, 0.5, 1.0, 5.0})
    for (const double rate : rates) {
      const double exact = std::min(std::exp(bias) * rate, 1 - std::exp(-bias) * (1 - rate));
      const double power = attacker_power(RandomizedResponse(bias), rate);
      EXPECT_GE(power, exact * (1 - 1e-15)) << fmt::format("bias={} rate={}", bias, rate);
      EXPECT_LE(power, exact * (1 + 1e-5)) << fmt::format("bias={} rate={}", bias, rate);
    }
}

TEST(AttackerPower, NeedsFewEvaluations) {
  const GaussianCurve curve(1);
  attacker_power(curve, 0.01);
  EXPECT_LE(curve.evaluations, 60);
}

TEST(AttackerPower, IsCompleteWithoutAGuarantee) {
  for (const double rate : {0.0, 1e-6, 0.5}) {
    EXPECT_EQ(attacker_power(composed<GdpAccountant>({NonPrivate{}, 1}), rate), 1);
    EXPECT_EQ(attacker_power(composed<RdpAccountant>({NonPrivate{}, 1}), rate), 1);
    EXPECT_EQ(attacker_power(composed<BestAccountant>({NonPrivate{}, 1}), rate), 1);
  }
}

TEST(AttackerPower, WithoutEventsIsTheFalsePositiveRate) {
  for (const double rate : rates) {
    EXPECT_NEAR(attacker_power(GdpAccountant(Adjacency::add_remove), rate), rate, 1e-14);
    EXPECT_GE(attacker_power(GdpAccountant(Adjacency::add_remove), rate), rate);
    EXPECT_NEAR(attacker_power(RdpAccountant(Adjacency::add_remove), rate), rate, 1e-14);
  }
  EXPECT_THROW(attacker_power(GdpAccountant(Adjacency::add_remove), -0.1), BugError);
  EXPECT_THROW(attacker_power(GdpAccountant(Adjacency::add_remove), std::nan("")), BugError);
}

TEST(RoundedUp, IsNeverSmallerAndNeverMuchLarger) {
  EXPECT_EQ(rounded_up(0), "0");
  EXPECT_EQ(rounded_up(HUGE_VAL), "inf");
  EXPECT_EQ(rounded_up(1), "1");
  EXPECT_EQ(rounded_up(0.3), "0.3");
  EXPECT_EQ(rounded_up(1e-5), "1e-05");
  EXPECT_EQ(rounded_up(1.00000001), "1.00001");
  EXPECT_EQ(rounded_up(9.9999991), "10");
  EXPECT_EQ(rounded_up(123456.01), "123457");
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    const double shown = std::stod(rounded_up(x));
    EXPECT_GE(shown, x);
    EXPECT_LE(shown, x * (1 + 1.1e-5));
  }
}

}  // namespace
}  // namespace dpmpi::attacker_power_test
