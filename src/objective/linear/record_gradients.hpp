#pragma once
// Gradients of single records in double, of losses whose smoothness is a property of the code: what one-pass
// methods for losses that are no scalar links stand on.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi {

class RecordGradients {
 public:
  virtual ~RecordGradients() = default;
  virtual std::size_t dim() const = 0;
  /// beta: the gradient of every record that can exist is beta-Lipschitz, as real numbers. Never a claim of a
  /// config.
  virtual double smoothness() const = 0;
  /// Whether the gradient clipped in norm is the gradient of a convex function of the same smoothness (the
  /// Lipschitz envelope), so that clipped steps are contractions.
  virtual bool clipping_contracts() const = 0;
  /// out = the gradient of the one record of `row` at x, dim() entries each. All zero for a record that does not
  /// count, which depends on the record alone: an empty slot, or features or a label that are not finite or no
  /// class. Local; allocates nothing after the first call; one thread.
  virtual void gradient(const Rows& row, std::span<const double> x, std::span<double> out) = 0;
  /// The computed gradient is within this, times the larger of 1 and its norm, of the exact one for |x| <= radius.
  virtual double gradient_error(double radius) const = 0;
};

/// Mean estimation and linear softmax: losses that their code makes smooth for every record.
bool has_record_gradients(const Objective& objective);

/// For mean estimation, and, if `feature_bound` > 0, for linear softmax: there records (bias column included) are
/// shrunk to this norm. Throws ConfigError for other objectives and where the bound is missing.
std::unique_ptr<RecordGradients> record_gradients(const Objective& objective, const ObjectiveFacts& facts,
                                                  double feature_bound);

}  // namespace dpmpi
