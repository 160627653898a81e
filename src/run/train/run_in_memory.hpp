#pragma once
// One run of a method on records that are in memory, through a curator of its own: audits play games with such
// runs, and searches train models by them. It leaves nothing on disk; its ledger pays for nothing.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// Everything that a run is made of, but the records and the key.
struct RunParts {
  std::shared_ptr<const MethodPlan> plan;
  Objective* objective = nullptr;
  std::vector<Query> queries;  ///< of the plan, declared
  Adjacency adjacency = Adjacency::add_remove;
  bool mask_sums = true;
  std::uint64_t played = std::numeric_limits<std::uint64_t>::max();  ///< the run is left after so many steps
};

/// The algorithm before its first step. Local.
std::unique_ptr<Algorithm> started(const RunParts& parts);

/// Runs to the last step (or parts.played); the algorithm as it is then. `key` is read on the root only, where
/// `listener`, if there is one, sees the releases. Collective over `comm`.
std::unique_ptr<Algorithm> run_in_memory(const Communicator& comm, const RunParts& parts, const Shard& shard,
                                         const std::optional<SecretKey>& key, ReleaseListener* listener = nullptr);

}  // namespace dpmpi
