#pragma once
// Records that are kept out of training (data.test_share), by a rule on their slots.
//
// The n slots of a file (of each site's file) are cut into m = floor(share n) runs that are as even as can be, and
// one slot of each run is held out, which a public hash of the run's number chooses. So both numbers follow from n,
// files that are sorted give both parts of everything, and no record's values say where it goes: neighbours differ
// in what one slot holds, and that slot is in one part (docs/theory/held_out.md).

#include <cstdint>
#include <optional>
#include <vector>

#include "data/records/blocks.hpp"

namespace dpmpi {

class HeldOut {
 public:
  /// `whole`: the facts of all slots. Throws ConfigError if a part of a file would have no slot.
  HeldOut(double share, DatasetFacts whole);

  const DatasetFacts& training() const { return training_; }
  const DatasetFacts& held_out() const { return held_out_; }
  /// Whether slot number `slot` of all is held out.
  bool holds(std::uint64_t slot) const;

  /// The layout of all slots whose blocks have the slots that are trained on of `training`, which is
  /// BlockLayout::of(training(), blocks), and what is held out between them.
  BlockLayout whole_layout(const BlockLayout& training) const;
  /// That of the held-out slots in the same blocks, some of which may be empty.
  BlockLayout held_out_layout(const BlockLayout& training) const;

  struct Parts {
    Shard training, held_out;
  };
  /// Both parts of a shard of whole_layout(training). Spends it, block by block. Local.
  Parts split(Shard whole, const BlockLayout& training) const;

 private:
  /// The slots of a file.
  struct File {
    std::uint64_t first, slots, held;  ///< the first one, and how many there are
    std::uint64_t begin(std::uint64_t run) const;
    std::uint64_t run_of(std::uint64_t slot) const;  ///< slots count from 0 in each file
    std::uint64_t chosen(std::uint64_t run) const;
    std::uint64_t held_before(std::uint64_t slot) const;
    std::uint64_t slot_of_training(std::uint64_t i) const;
  };
  const File& file_of(std::uint64_t slot) const;

  DatasetFacts training_, held_out_;
  std::vector<File> files_;
};

/// The parts of a dataset, if some of it is held out; `facts` are then those of training.
std::optional<HeldOut> parts_of(double share, DatasetFacts& facts);

}  // namespace dpmpi
