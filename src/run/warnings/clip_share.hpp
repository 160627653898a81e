#pragma once
// How many of the public records a clip cuts. A clip far above all gradients pays for noise that none of them
// needs; one far below leaves nothing of their lengths.

#include <cstdint>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"
#include "method/clipped_records.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// Sizes of what public records add to a sum before it is clipped, over the clip.
struct ClipShare {
  std::uint64_t records = 0;
  double cut = 0;  ///< share of the records above the clip
  /// Sizes that a tenth, a half, nine tenths and all but one in a hundred of the records are within.
  double tenth = 0, median = 0, nine_tenths = 0, nearly_all = 0;

  std::vector<Measure> measures() const;  ///< clip.*
  /// Where nearly all are cut to a small part, or nearly none are cut and nearly all are below `little` of the clip
  /// (0: that is never said). `where` says at which point.
  std::optional<Warning> warning(const std::string& where, double little) const;
};

/// Of some records of which `shard` is this rank's share; fewer where a record's work, in flops, is much.
/// Collective; valid on the root.
ClipShare clip_share(const Communicator& comm, const SizesOverClip& sizes, const Shard& shard, double work);

}  // namespace dpmpi
