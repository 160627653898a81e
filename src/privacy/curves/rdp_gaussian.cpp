// Gaussian noise: on all records, on samples, continuous and discrete.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/renyi_quadrature.hpp"

namespace dpmpi {

namespace {

bool is_whole(double order) { return order == std::floor(order); }

double log_factorial(std::size_t k) {
  static const std::vector<double> table = [] {
    std::vector<double> logs(static_cast<std::size_t>(rdp_largest_order) + 2);
    long double sum = 0;
    for (std::size_t i = 1; i < logs.size(); ++i)
      logs[i] = static_cast<double>(sum += std::log(static_cast<long double>(i)));
    return logs;
  }();
  return table[k];
}

// log(1 + sum_{k=2}^{a} binom(a, k) exp(u_k + v_{a-k})) for many a: all terms are positive, and terms 0 and 1,
// which make up the leading 1 in every use below, are left out so that small sums keep their relative precision.
class BinomialSum {
 public:
  template <class U, class V>
  BinomialSum(std::size_t largest, U u, V v) : u_(largest + 1), v_(largest + 1) {
    for (std::size_t k = 0; k <= largest; ++k) {
      u_[k] = k < 2 ? -infinity : u(static_cast<double>(k)) - log_factorial(k);
      v_[k] = v(static_cast<double>(k)) - log_factorial(k);
    }
  }

  double log_one_plus(double order) const {
    const auto a = static_cast<std::size_t>(order);
    double peak = -infinity;
    for (std::size_t k = 2; k <= a; ++k) peak = std::max(peak, u_[k] + v_[a - k]);
    if (!std::isfinite(peak)) return peak > 0 ? infinity : 0;
    double sum = 0;
    for (std::size_t k = 2; k <= a; ++k)
      if (const double below = u_[k] + v_[a - k] - peak; below > -50) sum += std::exp(below);
    return log1p_exp(peak + std::log(sum) + log_factorial(a));
  }

 private:
  std::vector<double> u_, v_;
};

std::size_t largest_whole_order(Orders orders) {
  return static_cast<std::size_t>(std::ceil(*std::max_element(orders.begin(), orders.end())));
}

// eps(a) from bounds moment(a) >= (a-1) eps(a) at whole a > 1. The logarithm of a moment is convex in its order and
// 0 at order 1, so between whole orders it lies below the chord.
template <class Moment>
std::vector<double> chords(Moment moment, Orders orders) {
  std::vector<double> curve;
  for (const double a : orders) {
    const double low = std::floor(a), weight = a - low;
    const double left = low == 1 || weight == 1 ? 0 : (1 - weight) * moment(low);
    curve.push_back(outward((left + (weight == 0 ? 0 : weight * moment(low + 1))) / (a - 1)));
  }
  return curve;
}

// Whole orders by the binomial expansion of E (1 - q + q e^w)^a. The factor exp((k^2-k)/(2 z^2)) is entered minus
// one: the ones sum to (1 - q + q)^a = 1.
BinomialSum removal_moments(double q, double z, std::size_t largest) {
  return BinomialSum(
      largest, [&](double k) { return k * std::log(q) + log_expm1((k * k - k) / (2 * z * z)); },
      [&](double k) { return k * std::log1p(-q); });
}

std::vector<double> removal_curve(double q, double z, Orders orders) {
  const BinomialSum moments = removal_moments(q, z, largest_whole_order(orders));
  std::vector<double> fractional, curve;
  for (const double a : orders)
    if (!is_whole(a)) fractional.push_back(a);
  const auto by_quadrature = renyi_divergence({.q = q, .s = z, .opposite = false}, fractional);
  auto next = by_quadrature.begin();
  for (const double a : orders) curve.push_back(outward(is_whole(a) ? moments.log_one_plus(a) / (a - 1) : *next++));
  return curve;
}

// One of the sampled records differs: (a-1) eps(a) <= log(1 + sum_j g^j binom(a,j) c_j) at whole a, with
// c_2 = min(4 (e^{eps(2)} - 1), 2 e^{eps(2)}) and c_j = 2 e^{(j-1) eps(j)}, where eps(j) = j / (2 z^2) and
// eps(infinity) is infinite; or convexity where that is smaller. For samples of a fixed size this is Thm. 9 of
// Wang, Balle and Kasiviswanathan (2019); for Poisson samples docs/theory/renyi.md has the proof.
class ReplacementMoments {
 public:
  ReplacementMoments(double rate, double z, std::size_t largest)
      : rate_(rate),
        precision_(1 / (2 * z * z)),
        expansion_(
            largest,
            [this](double j) {
              const double moment = (j * j - j) * precision_;
              const double loose = std::log(2.0) + moment;
              return j * std::log(rate_) + (j == 2 ? std::min(std::log(4.0) + log_expm1(moment), loose) : loose);
            },
            [](double) { return 0.0; }) {}

  double operator()(double a) const {
    const double convex = (a - 1) * sampled_bound(rate_, a * precision_, a);
    return std::min(expansion_.log_one_plus(a), convex);
  }

 private:
  double rate_, precision_;
  BinomialSum expansion_;
};

}  // namespace

std::vector<double> linear_curve(double rho, Orders orders) {
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(rho * a));
  return curve;
}

std::vector<double> poisson_gaussian_curve(double rate, double z, Adjacency adjacency, Orders orders) {
  if (rate == 1) return linear_curve(1 / (2 * z * z), orders);
  if (adjacency == Adjacency::add_remove) return removal_curve(rate, z, orders);
  auto curve = renyi_divergence({.q = rate, .s = 2 * z, .opposite = true}, orders);
  for (double& x : curve) x = outward(x);
  return curve;
}

std::vector<double> poisson_discrete_gaussian_curve(double rate, double z, Adjacency adjacency, Orders orders) {
  if (rate == 1) return linear_curve(1 / (2 * z * z), orders);
  const std::size_t largest = largest_whole_order(orders);
  if (adjacency == Adjacency::replace_one) return chords(ReplacementMoments(rate, z, largest), orders);
  const BinomialSum moments = removal_moments(rate, z, largest);
  return chords([&](double a) { return moments.log_one_plus(a); }, orders);
}

void require_replace_one(const Mechanism& mechanism, Adjacency adjacency) {
  if (adjacency != Adjacency::replace_one)
    throw PrivacyError(
        fmt::format("event {} under add_remove: samples of a fixed size have a bound under replace_one "
                    "only (n and the batch size are the same in both datasets)",
                    name(mechanism)));
}

std::vector<double> wor_gaussian_curve(double rate, double z, Orders orders) {
  return chords(ReplacementMoments(rate, z, largest_whole_order(orders)), orders);
}

}  // namespace dpmpi
