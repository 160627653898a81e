#pragma once
// Features of very different size. A record's gradient has the sizes of its features: a clip that bounds the large
// ones leaves next to nothing of the small ones, and noise of that clip covers it.

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// The typical size of a feature, over the public records in which it is not 0.
struct ColumnSize {
  std::size_t feature = 0;  ///< from 0
  double size = 0;          ///< geometric mean of |x|
};
/// Of the features that are not 0 in one of twenty records at least: of rarer ones (words, pixels at the border)
/// little is known. Collective; the same on all ranks, whatever their number.
std::vector<ColumnSize> column_sizes(const Communicator& comm, const Shard& shard);

/// Where the largest is more than a hundred times the smallest. `names` of the features, a line for each; empty:
/// they are numbered. Collective; valid on the root.
std::optional<Warning> uneven_columns(const Communicator& comm, const Shard& shard, const std::string& names);

}  // namespace dpmpi
