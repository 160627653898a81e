#pragma once
// What a loss makes of a network's outputs, for one record.

#include <cstddef>
#include <span>

#include "data/records/records.hpp"

namespace dpmpi {

/// A loss of the outputs of a network and of a few parameters of its own, the tail, which stand behind the
/// network's weights.
class OutputLoss {
 public:
  virtual ~OutputLoss() = default;
  /// Parameters of the tail, its first ones, by which the loss is differentiated too.
  virtual std::size_t slopes() const { return 0; }
  /// Comes before gradient() of this row, for losses that depend on more of the record than its label.
  virtual void select(const Rows& /*rows*/, std::size_t /*row*/) {}
  /// delta[k] = d loss / d outputs[k], slope[j] = d loss / d tail[j] for j < slopes(). All NaN for a label that is
  /// NaN (an empty slot) or not valid, and for non-finite outputs.
  virtual void gradient(const double* outputs, float label, std::span<const float> tail, double* delta,
                        double* slope) = 0;
};

}  // namespace dpmpi
