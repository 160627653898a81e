#include "dpmpi/privacy/rdp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/renyi_quadrature.hpp"

namespace dpmpi {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Above the rounding error of every formula below (log-binomials near 1e4 carry about 4e-12). Never 0: an underflow
// must not pass for a perfect guarantee.
double outward(double x) { return std::max(x * (1 + 0x1p-36), std::numeric_limits<double>::min()); }

bool whole(double order) { return order == std::floor(order); }

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

double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }
double log1p_exp(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

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

  double log_one_plus(std::size_t a) const {
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

std::size_t largest_whole(std::span<const double> orders) {
  return static_cast<std::size_t>(std::ceil(*std::max_element(orders.begin(), orders.end())));
}

std::vector<double> gaussian_curve(double z, std::span<const double> orders) {
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(a / (2 * z * z)));
  return curve;
}

// Whole orders by the binomial expansion of E (1 - q + q e^w)^a. The factor exp((k^2-k)/(2 z^2)) is entered minus
// one: the ones sum to (1 - q + q)^a = 1.
std::vector<double> poisson_add_remove_curve(double q, double z, std::span<const double> orders) {
  const BinomialSum expansion(
      largest_whole(orders), [&](double k) { return k * std::log(q) + log_expm1((k * k - k) / (2 * z * z)); },
      [&](double k) { return k * std::log1p(-q); });
  std::vector<double> fractional, curve;
  for (const double a : orders)
    if (!whole(a)) fractional.push_back(a);
  const auto by_quadrature = renyi_divergence({.q = q, .s = z, .opposite = false}, fractional);
  auto next = by_quadrature.begin();
  for (const double a : orders)
    curve.push_back(outward(whole(a) ? expansion.log_one_plus(static_cast<std::size_t>(a)) / (a - 1) : *next++));
  return curve;
}

std::vector<double> poisson_curve(const PoissonGaussian& m, Adjacency adjacency, std::span<const double> orders) {
  if (m.sampling_rate == 1) return gaussian_curve(m.noise_multiplier, orders);
  if (adjacency == Adjacency::add_remove)
    return poisson_add_remove_curve(m.sampling_rate, m.noise_multiplier, orders);
  auto curve = renyi_divergence({.q = m.sampling_rate, .s = 2 * m.noise_multiplier, .opposite = true}, orders);
  for (double& x : curve) x = outward(x);
  return curve;
}

// (a-1) eps(a) at whole a: log(1 + sum_j g^j binom(a,j) c_j) with c_2 = min(4 (e^{eps(2)} - 1), 2 e^{eps(2)}) and
// c_j = 2 e^{(j-1) eps(j)}, where eps(j) = j / (2 z^2) and eps(infinity) is infinite; or convexity where that is
// smaller.
class WorMoments {
 public:
  WorMoments(const WorGaussian& m, std::size_t largest)
      : rate_(static_cast<double>(m.batch) / static_cast<double>(m.population)),
        precision_(1 / (2 * m.noise_multiplier * m.noise_multiplier)),
        expansion_(
            largest,
            [this](double j) {
              const double moment = (j * j - j) * precision_;
              const double loose = std::log(2.0) + moment;
              return j * std::log(rate_) + (j == 2 ? std::min(std::log(4.0) + log_expm1(moment), loose) : loose);
            },
            [](double) { return 0.0; }) {}

  double operator()(double a) const {
    if (a == 1) return 0;
    const double convex = (a - 1) * sampled_bound(rate_, a * precision_, a);
    return std::min(expansion_.log_one_plus(static_cast<std::size_t>(a)), convex);
  }

 private:
  double rate_, precision_;
  BinomialSum expansion_;
};

std::vector<double> wor_curve(const WorGaussian& m, std::span<const double> orders) {
  const WorMoments moments(m, largest_whole(orders));
  std::vector<double> curve;
  for (const double a : orders) {
    const double low = std::floor(a), weight = a - low;
    const double moment = weight == 0 ? moments(low) : (1 - weight) * moments(low) + weight * moments(low + 1);
    curve.push_back(outward(moment / (a - 1)));
  }
  return curve;
}

void check_orders(std::span<const double> orders) {
  for (const double a : orders)
    if (!(a > 1 && a <= rdp_largest_order))
      throw PrivacyError("Renyi order " + std::to_string(a) + ", allowed: numbers in (1, 2048]");
}

double single(const Mechanism& mechanism, Adjacency adjacency, double order) {
  return rdp_curve(mechanism, adjacency, std::span(&order, 1)).front();
}

}  // namespace

const std::vector<double>& rdp_orders() {
  static const std::vector<double> orders = [] {
    std::vector<double> list = {1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2,
                                1.25, 1.3,  1.4,  1.5,  1.6,  1.7, 1.8,  1.9};
    for (int a = 2; a <= 256; ++a) list.push_back(a);
    list.insert(list.end(), {320, 384, 448, 512, 640, 768, 1024});
    return list;
  }();
  return orders;
}

std::vector<double> rdp_curve(const Mechanism& mechanism, Adjacency adjacency, std::span<const double> orders) {
  check_orders(orders);
  check({mechanism, 1}, "event");
  if (orders.empty()) return {};
  if (const auto* m = std::get_if<Gaussian>(&mechanism)) return gaussian_curve(m->noise_multiplier, orders);
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism)) return poisson_curve(*m, adjacency, orders);
  if (const auto* m = std::get_if<WorGaussian>(&mechanism)) {
    if (adjacency != Adjacency::replace_one)
      throw PrivacyError(
          "event wor_gaussian under add_remove: samples of a fixed size have a bound under replace_one "
          "only (n and the batch size are the same in both datasets)");
    return wor_curve(*m, orders);
  }
  if (std::holds_alternative<NonPrivate>(mechanism)) return std::vector<double>(orders.size(), infinity);
  throw PrivacyError("event " + std::string(name(mechanism)) + ": accountant rdp has no bound for it");
}

double gaussian_rdp(double noise_multiplier, double order) {
  return single(Gaussian{noise_multiplier}, Adjacency::add_remove, order);
}
double poisson_gaussian_rdp(double sampling_rate, double noise_multiplier, double order, Adjacency adjacency) {
  return single(PoissonGaussian{sampling_rate, noise_multiplier}, adjacency, order);
}
double wor_gaussian_rdp(std::uint64_t population, std::uint64_t batch, double noise_multiplier, double order) {
  return single(WorGaussian{population, batch, noise_multiplier}, Adjacency::replace_one, order);
}

RdpConversion rdp_to_epsilon(std::span<const double> orders, std::span<const double> curve, double delta) {
  verify(delta > 0 && delta < 1, "delta in (0, 1)");
  RdpConversion best{infinity, orders.empty() ? 0 : orders.back()};
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};  // a divergence of zero: the outputs have the same law
    const double epsilon = curve[i] + std::log1p(-1 / a) - (std::log(delta) + std::log(a)) / (a - 1);
    if (epsilon < best.value) best = {epsilon, a};
  }
  best.value = std::max(0.0, best.value + 1e-14 + 1e-15 * std::abs(best.value));
  return best;
}

RdpConversion rdp_to_delta(std::span<const double> orders, std::span<const double> curve, double epsilon) {
  verify(epsilon >= 0, "epsilon >= 0");
  RdpConversion best{0, orders.empty() ? 0 : orders.back()};  // of log delta
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    if (curve[i] == 0) return {0, a};
    const double log_delta = (a - 1) * (curve[i] - epsilon + std::log1p(-1 / a)) - std::log(a);
    if (log_delta < best.value) best = {log_delta, a};
  }
  best.value = std::min(1.0, outward(std::exp(best.value)));
  return best;
}

}  // namespace dpmpi
