#pragma once
// Shared by the sources of query.hpp.

#include <cstdint>

#include "privacy/curator/query.hpp"

namespace dpmpi {

/// A pass of running sums uses a record once: steps of a pass, or 0 if the sampling rule promises no such thing. Of
/// a query that is a running sum.
std::uint64_t steps_per_pass(const QuerySpec& spec);

}  // namespace dpmpi
