#pragma once
// A job that is one of several of a run (run/sites): what it is told, because the records of the others lie
// elsewhere.

#include <cstdint>
#include <optional>
#include <string>

#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"
#include "privacy/curator/job_sums.hpp"

namespace dpmpi {

struct SiteJob {
  DatasetFacts facts;  ///< of the records of all sites
  JobSums* sums = nullptr;
  std::optional<std::uint32_t> site = {};  ///< whose records this job holds, from 0; none: it is the coordinator's
  std::optional<SecretKey> key = {};       ///< of the run; the coordinator's job has it
  std::string tags = {};                   ///< of all blocks (tags_of_blocks), there
  /// key_of_persons of `site`, on the root of its job, which has no other key.
  std::optional<SecretKey> persons_key = {};
};

}  // namespace dpmpi
