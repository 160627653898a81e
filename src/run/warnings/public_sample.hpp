#pragma once
// Some public records, spread evenly over their file: the same ones on any number of ranks.

#include <cstdint>
#include <functional>
#include <vector>

#include "comm/communicator.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

class PublicSample {
 public:
  /// `most` of the records of which `shard` is this rank's share, or all if there are fewer. Empty slots are none.
  /// `shard` must stay. Collective.
  PublicSample(const Communicator& comm, const Shard& shard, std::uint64_t most);

  std::uint64_t size() const { return size_; }  ///< on all ranks together
  /// Calls visit(rows) for some of this rank's records at a time. Their slots are their numbers in the sample.
  void for_each(const std::function<void(const Rows& rows)>& visit) const;

 private:
  struct OfBlock {
    const Records* records = nullptr;
    std::vector<std::uint32_t> rows, numbers;
  };
  std::uint64_t size_ = 0;
  std::vector<OfBlock> blocks_;
};

}  // namespace dpmpi
