#pragma once
// How much the clip takes from records: for a look at public ones, before a run and after it. Nobody asks it of
// private ones, whose sizes are secret.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "objective/kernel.hpp"

namespace dpmpi {

/// out[i] = the size of what row i adds to a sum before it is clipped, over the clip: above 1 it is cut. 0 for a
/// row that adds nothing. It does not depend on the other rows.
using SizesOverClip = std::function<void(const Rows& rows, std::span<double> out)>;

/// Coordinates `begin` .. `begin + size - 1` of a contribution, which are clipped together, to `clip`.
struct ClippedPart {
  std::size_t begin = 0, size = 0;
  double clip = 1;
};

/// Of a kernel that clips the parts of its `dim` coordinates when it is given `bound`, each to its clip, and at
/// s times these clips when it is given s times the bound.
SizesOverClip sizes_of_kernel(Kernel kernel, std::size_t dim, const L2Bound& bound, std::vector<ClippedPart> parts);
/// Of the gradients at `w`, which must stay. Throws NotOffered.
SizesOverClip sizes_of_gradients(Objective& objective, std::span<const float> w, const L2Bound& bound);

}  // namespace dpmpi
