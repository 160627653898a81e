#pragma once
// Which records a run is about, as a value that tells nobody anything of them who has not the run's key.

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// The selection key of each own block, in order; of no others: a rank must not know which records of other ranks
/// take part. The root derives them all; `key` is read there only. Collective.
std::vector<SecretKey> own_block_keys(const Communicator& comm, const Shard& shard,
                                      const std::optional<SecretKey>& key);

/// Keyed commitment to the records (HMAC over the blocks' HMACs; never a plain hash, which could be guessed). On
/// the root; "" elsewhere. Reads all records, so once for a run. Collective.
std::string commitment_to(const Communicator& comm, const Shard& shard, const std::optional<SecretKey>& key);

}  // namespace dpmpi
