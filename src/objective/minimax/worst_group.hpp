#pragma once
// The worst of several groups' mean losses, as a min-max problem over a model and weights of the groups.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "objective/layers/augmentation.hpp"
#include "objective/layers/record_pass.hpp"
#include "objective/minimax/saddle.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

struct WorstGroupSettings {
  MlpShape model;                           ///< with its head; its first units are the features of the records
  std::vector<std::uint64_t> group_sizes;   ///< n_g, public; their sum is the number of records n
  std::size_t group_feature = 0;            ///< feature (from 1) that holds the group 0 .. groups-1; 0: the label
  bool group_input = false;                 ///< whether that feature is an input of the model
  std::optional<LayeredShape> layers = {};  ///< the model instead of `model`, of all features
  Augmentation augmentation = {};           ///< of images that layers take
  /// mu; 0: a tenth of the loss of a model that knows nothing, which is the logarithm of the number of classes, or
  /// 1/2, the squared loss of a label of size 1. But for a constant, mu takes at most (mu / 2) (1 - 1 / groups)
  /// from the largest mean loss: less than 5 % of that loss.
  double regulariser = 0;
};

/// min over x, max over y in the simplex of sum_g y_g L_g(x) - (mu / 2) |y|^2, L_g the mean loss of group g. For a
/// record of group g: f = (n / n_g) y_g loss(x) - (mu / 2) |y|^2. Parameters: the model's (primal), then y (dual).
/// With group_feature = 0 a class is its own group, and signs are 0 (negative) and 1. A record of no group
/// contributes nothing. With weights w_i, L_g is sum w_i loss_i / sum w_i over the group, the sizes are the groups'
/// weights W_g, and f = (W / W_g) y_g w_i loss(x) - omega (mu / 2) |y|^2, W = sum_g W_g. Throws ConfigError for
/// sizes of 0, fewer than two groups, a group feature that there is not, one that leaves the model no input, one
/// that a network of layers does not take, or copies of images that would move it.
std::unique_ptr<SaddleObjective> make_worst_group(const WorstGroupSettings& settings);

}  // namespace dpmpi
