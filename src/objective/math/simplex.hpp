#pragma once
// The probability simplex.

#include <span>
#include <vector>

namespace dpmpi {

/// Moves y to the nearest point with y >= 0 and sum 1: y_g becomes max(0, y_g - t) for the one t that gives the sum
/// (Held, Wolfe and Crowder 1974; by sorting). Values that are not finite are a BugError.
void project_to_simplex(std::span<double> y);

}  // namespace dpmpi
