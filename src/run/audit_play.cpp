// Runs of a mechanism on records that nobody owns, shared among groups of ranks.

#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/random.hpp"
#include "dpmpi/run/audit.hpp"

namespace dpmpi {
namespace {

static_assert(std::is_trivially_copyable_v<Transcript>);

std::string packed(const std::vector<Transcript>& transcripts) {
  return {reinterpret_cast<const char*>(transcripts.data()), transcripts.size() * sizeof(Transcript)};
}

}  // namespace

std::vector<float> start_point(const RunParts& mechanism) {
  const auto method = started(mechanism);
  const auto x = method->iterate();
  return {x.begin(), x.end()};
}

void play(const Communicator& comm, const RunParts& mechanism, const Shard& shard, std::uint64_t key,
          std::span<const float> start, Observer& observer) {
  if (comm.is_root()) observer.begin(start);
  std::optional<SecretKey> secret;
  if (comm.is_root()) secret = SecretKey::from_seed(key);
  const auto method = run_in_memory(comm, mechanism, shard, secret, &observer);
  if (comm.is_root()) observer.end(method->iterate());
}

namespace {

int colour_of(const Communicator& all, std::int64_t ranks_each) {
  const std::int64_t group = all.rank() / ranks_each;
  return group < all.size() / ranks_each ? static_cast<int>(group) : -1;
}

}  // namespace

Groups::Groups(const Communicator& all, std::int64_t ranks_each)
    : world(all),
      own(all.split(colour_of(all, ranks_each))),
      count(static_cast<std::uint64_t>(all.size() / ranks_each)),
      number(static_cast<std::uint64_t>(all.rank() / ranks_each)) {
  if (count == 0)
    throw ConfigError(fmt::format("audit.ranks = {} is more than there are: a run's ranks are {} at most",
                                  ranks_each, all.size()));
}

Transcripts play_rounds(const Groups& groups, const Turn& turn, const Rounds& rounds) {
  std::vector<Transcript> own;
  for (std::uint64_t i = groups.number; !groups.idle() && i < rounds.runs; i += groups.count) {
    const std::uint64_t key = PublicStream(rounds.seed, "audit key").word(i);
    own.push_back(turn(groups.own, i % 2 == 1, key));
    if (groups.world.is_root() && rounds.done) rounds.done(std::min(rounds.runs, i + groups.count));
  }
  if (groups.idle() || !groups.own.is_root()) own.clear();
  const auto parts = groups.world.gather(packed(own));
  Transcripts all;
  if (!groups.world.is_root()) return all;
  std::vector<const std::string*> by_group;
  for (const auto& part : parts)
    if (!part.empty()) by_group.push_back(&part);
  for (std::uint64_t i = 0; i < rounds.runs; ++i) {
    Transcript transcript;
    std::memcpy(&transcript, by_group[i % groups.count]->data() + i / groups.count * sizeof transcript,
                sizeof transcript);
    (i % 2 == 1 ? all.second : all.first).push_back(transcript);
  }
  return all;
}

}  // namespace dpmpi
