#pragma once
// The two ways of forming central differences of records along a frame. Private to the objectives.

#include <memory>
#include <span>

#include "objective/values/projected_differences.hpp"

namespace dpmpi {

class ProjectedDifferences::Probe {
 public:
  virtual ~Probe() = default;
  virtual bool linear() const = 0;
  virtual std::size_t readings() const = 0;
  /// The point of the readings to come; `w` stays valid and unchanged.
  virtual void prepare(std::span<const double> w) = 0;
  virtual void begin(std::size_t reading) = 0;
  /// The next micro-batch of a reading before the last one.
  virtual void read(const Rows& rows) = 0;
  /// The next micro-batch of the last reading: its differences, rows x K, row-major, valid until the next call.
  /// What stands there for empty slots has no meaning; a difference that is not finite stays so.
  virtual const double* differences(const Rows& rows) = 0;
};

/// From margins, for linear models. Nothing if the objective is none.
std::unique_ptr<ProjectedDifferences::Probe> linear_differences(const Objective& objective, Frames& frames,
                                                                const DifferenceRule& rule);
/// From losses at the 2 K points, one after the other, for every objective.
std::unique_ptr<ProjectedDifferences::Probe> evaluated_differences(Objective& objective, Frames& frames,
                                                                   const DifferenceRule& rule);
/// From losses at the 2 K points in few calls. Nothing if the objective takes them one after the other.
std::unique_ptr<ProjectedDifferences::Probe> differences_together(Objective& objective, Frames& frames,
                                                                  const DifferenceRule& rule);

}  // namespace dpmpi
