#pragma once
// How far metrics might be off because the records are the ones that they are: the bootstrap.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "run/evaluate/metric_families.hpp"

namespace dpmpi {

using Interval = std::pair<double, double>;
/// Fewer resamples tell no 2.5 percent.
inline constexpr std::int64_t fewest_resamples = 100;

/// Number `resample` of public draws: each record counts Poisson(1) times, on its own.
void draw_weights(std::int64_t resample, std::span<std::uint8_t> weights);

/// 95 % intervals of `metrics` numbers that measure(weights, values) makes of `records` records, between the 2.5th
/// and the 97.5th percentile of resamples (Efron's percentiles). One in which a metric is NaN says nothing of it;
/// none with fewer than fewest_resamples that do. The same at every call.
std::vector<std::optional<Interval>> bootstrap_intervals(
    std::size_t records, std::size_t metrics, std::int64_t resamples,
    const std::function<void(Weights weights, std::span<double> values)>& measure);

}  // namespace dpmpi
