#pragma once
// How weights of records are counted exactly, whatever their size.

#include <optional>

#include "data/records/blocks.hpp"
#include "objective/capabilities.hpp"

namespace dpmpi {

/// What the weights of a record set are multiplied by before they are counted in whole units: a power of two, by
/// which the largest becomes 1/2 to 1, so that small ones are not rounded away. Nothing if all are 0. `shard` is
/// the caller's share of the set; collective as SetTotals is.
std::optional<double> weight_scale(const SetTotals& whole, const Shard& shard);

}  // namespace dpmpi
