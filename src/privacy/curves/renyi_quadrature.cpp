#include "privacy/curves/renyi_quadrature.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace dpmpi {

namespace {

// With r = P/Q and E_Q r = 1,
//
//   exp((a-1) D_a) = E_Q r^a = 1 + (a-1) E_Q g(r),   g(r) = (r^a - 1 - a (r-1)) / (a-1) >= 0   (Bernoulli),
//
// so D_a = log1p((a-1) E_Q g) / (a-1) and the integrand is positive. It is analytic in t = x/s, and the trapezoidal
// rule converges exponentially in the width of the strip around the real line where it stays so.

constexpr double tail = 12.5;  // exp(-tail^2 / 2) < 2^-112
constexpr std::size_t most_nodes = 1u << 18;

// Integration points t_i for all orders up to some largest one.
struct Nodes {
  double step = 0;
  std::vector<double> log_q;      // log of Q's density in t, without the factor (2 pi)^(-1/2)
  std::vector<double> log_ratio;  // log r
};

// Largest step with an error of about e^-45. On |Im t| = phi s, phi < pi, each mixture is at least cos(phi/2) times
// its value on the real line, so Q^(1-a) grows by cos(phi/2)^(1-a) and the Gaussian by exp(phi^2 s^2 / 2), against
// the rule's factor exp(-2 pi phi s / step).
double step_for(const SampledGaussianPair& pair, double largest_order) {
  const double power = pair.opposite ? largest_order - 1 : 0;
  const double phi = std::min(2.8, std::sqrt(90 / (pair.s * pair.s + power / 4)));
  const double growth = -power * std::log(std::cos(phi / 2)) + phi * phi * pair.s * pair.s / 2;
  return 2 * std::numbers::pi * phi * pair.s / (45 + growth);
}

// Beyond the result the integrand r^a Q decreases at least like a Gaussian tail. The slope of its logarithm is
// -t + (a w_P + (a-1) w_Q)/s, with w the posterior weights of the components at +1 and -1.
double last_bulk(const SampledGaussianPair& pair, double order) {
  const double peak = order / pair.s;  // w_P = 1, w_Q = 0
  if (!pair.opposite) return peak;
  const double fading =  // from here on (a-1) w_Q / s < 1
      pair.s * (std::log(pair.q / (1 - pair.q)) + std::log(std::max(peak, 1.0))) - 1 / (2 * pair.s);
  return std::min((2 * order - 1) / pair.s, std::max(peak + 1, fading));
}

// No nodes if there would be too many.
Nodes make_nodes(const SampledGaussianPair& pair, double largest_order) {
  Nodes nodes;
  nodes.step = step_for(pair, largest_order);
  const double first = -tail - (pair.opposite ? 1 / pair.s : 0);
  const double count = std::ceil((last_bulk(pair, largest_order) + tail - first) / nodes.step);
  if (!(count < most_nodes)) return nodes;

  const auto size = static_cast<std::size_t>(count) + 1;
  nodes.log_q.resize(size);
  nodes.log_ratio.resize(size);
  const double half_square = 1 / (2 * pair.s * pair.s);
  for (std::size_t i = 0; i < size; ++i) {
    const double t = first + nodes.step * static_cast<double>(i);
    const double p = log_mixture(pair.q, t / pair.s - half_square);
    const double q = pair.opposite ? log_mixture(pair.q, -t / pair.s - half_square) : 0;
    nodes.log_q[i] = -t * t / 2 + q;
    nodes.log_ratio[i] = p - q;
  }
  return nodes;
}

// g(e^l) for small |a l|: sum over k >= 2 of a (1 + a + ... + a^(k-2)) l^k / k!.
double gap_near_zero(double order, double l) {
  double coefficient = order, power = l * l / 2, sum = 0;
  for (int k = 2; k <= 16; ++k) {
    sum += coefficient * power;
    coefficient = order + order * coefficient;
    power *= l / (k + 1);
  }
  return sum;
}

// e^(base) g(e^l), for base + max(a l, 0) <= 0 up to rounding.
double scaled_gap(double order, double base, double l) {
  const double beta = order - 1;
  if (beta * l > 40) return std::exp(base + order * l) / beta;  // the rest is negative and below e^-40 of it
  const double at_one = std::exp(base);
  if (std::abs(l) * order < 0.25) return at_one * gap_near_zero(order, l);
  return std::exp(base + l) * (std::expm1(beta * l) / beta) - at_one * std::expm1(l);
}

double integrate(const Nodes& nodes, double order) {
  const std::size_t size = nodes.log_q.size();
  double peak = nodes.log_q[0];
  for (std::size_t i = 0; i < size; ++i)
    peak = std::max(peak, nodes.log_q[i] + std::max(order * nodes.log_ratio[i], 0.0));
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double base = nodes.log_q[i] - peak;
    if (base + std::max(order * nodes.log_ratio[i], 0.0) > -tail * tail / 2)
      sum += scaled_gap(order, base, nodes.log_ratio[i]);
  }
  const double beta = order - 1;
  const double log_excess = std::log(beta * sum * nodes.step / std::sqrt(2 * std::numbers::pi)) + peak;
  return (log_excess > 0 ? log_excess + std::log1p(std::exp(-log_excess)) : std::log1p(std::exp(log_excess))) /
         beta;
}

}  // namespace

double log_mixture(double q, double w) {
  if (w > 40) return w + std::log(q) + std::log1p((1 - q) / q * std::exp(-w));
  const double shift = q * std::expm1(w);
  return shift > -0.5 ? std::log1p(shift) : std::log((1 - q) + q * std::exp(w));
}

double sampled_bound(double q, double full, double order) {
  return std::isfinite(full) ? log_mixture(q, (order - 1) * full) / (order - 1) : full;
}

std::vector<double> renyi_divergence(const SampledGaussianPair& pair, std::span<const double> orders) {
  // Orders of one octave share their points: small orders need few of them.
  std::vector<std::size_t> ascending(orders.size());
  std::iota(ascending.begin(), ascending.end(), 0);
  std::sort(ascending.begin(), ascending.end(), [&](auto a, auto b) { return orders[a] < orders[b]; });

  std::vector<double> result(orders.size());
  for (std::size_t begin = 0; begin < ascending.size();) {
    std::size_t end = begin;
    while (end < ascending.size() && orders[ascending[end]] <= 2 * orders[ascending[begin]]) ++end;
    const Nodes nodes = make_nodes(pair, orders[ascending[end - 1]]);
    for (; begin < end; ++begin) {
      const double order = orders[ascending[begin]];
      const double distance = (pair.opposite ? 2 : 1) / pair.s;  // of the full mechanism's two Gaussians
      result[ascending[begin]] = nodes.log_q.empty() ? sampled_bound(pair.q, order * distance * distance / 2, order)
                                                     : integrate(nodes, order);
    }
  }
  return result;
}

}  // namespace dpmpi
