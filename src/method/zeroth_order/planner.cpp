#include "method/zeroth_order/planner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

// Differences that are added up at most. (For a whole epoch the source counts T.)
double differences(const ZoShape& s) { return s.restart == s.inner ? real(s.inner) : real(s.restart - 1); }

// Mean squared travel between neighbouring points, in units of D^2: E (1 - s + s')^2, s and s' uniform.
constexpr double mean_squared_travel = 7.0 / 6;

// More than a shuffle has room for, so that such an epoch fits no data; sums and products of it fit 64 bits.
constexpr double most_first_batch = 0x1p32;

double levels(std::uint64_t leaves) { return static_cast<double>(std::bit_width(leaves) - 1); }

double difference_clip(const ZoProblem& p, const ZoEstimator& e, double step_radius) {
  return e.kappa * p.lipschitz * 2 * step_radius / p.radius;
}

double mean_nodes(std::uint64_t leaves) { return mean_prefix_noise_variance({Strategy::fenwick, leaves, 1}); }

/// The best of T = 2, 4, 8, ...: `at` gives the plan of one T, or none if its epoch does not fit the data.
ZoPlan scan(const ZoProblem& problem, std::span<const std::uint64_t> batches,
            const std::function<ZoPlan(std::uint64_t inner, std::uint64_t batch)>& at) {
  std::optional<ZoPlan> best;
  for (const std::uint64_t batch : batches)
    for (std::uint64_t inner = 2; real(inner) * real(batch) <= problem.records; inner *= 2) {
      const ZoPlan plan = at(inner, batch);
      if (plan.shape.outer >= 1 && (!best || plan.bound.value < best->bound.value)) best = plan;
    }
  if (!best)
    throw ConfigError(fmt::format("no epoch of zo-o2nc fits n = {}: make method.batch smaller", problem.records));
  return *best;
}

std::uint64_t epochs(const ZoProblem& problem, const ZoShape& shape) {
  return static_cast<std::uint64_t>(problem.records) / shape.records_per_epoch();
}

}  // namespace

// Of m directions in m / b groups: E |GRAD1|^2 <= (d / m)^2 (m E a_j^2 + m (m - b) |mean|^2 / d^2), for directions
// of one group are orthogonal and those of two groups independent; E a_j^2 <= L^2 / (d - 1) by Poincare's
// inequality on the sphere. Likewise for DIFF1 with |c_j| <= L r / delta and |mean| <= sqrt(d) L r / delta.
ZoEstimator ZoEstimator::directions(double d, double m, double b, double lipschitz) {
  ZoEstimator e;
  e.gradient_variance = d * d / (m * std::max(1.0, d - 1)) + (b < m ? 1 - b / m : 0);
  e.difference_variance = d * d / m + (b < m ? d : 0);
  e.gradient_clip = d / std::sqrt(b) * lipschitz;
  e.kappa = d / std::sqrt(b);
  return e;
}

ZoBound zo_bound(const ZoProblem& p, const ZoEstimator& e, const ZoShape& shape, double sigma, double mean_variance,
                 double step_radius) {
  const double T = real(shape.inner), L = p.lipschitz, travel = step_radius / p.radius;
  ZoBound bound{.sigma = sigma};
  const double V2 = e.gradient_variance * L * L / real(shape.first_batch) +
                    mean_squared_travel * e.difference_variance * L * L * travel * travel * differences(shape) /
                        real(shape.batch);
  bound.V = std::sqrt(V2);
  bound.N = std::sqrt(mean_variance * p.dim) * sigma;
  bound.G = bound.V + L + bound.N;
  bound.value = (p.gap + 2 * L * p.radius) / (step_radius * T * real(shape.outer)) + bound.G / std::sqrt(T) +
                2 * (bound.V + bound.N);
  return bound;
}

double zo_sigma(const ZoProblem& p, const ZoEstimator& e, const ZoShape& shape) {
  const double s1 = p.change * e.gradient_clip / real(shape.first_batch);
  const double sd = p.change * difference_clip(p, e, p.radius / real(shape.inner)) / real(shape.batch);
  const double h = levels(shape.restart);
  return std::max(s1 * std::sqrt(h + 1), sd * std::sqrt(h)) / p.rho;
}

std::uint64_t zo_first_batch(const ZoProblem& p, const ZoEstimator& e, std::uint64_t leaves, std::uint64_t batch,
                             double step_radius) {
  if (leaves < 2) return batch;
  const double h = levels(leaves);
  const double exact = e.gradient_clip * real(batch) / difference_clip(p, e, step_radius) * std::sqrt((h + 1) / h);
  return static_cast<std::uint64_t>(std::clamp(std::ceil(exact * (1 - 1e-12)), 1.0, most_first_batch));
}

ZoPlan plan_zo(const ZoProblem& problem, const ZoEstimator& estimator, std::span<const std::uint64_t> batches) {
  return scan(problem, batches, [&](std::uint64_t inner, std::uint64_t batch) {
    const double D = problem.radius / real(inner);
    ZoPlan plan{.shape = {inner, inner, zo_first_batch(problem, estimator, inner, batch, D), batch}};
    plan.shape.outer = epochs(problem, plan.shape);
    if (plan.shape.outer > 0)
      plan.bound =
          zo_bound(problem, estimator, plan.shape, zo_sigma(problem, estimator, plan.shape), mean_nodes(inner), D);
    return plan;
  });
}

}  // namespace dpmpi
