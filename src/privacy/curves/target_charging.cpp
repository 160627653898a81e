#include "privacy/curves/target_charging.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"

namespace dpmpi {

namespace {

constexpr double largest_epsilon = 30;
constexpr std::uint64_t most_hits = std::uint64_t{1} << 32;

void refuse_unless(bool allowed, const char* what, double value, const char* range) {
  if (!allowed) throw PrivacyError(fmt::format("target charging: {} = {}, but it must be {}", what, value, range));
}

void check(std::uint64_t hits, double failure) {
  refuse_unless(hits >= 1 && hits <= most_hits, "hits", static_cast<double>(hits), "in [1, 2^32]");
  refuse_unless(failure > 0 && failure < 1, "failure", failure, "in (0, 1)");
}

// Pr[Bin(N, q) < c] = I_{1 - q}(N - c + 1, c), with a margin far above the error of the incomplete beta function.
bool enough(std::uint64_t tests, std::uint64_t hits, double epsilon, double failure) {
  if (tests < hits) return false;
  const double below = boost::math::ibeta(static_cast<double>(tests - hits + 1), static_cast<double>(hits),
                                          1 / (1 + std::exp(-epsilon)));
  return below * (1 + 1e-6) <= failure;
}

// The smallest N >= 1 for which a condition holds that all larger ones fulfil, too.
template <class Holds>
std::uint64_t smallest(Holds holds) {
  std::uint64_t high = 1;
  while (!holds(high)) {
    refuse_unless(high < std::uint64_t{1} << 60, "the number of tests", 0x1p60, "below 2^60: charge fewer hits");
    high *= 2;
  }
  for (std::uint64_t low = high / 2; high - low > 1;) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::uint64_t charged_tests(std::uint64_t hits, double epsilon, double failure) {
  check(hits, failure);
  refuse_unless(epsilon > 0 && epsilon <= largest_epsilon, "epsilon", epsilon, "in (0, 30]");
  return smallest([&](std::uint64_t tests) { return enough(tests, hits, epsilon, failure); });
}

ChargedTests charge_tests(std::uint64_t hits, double rho, double failure) {
  check(hits, failure);
  refuse_unless(rho > 0 && std::isfinite(rho), "rho", rho, "finite and above 0");
  const auto epsilon = [&](std::uint64_t tests) {
    return std::sqrt(2 * rho / static_cast<double>(tests)) * (1 - 0x1p-50);
  };
  const std::uint64_t tests = smallest(
      [&](std::uint64_t n) { return epsilon(n) <= largest_epsilon && enough(n, hits, epsilon(n), failure); });
  return {tests, epsilon(tests)};
}

double swapped_delta(double delta, double epsilon, double distance) {
  refuse_unless(delta >= 0 && delta <= 1, "delta", delta, "in [0, 1]");
  refuse_unless(epsilon >= 0, "epsilon", epsilon, "at least 0");
  refuse_unless(distance >= 0, "distance", distance, "at least 0");
  if (distance == 0) return delta;
  return std::min(1.0, (delta + (1 + std::exp(epsilon)) * distance) * (1 + 0x1p-50));
}

}  // namespace dpmpi
