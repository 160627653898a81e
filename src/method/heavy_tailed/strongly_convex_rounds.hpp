#pragma once
// Strongly convex risks: a method whose excess is proportional to its initial distance is run again and again, on
// twice the records and within a smaller ball every time. Asi, Liu and Tian: Corollary 3 and the second half of
// Theorem 2.

#include <cstdint>
#include <functional>
#include <vector>

namespace dpmpi {

struct StrongPhase {
  std::uint64_t records = 0;
  double radius = 0;  ///< bound of the distance of the phase's start to the minimiser
};
struct StrongSchedule {
  std::vector<StrongPhase> phases;
  double excess = 0;  ///< of the last point
};

/// `excess(m)`: that of the method on m records, divided by its initial distance; falling in m. `radius`: of the
/// start. `convexity`: of the risk. Phases use disjoint records, so all of them cost what one costs.
StrongSchedule plan_strong(std::uint64_t records, double radius, double convexity,
                           const std::function<double(double records)>& excess);

}  // namespace dpmpi
