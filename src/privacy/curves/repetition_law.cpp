#include "privacy/curves/repetition_law.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/rdp_curves.hpp"

namespace dpmpi {
namespace {

// log(x / (1 - e^-x)), for any x.
double log_bernoulli(double x) {
  if (x == 0) return 0;
  return x > 0 ? std::log(x) - std::log(-std::expm1(-x)) : std::log(-x) - log_expm1(-x);
}

// P(k) at the least k, and P(k+1) / P(k). Of the truncated negative binomial law P(1) = (1 - gamma) shape /
// (gamma^-shape - 1), written so that it has full precision for every shape > -1, next to 0, too.
Real first_mass(const RepetitionLaw& law) {
  if (law.distribution == Repetitions::poisson) return std::exp(-static_cast<Real>(law.mean));
  const Real L = -std::log(static_cast<Real>(law.gamma)), x = law.shape * L;
  return (1 - static_cast<Real>(law.gamma)) / L * (x == 0 ? 1 : x / std::expm1(x));
}
Real ratio(const RepetitionLaw& law, Real k) {
  if (law.distribution == Repetitions::poisson) return law.mean / (k + 1);
  return (1 - static_cast<Real>(law.gamma)) * (k + law.shape) / (k + 1);
}

}  // namespace

double log_expected_repetitions(const RepetitionLaw& law) {
  if (law.distribution == Repetitions::poisson) return std::log(law.mean);
  const double L = -std::log(law.gamma);
  const double log_mean = std::log1p(-law.gamma) + L - std::log(L) + log_bernoulli(law.shape * L);
  return std::max(0.0, log_mean);
}

double expected_repetitions(const RepetitionLaw& law) { return std::exp(log_expected_repetitions(law)); }

// Every k gets the whole number of the 2^63 words that is nearest to its share, in their order; so the law that is
// drawn is known to the last word. What rounding leaves over goes to the first k without any.
std::uint64_t repetitions(const RepetitionLaw& law, std::uint64_t word) {
  const double mean = expected_repetitions(law);
  std::uint64_t k = law.distribution == Repetitions::poisson ? 0 : 1, left = word >> 1;
  Real mass = first_mass(law);
  verify(mass > 0, "a law of repetitions whose masses can be told from 0");
  for (;; mass *= ratio(law, static_cast<Real>(k++))) {
    const auto words = static_cast<std::uint64_t>(mass * 0x1p63L + 0.5L);
    if (left < words || (words == 0 && static_cast<double>(k) > mean)) return k;
    left -= words;
  }
}

}  // namespace dpmpi
