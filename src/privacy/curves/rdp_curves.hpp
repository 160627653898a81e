#pragma once
// The Renyi curves behind rdp_curve(), one function for each family of mechanisms, and the numerics that they
// share. Parameters and orders have been checked. Each curve holds for both directions and is rounded up.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

using Orders = std::span<const double>;

/// rho a: Gaussian noise, zCDP, GDP (rdp_gaussian.cpp).
std::vector<double> linear_curve(double rho, Orders orders);
std::vector<double> poisson_gaussian_curve(double rate, double z, Adjacency adjacency, Orders orders);
/// Whole orders, and chords between them: all that is known of a mechanism whose moments only are bounded.
std::vector<double> poisson_discrete_gaussian_curve(double rate, double z, Adjacency adjacency, Orders orders);
/// Samples of exactly rate * population records, under replace_one.
std::vector<double> wor_gaussian_curve(double rate, double z, Orders orders);
/// Throws PrivacyError for samples of a fixed size under add_remove: n and the batch size are the same in both
/// datasets.
void require_replace_one(const Mechanism& mechanism, Adjacency adjacency);

std::vector<double> laplace_curve(double scale, Orders orders);  // rdp_laplace.cpp
std::vector<double> poisson_laplace_curve(double rate, double scale, Adjacency adjacency, Orders orders);

std::vector<double> bounded_range_curve(double epsilon, Orders orders);  // rdp_pure.cpp
std::vector<double> randomized_response_curve(double epsilon, Orders orders);

/// What is known of one run of a mechanism, for both directions.
struct RunBounds {
  std::optional<double> rho;                         ///< its curve is rho a at all orders
  std::function<std::vector<double>(Orders)> curve;  ///< Renyi divergences at orders > 1
  std::function<double(double epsilon)> delta;       ///< it is (epsilon, delta)-DP
};
/// The best of so many runs (rdp_repeat.cpp).
std::vector<double> repeat_and_select_curve(const RepetitionLaw& law, const RunBounds& run, Orders orders);

/// Above the rounding error of every formula (log-binomials near 1e4 carry about 4e-12). Never 0: an underflow must
/// not pass for a perfect guarantee.
inline double outward(double x) { return std::max(x * (1 + 0x1p-36), std::numeric_limits<double>::min()); }

inline double log_expm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }
inline double log1p_exp(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

}  // namespace dpmpi
