#pragma once
// The worst of several groups' mean losses, as a min-max problem over a model and weights of the groups.

#include <cstdint>
#include <memory>
#include <vector>

#include "objective/minimax/saddle.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

struct WorstGroupSettings {
  MlpShape model;                          ///< with its head: softmax, logistic, squared, ...
  std::vector<std::uint64_t> group_sizes;  ///< n_g, public; their sum is the number of records n
  std::size_t group_feature = 0;           ///< feature (from 1) that holds the group 0 .. groups-1; 0: the label
};

/// min over x, max over y in the simplex of sum_g y_g L_g(x) - |y|^2 / 2, L_g the mean loss of group g. For a
/// record of group g: f = (n / n_g) y_g loss(x) - |y|^2 / 2. Parameters: the model's (primal), then y (dual).
/// With group_feature = 0 a class is its own group, and signs are 0 (negative) and 1. A record of no group
/// contributes nothing. Throws ConfigError for sizes of 0, fewer than two groups, or a group feature that there is
/// not.
std::unique_ptr<SaddleObjective> make_worst_group(WorstGroupSettings settings);

}  // namespace dpmpi
