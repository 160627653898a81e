#include "method/schedule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

std::uint64_t steps_of_epochs(double epochs, std::uint64_t records, double batch) {
  const double exact = epochs * static_cast<double>(records) / batch;
  const double steps = std::max(1.0, std::ceil(exact * (1 - 0x1p-50) - 1e-9));  // but for rounding
  if (!(steps <= most_steps))
    throw ConfigError(
        fmt::format("method.epochs = {} is {:.4g} steps of {:.6g} of n = {}, allowed: at most 2^40 steps", epochs,
                    steps, batch, records));
  return static_cast<std::uint64_t>(steps);
}

SamplingRule sampling_rule(std::string_view sampling, std::int64_t batch, std::uint64_t records) {
  if (sampling == "full") return FullBatch{};
  const auto b = static_cast<std::uint64_t>(batch);
  if (b > records) throw ConfigError(fmt::format("method.batch = {} is larger than n = {}", b, records));
  if (b == records) return FullBatch{};
  if (sampling == "wor") return WithoutReplacement{b};
  if (sampling == "cyclic") return Cyclic{(records + b - 1) / b};
  if (sampling == "balls_in_bins") return BallsInBins{(records + b - 1) / b};
  verify(sampling == "poisson", "a rule that options allow");
  return Poisson{static_cast<double>(b) / static_cast<double>(records)};
}

}  // namespace dpmpi
