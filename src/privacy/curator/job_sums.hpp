#pragma once
// Where the records of a run are in several jobs that no MPI connects (run/sites), one job has the run's curator,
// and the others give their parts of every sum to it.

#include <cstdint>
#include <functional>
#include <span>

#include "core/numbers/random.hpp"

namespace dpmpi {

/// How the parts of a sum come from job to job.
class JobSums {
 public:
  virtual ~JobSums() = default;
  /// `part`: what this job's reduction left of release t of a query: lattice points, then flags. In the job of the
  /// run's curator the parts of all others are added to it, modulo 2^64; in any other it is handed over. On the
  /// root of the job. Local.
  virtual void join(std::uint32_t query_index, std::uint64_t t, std::span<std::int64_t> part) = 0;
};

/// How a step ends in a job that has handed its part over: what is released is known elsewhere.
struct HandedOver {};

/// The key of a block, by which records are drawn from it (own_block_keys).
using KeyOfBlock = std::function<SecretKey(std::uint32_t block)>;

}  // namespace dpmpi
