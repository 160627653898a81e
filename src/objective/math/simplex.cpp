#include "objective/math/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/errors.hpp"

namespace dpmpi {

void project_to_simplex(std::span<double> y) {
  verify(!y.empty(), "a simplex has a vertex");
  for (const double x : y) verify(std::isfinite(x), "a finite point is projected");
  // Relative to the largest value, so that a common offset costs no accuracy: it has no influence on the result.
  const double largest = *std::max_element(y.begin(), y.end());
  std::vector<double> sorted(y.begin(), y.end());
  for (double& x : sorted) x -= largest;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  // t for the k largest values alone; all of those, and no others, must be above it.
  double sum = 0, threshold = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double t = (sum - 1) / static_cast<double>(k + 1);
    if (sorted[k] <= t) break;
    threshold = t;
  }
  for (double& x : y) x = std::max(0.0, (x - largest) - threshold);
}

}  // namespace dpmpi
