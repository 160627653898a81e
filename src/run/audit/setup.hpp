#pragma once
// What all games of an audit stand on: the config's mechanism, ready to be run, and datasets without anybody's
// records. Private to the audit.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "run/audit/audit.hpp"
#include "run/audit/clip_length_objective.hpp"
#include "run/audit/records.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

class AuditSetup {
 public:
  /// Collective over `all`, which must outlive the setup. Throws ConfigError, DataError, PrivacyError, on all
  /// ranks alike.
  AuditSetup(const Communicator& all, const std::string& path, const std::vector<std::string>& overrides,
             ConfigOf whose = ConfigOf::user);
  AuditSetup(const AuditSetup&) = delete;

  const Communicator& world;
  const std::unique_ptr<const RunConfig> settled;
  const RunConfig& config;  ///< that one
  const DataFiles files;
  Groups groups;
  PublicFacts facts;
  std::unique_ptr<Objective> objective;
  Plan plan;
  RecordShape shape;
  RunParts mechanism;
  std::vector<RowSource> public_rows;  ///< of data.eval, on every rank
  std::uint64_t place = 0;             ///< of the differing record
  bool announces = false;              ///< says how long games take
  /// Where the promise is for persons: of each canary, all alike, so that whoever bounds a record but not a person,
  /// or hides fewer records than somebody may have, lets more of them through. Else 1.
  std::uint32_t person_records = 1;

  std::uint64_t seed() const { return static_cast<std::uint64_t>(config.audit.seed); }
  bool replaces() const { return plan.adjacency == Adjacency::replace_one; }
  /// Slots from one canary to the next, and how many of these its records fill: more than 1 where the records of a
  /// person are drawn one by one.
  std::uint64_t canary_stride() const { return facts.data.slots_of_unit; }
  std::uint32_t canary_slots() const { return canary_stride() > 1 ? person_records : 1; }
  /// The key of runs that are compared with each other, noise included.
  std::uint64_t common_key() const;

  /// This rank's part of a dataset with these canaries from slot `at` on, the first of a canary's; in the other
  /// slots is nothing, or public records. Empty on a rank that waits.
  Shard dataset(std::uint64_t at, std::span<const RowSource> canaries, bool among_public) const;
  /// A run of the mechanism on it, or of the same with WorstCase for its objective. Collective over the group.
  void run(const Shard& shard, std::uint64_t key, Attacker& attacker, bool at_worst = false) const;
  /// Its first steps, as many as tell which records are far apart; where all iterates are hidden, the whole run.
  void run_briefly(const Shard& shard, std::uint64_t key, Attacker& attacker) const;
  /// What a run at worst adds up. Null: the method does more than add up clipped gradients.
  Objective* worst_objective() const { return worst_.get(); }

 private:
  void read_public_records();
  void try_worst_case();
  Shard public_;
  std::vector<float> start_;
  std::unique_ptr<WorstCase> worst_;
  RunParts run_at_worst_;
};

/// The differing record in the two datasets; without a record its slot is empty.
struct RecordPair {
  RowSource first, second;
};
/// The pair of candidates that a run tells apart best, or audit.canary and its worst partner. What it points to is
/// put into `candidates`. Collective. Throws ConfigError if there is no candidate.
RecordPair choose_pair(const AuditSetup& setup, Records& candidates);

}  // namespace dpmpi
