#include "method/heavy_tailed/strongly_convex_rounds.hpp"

#include <algorithm>
#include <cmath>

#include "method/require.hpp"

namespace dpmpi {

StrongSchedule plan_strong(std::uint64_t records, double radius, double convexity,
                           const std::function<double(double records)>& excess) {
  require_count("records", static_cast<double>(records));
  require(records <= std::uint64_t{1} << 40, "records", static_cast<double>(records), "at most 2^40");
  require_positive("radius", radius);
  require_positive("strong convexity", convexity);
  const auto excess_of = [&](std::uint64_t m) {
    const double value = excess(static_cast<double>(m));
    require_positive("excess of a phase", value);
    return value;
  };
  const double last_radius = 2 * excess_of(records) / convexity;
  const auto phases =
      static_cast<unsigned>(std::ceil(std::log2(std::max(2.0, std::log2(std::max(2.0, radius / last_radius)))))) +
      1;
  if (std::uint64_t{1} << phases > records)
    throw ConfigError(
        fmt::format("method.strong_convexity = {} asks for {} rounds, each of twice the records of the last: "
                    "data.train must have at least {} records, and has {}; 0 takes one round",
                    convexity, phases, std::uint64_t{1} << phases, records));
  StrongSchedule plan;
  for (unsigned i = 0; i < phases; ++i) {
    const std::uint64_t share = (records << i) / ((std::uint64_t{1} << phases) - 1);
    plan.phases.push_back({share, radius});
    plan.excess = radius * excess_of(share);
    radius = std::sqrt(2 * plan.excess / convexity);
  }
  return plan;
}

}  // namespace dpmpi
