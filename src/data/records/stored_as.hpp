#pragma once
// Records in another layout in memory.

#include "data/records/blocks.hpp"

namespace dpmpi {

/// Keeps the shard's records as `storage`, which is what they are kept as or float32 rows, dense or sparse: the
/// same features (of bytes the float32 product row_scale * byte), labels and norms. Local.
void store_as(Storage storage, Shard& shard);

}  // namespace dpmpi
