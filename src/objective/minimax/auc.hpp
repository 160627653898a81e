#pragma once
// Maximisation of the area under the ROC curve as a min-max problem over a scorer, its class centres and alpha.

#include <memory>
#include <optional>

#include "objective/layers/augmentation.hpp"
#include "objective/layers/record_pass.hpp"
#include "objective/minimax/auc_loss.hpp"
#include "objective/minimax/saddle.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

struct AucSettings {
  MlpShape scorer;                          ///< one output; head is not used
  std::optional<LayeredShape> layers = {};  ///< the scorer instead of that, with one output
  Augmentation augmentation = {};           ///< of images that layers take
  ScoreMap output = ScoreMap::sigmoid;
  double prior = 0.5;                   ///< p, public, in (0, 1)
  double feature_bound = 0;             ///< public bound on the norm of (features, constant); 0: none is known
  double alpha_min = 0, alpha_max = 2;  ///< Y; the saddle lies in [0, 2] for scores in [0, 1]
};

/// Parameters: the scorer's weights, a, b (primal) and alpha (dual). Scores are h(x); dense, 8-bit and sparse
/// records with labels -1 and +1. Throws ConfigError if the prior is not in (0, 1), alpha_min >= alpha_max, or a
/// layer has no unit.
std::unique_ptr<SaddleObjective> make_auc(AucSettings settings);

}  // namespace dpmpi
