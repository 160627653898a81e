#include "dpmpi/method/steps.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {

std::uint64_t steps_of_epochs(double epochs, std::uint64_t records, double batch) {
  const double steps = std::max(1.0, std::ceil(epochs * static_cast<double>(records) / batch - 1e-9));
  if (!(steps <= most_steps))
    throw ConfigError(
        fmt::format("method.epochs = {} is {:.4g} steps of {:.6g} of {} records, allowed: at most 2^40 steps",
                    epochs, steps, batch, records));
  return static_cast<std::uint64_t>(steps);
}

}  // namespace dpmpi
