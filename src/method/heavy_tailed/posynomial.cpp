#include "method/heavy_tailed/posynomial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpmpi {

namespace {

double exponent(const Monomial& term, const LogPoint& at) {
  return term.log_coefficient + term.powers[0] * at[0] + term.powers[1] * at[1];
}

// Value, gradient and Hessian of the logarithm: mean and covariance of the powers under the terms' shares.
struct Expansion {
  double value = 0, slope = 0;
  std::array<double, 2> gradient = {};
  std::array<double, 3> hessian = {};  // xx, xy, yy
};

Expansion expand(std::span<const Monomial> terms, const LogPoint& at) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const Monomial& term : terms) largest = std::max(largest, exponent(term, at));
  Expansion e;
  double sum = 0;
  for (const Monomial& term : terms) {
    const double share = std::exp(exponent(term, at) - largest);
    const auto [p, q] = term.powers;
    sum += share;
    e.gradient[0] += share * p, e.gradient[1] += share * q;
    e.hessian[0] += share * p * p, e.hessian[1] += share * p * q, e.hessian[2] += share * q * q;
  }
  for (double& g : e.gradient) g /= sum;
  for (double& h : e.hessian) h /= sum;
  e.hessian[0] -= e.gradient[0] * e.gradient[0];
  e.hessian[1] -= e.gradient[0] * e.gradient[1];
  e.hessian[2] -= e.gradient[1] * e.gradient[1];
  e.value = largest + std::log(sum);
  e.slope = std::hypot(e.gradient[0], e.gradient[1]);
  return e;
}

LogPoint damped_step(const Expansion& e, double damping) {
  const double a = e.hessian[0] + damping, b = e.hessian[1], c = e.hessian[2] + damping;
  const double determinant = a * c - b * b;
  return {(b * e.gradient[1] - c * e.gradient[0]) / determinant,
          (b * e.gradient[0] - a * e.gradient[1]) / determinant};
}

}  // namespace

double posynomial(std::span<const Monomial> terms, const LogPoint& at) { return std::exp(expand(terms, at).value); }

LogPoint least_posynomial(std::span<const Monomial> terms, LogPoint start) {
  constexpr double noise = 4 * std::numeric_limits<double>::epsilon();
  Expansion here = expand(terms, start);
  double damping = 1e-3;
  for (int round = 0; round < 500 && here.slope > 1e-14 && damping < 1e12; ++round) {
    const LogPoint step = damped_step(here, damping), next = {start[0] + step[0], start[1] + step[1]};
    const Expansion there = expand(terms, next);
    const bool level = there.value <= here.value + noise * std::abs(here.value) && there.slope < here.slope;
    if (there.value < here.value - noise * std::abs(here.value) || level) {
      start = next;
      here = there;
      damping = std::max(damping / 10, 1e-14);
    } else {
      damping *= 10;
    }
  }
  return start;
}

}  // namespace dpmpi
