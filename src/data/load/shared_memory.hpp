#pragma once
#include <cstdint>
#include <string>

#include "comm/communicator.hpp"

namespace dpmpi {

/// Throws DataError on all ranks if what the ranks of one machine need for `slots` records of `features` features
/// each, this one `bytes` in all, does not fit into its memory. Collective: all look before any of them takes some.
/// Without `slots` it says nothing of them, whose number is secret then. Bytes that follow private values are not
/// `is_public`, and are shown as check_memory does.
void check_memory_together(const Communicator& comm, std::uint64_t bytes, std::uint64_t slots,
                           std::uint64_t features, const std::string& path, bool is_public);

}  // namespace dpmpi
