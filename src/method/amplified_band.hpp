#pragma once
// Banded noise on cyclic Poisson samples (Choquette-Choo et al. 2023, arXiv:2306.08153): how many groups take
// turns, and which band leaves least noise. More groups cost amplification, longer bands cancel more noise.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "method/correlated_noise.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// A run whose steps draw from one group after the other, all public.
struct CyclicRun {
  std::uint64_t records = 1, steps = 1;
  std::uint64_t batch = 1;  ///< expected
  std::size_t dim = 1;
  Adjacency adjacency = Adjacency::add_remove;
  double epsilon = 0, delta = 1e-5;  ///< the promise; epsilon 0: none is given
  bool is_private = true;
};

struct AmplifiedBand {
  CyclicPoisson sampling;
  RunningSum running;
};

/// `groups` groups, or, if it is 0, as many as leave least noise at the promise, and a band as long as the cycle,
/// but not longer than settings.band. Throws ConfigError for strategies that have no band, for groups that are
/// smaller than a batch, for more than 2^20 steps, and where groups are to be chosen without a promise. Local;
/// takes up to some seconds.
AmplifiedBand settled_band(const CorrelatedNoiseSettings& settings, std::uint64_t groups, const CyclicRun& run);

/// The numbers of groups that are compared, with the strategies that the settings allow, as
/// CorrelatedNoiseSettings::alternatives. Empty without a promise.
std::vector<NoiseAlternative> band_alternatives(const CorrelatedNoiseSettings& settings, std::uint64_t groups,
                                                const CyclicRun& run);

}  // namespace dpmpi
