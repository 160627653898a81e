#pragma once
// The primal queries of the printed PrivateDiff, whose differences pair the records of two batches: for a
// simulation that is NOT PRIVATE. No kernel of an objective does that, so gradients are written out one by one;
// slow.
//
// Records are known by their slots (a query with the sampling rule Shuffled over all records). Round r's batch
// holds the slots with a public coin below `rate`; within a micro-batch the j-th record of one batch is the partner
// of the j-th of the other, and records without a partner stand alone.

#include <cstdint>
#include <span>

#include "objective/minimax/saddle.hpp"

namespace dpmpi {

struct PublicBatches {
  std::uint64_t seed = 1;
  double rate = 1;
};

/// sum of clip(grad_x f(w; z)) over round r's batch. `w` must stay unchanged while the kernel runs. Local.
Kernel public_batch_gradients(SaddleObjective& objective, std::span<const float> w, const PublicBatches& batches,
                              std::uint64_t r);
/// sum_j of clip(grad_x f(w; z_r^j) - grad_x f(v; z_{r-1}^j)). Gradients longer than `largest` are clipped to it.
Kernel cross_batch_differences(SaddleObjective& objective, std::span<const float> w, std::span<const float> v,
                               const PublicBatches& batches, std::uint64_t r, double largest);

}  // namespace dpmpi
