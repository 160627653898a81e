// Laplace noise, on all records and on a Poisson sample.

#include <algorithm>
#include <cmath>

#include <boost/math/quadrature/gauss.hpp>

#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/renyi_quadrature.hpp"

namespace dpmpi {

namespace {

// log((e^x - 1 - x) / x^2), which has no cancellation in this form: for |x| < 1 it is sum_k x^k / (k+2)!.
double log_second_remainder(double x) {
  if (x > 1) return x - 2 * std::log(x) + std::log1p(-(1 + x) * std::exp(-x));
  if (x < -1) return std::log(std::expm1(x) - x) - 2 * std::log(-x);
  double term = 0.5, sum = 0;
  for (int k = 0; k < 20; ++k, term *= x / (k + 2)) sum += term;
  return std::log(sum);
}

double log_sum(double x, double y) { return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y))); }

// Mironov (2017), Prop. 6, with t = 1/scale:
//
//   exp((a-1) eps(a)) = a/(2a-1) e^{(a-1) t} + (a-1)/(2a-1) e^{-a t}
//                     = 1 + a (a-1)/(2a-1) t^2 ((a-1) r((a-1) t) + a r(-a t)),   r(x) = (e^x - 1 - x) / x^2 > 0.
double laplace_rdp(double t, double a) {
  const double remainders =
      log_sum(std::log(a - 1) + log_second_remainder((a - 1) * t), std::log(a) + log_second_remainder(-a * t));
  const double log_excess = std::log(a) + std::log((a - 1) / (2 * a - 1)) + 2 * std::log(t) + remainders;
  return std::min(t, log1p_exp(log_excess) / (a - 1));
}

// The curve of a sampled mechanism from the hockey-stick divergences H(gamma) of the mechanism itself, here
// H(e^x) = 1 - e^{(x-t)/2} for |x| <= t. With the record in the sample with probability q, they are q H(e^x) at
// gamma = 1 + q (e^x - 1), and every f-divergence is an integral over them, so that, with d gamma = q e^x dx,
//
//   exp((a-1) D_a) - 1 = a (a-1) q^2 int_0^t  (gamma^{a-2} + [gamma^{-a-1}]) (1 - e^{(x-t)/2}) e^x dx
//                      + a (a-1) q^2 int_{-t}^0 gamma^{a-2} (1 - e^{-(x+t)/2}) e^{2x} dx.
//
// add_remove has the second integral, replace_one the term in brackets instead; docs/theory/renyi.md derives both.
// The integrands are positive and analytic in each piece.
class SampledLaplace {
 public:
  SampledLaplace(double q, double t, Adjacency adjacency) : q_(q), t_(t), adjacency_(adjacency) {}

  double rdp(double a) const {
    // With scale below 1e-4 there are too many panels, and next to nothing to gain over convexity.
    if (t_ > 1e4) return sampled_bound(q_, laplace_rdp(t_, a), a);
    const double log_excess =
        std::log(a) + std::log(a - 1) + 2 * std::log(q_) + log_envelope(t_, a) + std::log(scaled_integral(a));
    return std::min(log_mixture(q_, t_), log1p_exp(log_excess) / (a - 1));
  }

 private:
  // Of gamma^{a-2} e^x, which increases with x for every a > 1.
  double log_envelope(double x, double a) const { return (a - 2) * log_mixture(q_, x) + x; }

  double integrand(double x, double a) const {
    const double log_gamma = log_mixture(q_, x), envelope = log_envelope(x, a) - log_envelope(t_, a);
    if (x < 0) return -std::exp(envelope + x) * std::expm1(-(x + t_) / 2);
    const double reverse = adjacency_ == Adjacency::replace_one ? std::exp((1 - 2 * a) * log_gamma) : 0;
    return -std::exp(envelope) * (1 + reverse) * std::expm1((x - t_) / 2);
  }

  // Both integrals over exp(log_envelope(t)). Panels from the right to the left, each so short that its integrand
  // changes by a factor e^8 at most; what is left when it has become negligible is bounded by its envelope.
  double scaled_integral(double a) const {
    using Rule = boost::math::quadrature::gauss<double, 20>;
    const double end = adjacency_ == Adjacency::replace_one ? 0 : -t_;
    double sum = 0;
    for (double right = t_; right > end;) {
      const double rest = 2 * (right - end) * std::exp(log_envelope(right, a) - log_envelope(t_, a));
      if (rest < 1e-18 * sum) return sum + rest;
      const double slope = (a + 1) * std::exp(std::log(q_) + right - log_mixture(q_, right)) + 2;
      const double left = std::max(right - std::min(1.0, 8 / slope), right > 0 ? 0.0 : end);
      sum += Rule::integrate([&](double x) { return integrand(x, a); }, left, right);
      right = left;
    }
    return sum;
  }

  double q_, t_;
  Adjacency adjacency_;
};

}  // namespace

std::vector<double> laplace_curve(double scale, Orders orders) {
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(laplace_rdp(1 / scale, a)));
  return curve;
}

std::vector<double> poisson_laplace_curve(double rate, double scale, Adjacency adjacency, Orders orders) {
  if (rate == 1) return laplace_curve(scale, orders);
  const SampledLaplace sampled(rate, 1 / scale, adjacency);
  std::vector<double> curve;
  for (const double a : orders) curve.push_back(outward(sampled.rdp(a)));
  return curve;
}

}  // namespace dpmpi
