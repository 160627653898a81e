#pragma once
// The records of persons, brought together: wherever they stand in a site's file, those of a person end up in one
// block, in the person's slot.
//
// Slots are drawn as a uniform injection of the persons that there are into the declared slots, under the run's
// key: so a person who is taken away leaves a slot empty and moves nobody else, in law, and blocks and places tell
// nothing of who is in them (docs/theory/persons.md).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// Blocks of records as they stand in the sites' files, equally many of each.
struct RecordsOfPersons {
  const Communicator& comm;
  const Ownership& owners;               ///< of the blocks that are made of them
  std::vector<std::string> sites;        ///< names of the files
  Storage storage = Storage::dense_f32;  ///< that of tables
  std::size_t features = 0;
  float bias = 0;
  std::vector<Block> blocks = {};  ///< those that this rank has read; of each row Records::person
};

/// Which records of a person are used, and where they go.
struct RowsOfPersons {
  std::uint64_t most = 0;   ///< at random if there are more; 0: all
  std::uint64_t slots = 1;  ///< a slot for the person, or `most` slots for a record each, of which some stay empty
};

/// How many persons each site has, on all ranks. Who is in two sites counts in both. Collective.
std::vector<std::uint64_t> count_persons(const RecordsOfPersons& records);

/// This rank's blocks of `layout`, whose slots are persons (or records of persons, RowsOfPersons): of each the
/// records that are no empty slots, in the order of the file. A function of the keys and of the files: the same on
/// any number of ranks. Spends `records`, block by block.
///
/// A record goes from its reader to the rank that owns its person's block, and to no other. The first rank of a
/// site numbers its persons by keyed tags. `key_of_site` is called on the root only; the ranks of a site get its
/// key of that site. Collective; throws DataError on all ranks if a site has more persons than slots.
std::vector<Block> bring_together(RecordsOfPersons records, const BlockLayout& layout,
                                  const std::function<SecretKey(std::size_t site)>& key_of_site,
                                  RowsOfPersons rows);

}  // namespace dpmpi
