#pragma once
// Which records a run is about, as a value that tells nobody anything of them who has not the run's key.

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"
#include "privacy/curator/job_sums.hpp"

namespace dpmpi {

/// The selection key of each own block, in order; of no others: a rank must not know which records of other ranks
/// take part. The root derives them all; `key` is read there only. Collective.
std::vector<SecretKey> own_block_keys(const Communicator& comm, const Shard& shard,
                                      const std::optional<SecretKey>& key);
/// The same of a root that has the keys of some blocks only.
std::vector<SecretKey> own_block_keys(const Communicator& comm, const Shard& shard, const KeyOfBlock& key_of);
/// The key of a block of the run with this key.
SecretKey key_of_block(const SecretKey& key, std::uint32_t block);

/// HMAC of every block's records under the block's key, 64 digits each in the order of the blocks. On the root; ""
/// elsewhere. Reads all records. Collective.
std::string tags_of_blocks(const Communicator& comm, const Shard& shard, const KeyOfBlock& key_of);
/// commitment_to the records of all blocks of a run, of their tags. Local.
std::string commitment_of(const SecretKey& key, const std::string& tags);

/// Keyed commitment to the records (HMAC over the blocks' HMACs; never a plain hash, which could be guessed). On
/// the root; "" elsewhere. Reads all records, so once for a run. Collective.
std::string commitment_to(const Communicator& comm, const Shard& shard, const std::optional<SecretKey>& key);

}  // namespace dpmpi
