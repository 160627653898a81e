#pragma once
// One axis of a plot: its range, where its marks stand, and what they say.

#include <string>
#include <utility>
#include <vector>

namespace dpmpi {

struct Axis {
  double low = 0, high = 1;  ///< logarithms to base 10 of a logarithmic axis
  bool log = false;
  std::vector<std::pair<double, std::string>> marks;  ///< places in [0, 1] and their names
  /// The place of a value, in [0, 1].
  double place(double value) const;
};

/// For these finite values (above 0 if logarithmic); not empty. `room`: a little more than they need.
Axis axis_over(const std::vector<double>& values, bool log, bool room);

}  // namespace dpmpi
