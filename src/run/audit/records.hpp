#pragma once
// The datasets of audits: records that nobody owns, in slots of which all others are empty or hold public records.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "data/records/options.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// A row of some records; without records an empty slot.
struct RowSource {
  const Records* records = nullptr;
  std::uint32_t row = 0;
  std::uint32_t copies = 1;  ///< more: a person has so many records, all like this one
};

/// How a dataset's records are held.
struct RecordShape {
  Storage storage = Storage::dense_f32;
  std::size_t features = 0;
  float bias = 1, row_scale = 1;
  bool unit_norm = false;
  static RecordShape of(const DatasetFacts& facts, const DataOptions& options);
};
/// Copies of rows, in order.
Records copy_rows(const RecordShape& shape, std::span<const RowSource> rows);

/// Records made up for this objective, of several sizes, directions and labels, all of which it accepts
/// (Objective::check_records): among them are some that its clipping cuts. May be none.
Records made_up_records(const RecordShape& shape, const Objective& objective);
/// `count` records of random signs (bytes: all or nothing) with features of norm `size`, likewise; fewer if the
/// objective refuses some.
Records random_canaries(const RecordShape& shape, const Objective& objective, std::size_t count, double size,
                        std::uint64_t seed);

/// This rank's part of a dataset with `source(i)` in slot i, which is for a person if any has copies. Throws
/// ConfigError if there are more ranks than blocks.
Shard shard_of(const Communicator& comm, const RecordShape& shape, const DatasetFacts& facts,
               const BlockLayout& layout, const std::function<RowSource(std::uint64_t)>& source);
/// The same for a dataset that is empty but for consecutive slots [first, first + rows.size()): only these are
/// kept, on the last rank. For sampling rules that treat every position by itself (Poisson, all records, cyclic,
/// shuffled), where empty slots change nothing.
Shard compact_shard(const Communicator& comm, const RecordShape& shape, const DatasetFacts& facts,
                    const BlockLayout& layout, std::uint64_t first, std::span<const RowSource> rows);

}  // namespace dpmpi
