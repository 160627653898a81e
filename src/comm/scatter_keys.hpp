#pragma once
// Secret keys of the root's for the ranks that need them, and for no others.

#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {

/// The keys that the root has for this rank. `keys`: on the root a list for each rank; empty elsewhere. What was
/// sent is wiped. Collective.
std::vector<SecretKey> scatter_keys(const Communicator& comm, const std::vector<std::vector<SecretKey>>& keys);

}  // namespace dpmpi
