#pragma once
// The records of persons, brought together: wherever they stand in a site's file, those of a person end up in one
// block, in the person's slot.
//
// Slots are drawn as a uniform injection of the persons that there are into the declared slots, under the run's
// key: so a person who is taken away leaves a slot empty and moves nobody else, in law, and blocks and places tell
// nothing of who is in them (docs/theory/persons.md).

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// Blocks of records as they stand in the files, of `sites` files with equally many blocks each, and their owners.
struct RecordsOfPersons {
  const Communicator& comm;
  const Ownership& owners;
  std::uint32_t sites = 1;
  std::vector<Block> blocks = {};  ///< this rank's; of each row Records::person
};

/// How many persons each site has, on all ranks. Who is in two sites counts in both. Collective.
std::vector<std::uint64_t> count_persons(const RecordsOfPersons& records);

/// This rank's blocks of `layout`, whose slots are persons: of each the records that are no empty slots, in the
/// order of the file, `most` of them at random if there are more (0: all). No other rank gets them, and the root
/// only learns who is where behind a key. A function of `key` (the root's, who alone reads it) and of the files:
/// the same on any number of ranks. Spends `records`, block by block. Collective; throws DataError on all ranks if
/// a site has more persons than slots.
std::vector<Block> bring_together(RecordsOfPersons records, const BlockLayout& layout,
                                  const std::optional<SecretKey>& key, std::uint64_t most);

}  // namespace dpmpi
