#pragma once
// Wasserstein generative adversarial networks: a generator G and a critic D, min over G, max over D of
//
//   mean D(record) - E D(G(u)) - lambda |D's weights|^2,   u ~ N(0, I).
//
// A record has a part in the critic's gradient alone, through D(record). The fakes D(G(u)) and the penalty are
// public, and the generator follows the released critic: its steps are post-processing.

#include <memory>

#include "objective/minimax/saddle.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

struct WganSettings {
  MlpShape generator;       ///< latents ... features, the last layer followed by tanh
  MlpShape critic;          ///< features ... one output
  std::size_t rows = 0;     ///< of pixels of an image, for sheets of samples; rows * columns = features
  std::size_t columns = 0;  ///< likewise
  std::size_t fakes = 256;  ///< of a step, for each network
  double penalty = 1e-3;    ///< lambda
  double dual_radius = 0;   ///< Y: the norm of all weights of the critic is at most this; 0: no bound
  std::uint64_t seed = 1;   ///< public: of all latents
};

/// Parameters: the generator's (primal), then the critic's (dual). Records: images with values in [-1, 1]; labels
/// are not used. Scores are D(record); losses are D(record) less the mean of D over 1024 fakes that are always made
/// from the same latents, so that their mean is the critic's estimate of the Wasserstein distance. picture() shows
/// 64 fakes from latents that are always the same. Throws ConfigError for networks and images that do not fit each
/// other or a bound, penalty or number of fakes that is out of range.
std::unique_ptr<SaddleObjective> make_wgan(WganSettings settings);

}  // namespace dpmpi
