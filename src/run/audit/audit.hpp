#pragma once
// Empirical lower bounds on a mechanism's epsilon: it is run many times, as configured, on datasets that differ in
// one record, and an attacker who sees what it releases is told neither which. Nobody's records are read.
// docs/guide/auditing.md says what the games show.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "run/audit/statistics.hpp"
#include "run/config/config.hpp"
#include "run/plan/plan.hpp"
#include "run/train/run_in_memory.hpp"

namespace dpmpi {

/// One run on a shard, through a curator, to its last step. `start`: where the method starts, as the attacker knows
/// it. Collective over `comm`. `attacker` is used on the root.
void run_game(const Communicator& comm, const RunParts& mechanism, const Shard& shard, std::uint64_t key,
              std::span<const float> start, Attacker& attacker);
/// Where the method starts: public. Local.
std::vector<float> start_point(const RunParts& mechanism);

/// Ranks in equal groups; the ranks that are left over wait.
struct Groups {
  const Communicator& world;
  Communicator own;  ///< size 0: this rank waits
  std::uint64_t count = 1, number = 0;
  /// Collective. Throws ConfigError if there are fewer ranks than a group has.
  Groups(const Communicator& all, std::int64_t ranks_each);
  bool idle() const { return own.size() == 0; }
};

/// Work in `count` pieces that the groups share: piece i is made by group i mod groups.count, and what the root of
/// that group makes of it counts. All pieces in order, on the root of the world, else nothing. Collective over the
/// world; `make` is over a group.
std::vector<std::string> deal(const Groups& groups, std::uint64_t count,
                              const std::function<std::string(std::uint64_t)>& make);
std::vector<std::vector<double>> deal_numbers(const Groups& groups, std::uint64_t count,
                                              const std::function<std::vector<double>(std::uint64_t)>& make);

/// A distinguishing game: one run on the first or the second of two neighbouring datasets, with this key.
/// Collective over a group; what the attacker keeps of it counts on the group's root.
using Turn = std::function<Transcript(const Communicator& group, bool second, std::uint64_t key)>;
struct Rounds {
  std::uint64_t runs = 1000;  ///< on both datasets together
  std::uint64_t seed = 1;
  std::function<void(std::uint64_t)> done = {};  ///< told on the root how many runs are done, now and then
};
/// Of the runs on either dataset, in order; on the root of the world.
struct Transcripts {
  std::vector<Transcript> first, second;
};
/// Even runs are on the first dataset, odd ones on the second. Run i has a key of its own, a function of the seed
/// and i, so transcripts are the same on any number of groups. Collective over the world.
Transcripts run_games(const Groups& groups, const Turn& turn, const Rounds& rounds);

/// One game's result.
struct GameResult {
  std::string game = {}, test = {};
  std::uint64_t runs = 0, canaries = 0;
  double bound = 0;  ///< on epsilon, from below
  std::optional<double> found = {}, false_alarms = {},
                        allowed = {};  ///< rates of an attack, and the most that is promised
  /// By the whole curve: the config's noise times `noise` is refuted, and with it every smaller promise than
  /// `curve_bound`. Other than `bound` it is about mechanisms of this config alone.
  std::optional<double> curve_bound = {}, noise = {};
  bool holds = true;
  std::string remark = {};  ///< why it was not played; empty: it was
};

struct AuditReport {
  std::string config = {}, digest = {}, method = {}, objective = {}, adjacency = {};
  double epsilon = 0, delta = 0, confidence = 0;  ///< epsilon: claimed
  std::uint64_t seed = 0;
  std::uint32_t person_records = 1;  ///< AuditSetup::person_records
  std::vector<GameResult> games = {};
  bool holds() const;
  double bound() const;  ///< the largest
  std::string json() const;
};

/// Audits the config's mechanism. Collective; the report is on the root. Throws ConfigError, DataError,
/// PrivacyError.
AuditReport audit(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                  bool quiet, ConfigOf whose = ConfigOf::user);

}  // namespace dpmpi
