#pragma once
#include <functional>

#include "comm/communicator.hpp"

namespace dpmpi {

/// Runs `work` on this rank; then all ranks throw the first failing rank's error, or none does, so that no rank
/// waits for one that gave up. Collective, but `work` itself must not communicate.
void throw_on_all_ranks(const Communicator& comm, const std::function<void()>& work);

}  // namespace dpmpi
