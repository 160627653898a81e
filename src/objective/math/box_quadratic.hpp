#pragma once
// Quadratic programs in a box, as the duals of support vector machines are. Private to the objectives.

#include <cstddef>
#include <span>

namespace dpmpi {

struct BoxQuadratic {
  const double* matrix;       ///< symmetric, positive semidefinite, diagonal > 0: row i at matrix[i * stride]
  std::size_t count, stride;  ///< rows; elements between them
  std::span<const double> linear, low, high;
  double absolute = 0;  ///< weight of the sum of |z_i|
};

/// Minimises 1/2 <z, matrix z> - <linear, z> + absolute |z|_1 over low <= z <= high, from z = 0, which is in the
/// box. In each step the coordinate moves whose own minimum is the furthest away in units of the gradient, the
/// first of them if there are several: a deterministic sequence. Ends when no coordinate's is further than
/// `tolerance`: the optimality conditions then hold to `tolerance` in each. False if that takes more than `most`
/// steps, or if numbers are not finite. `slope` is scratch of `count` numbers.
bool minimise(const BoxQuadratic& problem, double tolerance, std::size_t most, std::span<double> z,
              std::span<double> slope);

}  // namespace dpmpi
