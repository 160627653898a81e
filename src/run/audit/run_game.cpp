// Runs of a mechanism on records that nobody owns, shared among groups of ranks.

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "run/audit/audit.hpp"

namespace dpmpi {
namespace {

static_assert(std::is_trivially_copyable_v<Transcript>);

std::uint64_t run_key(std::uint64_t seed, std::uint64_t run) { return PublicStream(seed, "audit key").word(run); }

}  // namespace

std::vector<float> start_point(const RunParts& mechanism) {
  const auto algorithm = started(mechanism);
  const auto x = algorithm->iterate();
  return {x.begin(), x.end()};
}

void run_game(const Communicator& comm, const RunParts& mechanism, const Shard& shard, std::uint64_t key,
              std::span<const float> start, Attacker& attacker) {
  if (comm.is_root()) attacker.begin(start);
  std::optional<SecretKey> secret;
  if (comm.is_root()) secret = SecretKey::from_seed(key);
  const auto algorithm = run_in_memory(comm, mechanism, shard, secret, &attacker);
  if (comm.is_root()) attacker.end(algorithm->iterate());
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

std::vector<std::string> deal(const Groups& groups, std::uint64_t count,
                              const std::function<std::string(std::uint64_t)>& make) {
  std::string own;
  for (std::uint64_t i = groups.number; !groups.idle() && i < count; i += groups.count) {
    const std::string piece = make(i);
    const std::uint64_t size = piece.size();
    if (groups.own.is_root()) own.append(reinterpret_cast<const char*>(&size), sizeof size).append(piece);
  }
  const auto parts = groups.world.gather(own);
  if (!groups.world.is_root()) return {};
  std::vector<std::string_view> by_group;
  for (const auto& part : parts)
    if (!part.empty()) by_group.emplace_back(part);
  std::vector<std::string> pieces;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view& rest = by_group[i % groups.count];
    std::uint64_t size = 0;
    std::memcpy(&size, rest.data(), sizeof size);
    pieces.emplace_back(rest.substr(sizeof size, size));
    rest.remove_prefix(sizeof size + size);
  }
  return pieces;
}

std::vector<std::vector<double>> deal_numbers(const Groups& groups, std::uint64_t count,
                                              const std::function<std::vector<double>(std::uint64_t)>& make) {
  const auto pieces = deal(groups, count, [&](std::uint64_t i) {
    const std::vector<double> numbers = make(i);
    return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  });
  std::vector<std::vector<double>> all;
  for (const std::string& piece : pieces) {
    all.emplace_back(piece.size() / sizeof(double));
    std::memcpy(all.back().data(), piece.data(), piece.size());
  }
  return all;
}

Transcripts run_games(const Groups& groups, const Turn& turn, const Rounds& rounds) {
  const auto pieces = deal(groups, rounds.runs, [&](std::uint64_t i) {
    const Transcript transcript = turn(groups.own, i % 2 == 1, run_key(rounds.seed, i));
    if (groups.world.is_root() && rounds.done) rounds.done(std::min(rounds.runs, i + groups.count));
    return std::string(reinterpret_cast<const char*>(&transcript), sizeof transcript);
  });
  Transcripts all;
  for (std::uint64_t i = 0; i < pieces.size(); ++i) {
    Transcript transcript;
    std::memcpy(&transcript, pieces[i].data(), sizeof transcript);
    (i % 2 == 1 ? all.second : all.first).push_back(transcript);
  }
  return all;
}

}  // namespace dpmpi
