#pragma once
// The noise that the paper of PrivateDiff prints for (epsilon, delta) on n records. Its proofs do not carry it:
// tests show what it really costs.

#include <cmath>

#include "privacy/events/event.hpp"

namespace dpmpi::test {

/// Deviations over the clip, of means.
struct PrintedNoise {
  double records = 0, batch = 0, epsilon = 0, delta = 0;

  /// DP-SGDA with T steps, each of the two gradients.
  double dp_sgda(double steps) const {
    return 8 * batch * std::sqrt(steps * std::log(1 / delta)) / (records * epsilon);
  }
  /// PrivateDiff, with count = R / T at restarts and R at differences.
  double private_diff(double count) const {
    return 4 * batch * std::sqrt(count * std::log(1 / delta)) / (records * epsilon);
  }
  /// Of the noise that the printed algorithm adds to the dual (clip: C_0, smoothness: beta in y, loss_bound: M,
  /// concavity: mu).
  double dual_deviation(double rounds, double clip, double smoothness, double loss_bound, double concavity) const {
    return 4 * (2 * clip * clip + smoothness * loss_bound) * std::sqrt(rounds * std::log(1 / delta)) /
           (concavity * records * epsilon);
  }
};

/// The noise multiplier of noise that is z times a clip: under replace_one a sum's sensitivity is twice its clip.
inline double per_sensitivity(double z, Adjacency adjacency) {
  return adjacency == Adjacency::replace_one ? z / 2 : z;
}

}  // namespace dpmpi::test
