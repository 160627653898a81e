#pragma once
// The kernels of an objective as values that a curator can run over a batch.

#include <functional>

#include "dpmpi/objective/objective.hpp"

namespace dpmpi {

/// Adds the bounded contributions of one micro-batch to the lattice.
using Kernel = std::function<void(const Rows&, const L2Bound&, LatticeAccumulator&)>;

/// sum_i clip(grad f_i(w)). `w` must stay unchanged while the kernel runs. Local.
inline Kernel clipped_gradients(Objective& objective, std::span<const float> w) {
  objective.prepare(w);
  return [&objective](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    objective.add_clipped_gradients(rows, bound, sum);
  };
}

/// sum_i clip(grad f_i(w) - grad f_i(v)). Local.
inline Kernel clipped_differences(Objective& objective, std::span<const float> w, std::span<const float> v) {
  objective.prepare_pair(w, v);
  return [&objective](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
    objective.add_clipped_differences(rows, bound, sum);
  };
}

}  // namespace dpmpi
