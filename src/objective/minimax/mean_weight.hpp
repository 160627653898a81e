#pragma once
// The option of min-max objectives for records with weights (SaddleObjective::mean_weight).

#include "core/options.hpp"

namespace dpmpi {

inline void declare_mean_weight(Options& options, double& value) {
  options.add(
      "mean_weight", value,
      "mean of a column of kind weight, over the HIGH of its range: a public constant; required with the column",
      Range::closed(0, 1));
}

}  // namespace dpmpi
