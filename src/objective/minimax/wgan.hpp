#pragma once
// Wasserstein generative adversarial networks: a generator G and a critic D, min over G, max over D of
//
//   mean D(record) - E D(G(u)) - lambda |D's weights|^2,   u ~ N(0, I).
//
// A record has a part in the critic's gradient alone, through D(record). The fakes D(G(u)) and the penalty are
// public, and the generator follows the released critic: its steps are post-processing.
//
// With K classes, D has K outputs, of which a record of class k is scored by the k-th, and G(u, k) is told by K
// further inputs which class it is to make. Fakes come in equal numbers of each class: this law is public, the
// records' is not looked at. (Mirza and Osindero 2014, arXiv:1411.1784, for the conditional game.)

#include <memory>
#include <optional>

#include "objective/layers/record_pass.hpp"
#include "objective/minimax/saddle.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

struct WganSettings {
  MlpShape generator;  ///< latents and classes ... features, the last layer followed by tanh
  std::optional<LayeredShape> generator_layers = {};  ///< the generator instead of that, of the same numbers
  MlpShape critic;                                    ///< features ... an output for each class, or one
  std::optional<LayeredShape> layers = {};  ///< the critic instead of that, with the same features and outputs
  std::size_t classes = 0;                  ///< K of the labels, at least 2; 0: labels are not used
  std::size_t rows = 0;     ///< of pixels of an image, for sheets of samples; rows * columns = features
  std::size_t columns = 0;  ///< likewise
  std::size_t fakes = 256;  ///< of a step, for each network
  double penalty = 1e-3;    ///< lambda
  double dual_radius = 0;   ///< Y: the norm of all weights of the critic is at most this; 0: no bound
  std::uint64_t seed = 1;   ///< public: of all latents
};

/// Parameters: the generator's (primal), then the critic's (dual). Records: images with values in [-1, 1]. Scores
/// are D(record), and there are none with classes; losses are D(record) less the mean of D over 1024 fakes that are
/// always made from the same latents, so that their mean is the critic's estimate of the Wasserstein distance.
/// Throws ConfigError for networks and images that do not fit each other, for a bound, penalty or number of fakes
/// that is out of range, and for layers of which a ball does not bound the slope, if there is one.
std::unique_ptr<SaddleObjective> make_wgan(WganSettings settings);

}  // namespace dpmpi
