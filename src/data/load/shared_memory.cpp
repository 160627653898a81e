#include "data/load/shared_memory.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "data/records/packed.hpp"

namespace dpmpi {
namespace {

/// What the ranks of a machine need, which is known by the first of them.
struct Need {
  std::int64_t machine = 0;
  std::uint64_t ranks = 1, bytes = 0, slots = 0, available = 0;
};

}  // namespace

// The bytes of sparse texts follow private values: only the root adds them up.
void check_memory_together(const Communicator& comm, std::uint64_t bytes, std::uint64_t slots,
                           std::uint64_t features, const std::string& path, bool is_public) {
  Need mine{comm.rank(), 1, bytes, slots, available_memory()};
  comm.node().broadcast(mine.machine);
  std::map<std::int64_t, Need> machines;
  for (const auto& rank : gather_lists(comm, std::vector{mine})) {
    const Need& more = rank.at(0);
    const auto [at, first] = machines.emplace(more.machine, more);
    if (first) continue;
    Need& sum = at->second;
    sum.ranks += more.ranks;
    sum.bytes += more.bytes;
    sum.slots += more.slots;
    sum.available = std::min(sum.available, more.available);
  }
  throw_on_all_ranks(comm, [&] {
    for (const auto& [machine, need] : machines) {
      const std::string where =
          need.ranks > 1 ? fmt::format("the {} ranks of this machine", need.ranks) : "this rank";
      check_memory(need.bytes, need.available,
                   fmt::format("{}: {} of {} features on {}", path,
                               need.slots > 0 ? fmt::format("{} records", need.slots) : "records", features, where),
                   is_public);
    }
  });
}

}  // namespace dpmpi
