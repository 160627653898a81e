#include "run/warnings/public_sample.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace dpmpi {
namespace {

constexpr std::size_t at_once = 64;  // fewer than any objective's micro-batch has

}  // namespace

PublicSample::PublicSample(const Communicator& comm, const Shard& shard, std::uint64_t most) {
  std::vector<std::int64_t> filled(static_cast<std::size_t>(comm.size()));
  const auto own = static_cast<std::size_t>(comm.rank());
  for (const Block& block : shard.blocks)
    filled[own] += std::ranges::count_if(block.records.label, [](float y) { return !std::isnan(y); });
  comm.sum(filled);
  std::uint64_t all = 0, next = 0;  // of all records, and the number among them of this rank's first one
  for (std::size_t r = 0; r < filled.size(); ++r) {
    if (r == own) next = all;
    all += static_cast<std::uint64_t>(filled[r]);
  }
  size_ = std::min(all, most);
  for (const Block& block : shard.blocks) {
    OfBlock chosen{&block.records, {}, {}};
    for (std::uint32_t i = 0; i < block.records.count; ++i) {
      if (std::isnan(block.records.label[i])) continue;
      const std::uint64_t number = next * size_ / all;
      if (++next * size_ / all == number) continue;
      chosen.rows.push_back(i);
      chosen.numbers.push_back(static_cast<std::uint32_t>(number));
    }
    if (!chosen.rows.empty()) blocks_.push_back(std::move(chosen));
  }
}

void PublicSample::for_each(const std::function<void(const Rows& rows)>& visit) const {
  for (const OfBlock& block : blocks_)
    for (std::size_t first = 0; first < block.rows.size(); first += at_once) {
      const std::size_t count = std::min(at_once, block.rows.size() - first);
      visit(Rows{*block.records, std::span(block.rows).subspan(first, count),
                 std::span(block.numbers).subspan(first, count)});
    }
}

}  // namespace dpmpi
