#include "run/train/run_in_memory.hpp"

#include <algorithm>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

std::vector<Event> events_of(const RunParts& parts) {
  std::vector<Event> all;
  for (const Query& query : parts.queries)
    for (auto& event : query.events(0, query.releases_before(parts.plan->steps))) all.push_back(std::move(event));
  return all;
}

}  // namespace

std::unique_ptr<Algorithm> started(const RunParts& parts) {
  return parts.plan->start(*parts.objective, parts.queries);
}

std::unique_ptr<Algorithm> run_in_memory(const Communicator& comm, const RunParts& parts, const Shard& shard,
                                         const std::optional<SecretKey>& key, ReleaseListener* listener) {
  auto algorithm = started(parts);
  const std::uint64_t steps = parts.plan->steps;
  std::optional<Ledger> ledger;
  Curator curator(comm, shard, parts.queries, parts.objective->micro_batch_rows(), key, parts.mask_sums);
  if (comm.is_root()) {
    ledger.emplace(Ledger::in_memory({parts.adjacency, shard.facts.records, true}));
    curator.record_in(*ledger);
    curator.announce_to(listener);
  }
  for (std::uint64_t t = 0; t < std::min(steps, parts.played); ++t) {
    algorithm->step(curator, t);
    heartbeat().beat();
  }
  if (ledger && parts.played >= steps && !same_events(ledger->events(), events_of(parts)))
    throw PrivacyError("a run in memory did not release what was planned");
  return algorithm;
}

}  // namespace dpmpi
