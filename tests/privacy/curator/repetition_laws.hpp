#pragma once
// Laws of the number of runs of which the best is released.

#include <vector>

#include "privacy/curves/repetition_law.hpp"

namespace dpmpi::test {

inline RepetitionLaw binomial(double shape, double gamma) { return {.shape = shape, .gamma = gamma}; }
inline RepetitionLaw poisson(double mean) { return {.distribution = Repetitions::poisson, .mean = mean}; }

inline const std::vector<RepetitionLaw> repetition_laws{binomial(1, 0.2), binomial(0, 0.1),    binomial(-0.5, 0.05),
                                                        binomial(3, 0.3), binomial(0.5, 0.02), binomial(1, 0.95),
                                                        poisson(0.3),     poisson(1),          poisson(8)};

}  // namespace dpmpi::test
