#pragma once
// One run of a method on records that are in memory, through a curator of its own: audits play games with such
// runs, and searches train models by them. It leaves nothing on disk; its ledger pays for nothing.

#include <cstdint>
#include <functional>
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
  std::function<std::unique_ptr<Method>()> method;  ///< a fresh one for every run
  Objective* objective = nullptr;
  PublicFacts facts;
  double noise_multiplier = 0;
  std::vector<Query> queries;  ///< as planned with it
  std::uint64_t steps = 0;
  bool mask_sums = true;
  std::uint64_t played = std::numeric_limits<std::uint64_t>::max();  ///< the run is left after so many steps
};

/// A method before its first step. Local.
std::unique_ptr<Method> started(const RunParts& parts);

/// Runs to the last step (or parts.played); the method as it is then. `key` is read on the root only, where
/// `listener`, if there is one, sees the releases. Collective over `comm`.
std::unique_ptr<Method> run_in_memory(const Communicator& comm, const RunParts& parts, const Shard& shard,
                                      const std::optional<SecretKey>& key, ReleaseListener* listener = nullptr);

}  // namespace dpmpi
