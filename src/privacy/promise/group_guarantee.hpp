#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "privacy/promise/guarantee.hpp"

namespace dpmpi {

/// What events promise to somebody who has up to `size` records (or other units) in the data: the better one of
/// what accountants say of of_group(), and of a chain of neighbours (`chain`), along which epsilons add up and
/// deltas grow. No lower bound is known. Local. Errors as for epsilon_guarantee.
Guarantee group_epsilon_guarantee(const std::vector<Event>& events, std::uint64_t size, Adjacency adjacency,
                                  double delta, std::string_view accountant);
/// The same for the smallest delta at `epsilon`.
Guarantee group_delta_guarantee(const std::vector<Event>& events, std::uint64_t size, Adjacency adjacency,
                                double epsilon, std::string_view accountant);

}  // namespace dpmpi
