#pragma once
// The ledger of the people on whose records a search trains models: every training is on disk before it begins.
// Lines of a training state which it is and the SHA-256 of its settings:
//
//   {"event":"poisson_gaussian",...,"count":100,"training":0,"settings":"5f0c...","prev":"..."}
//
// A training's number is its noise. So a number belongs to one list of settings for ever: a resumed run that asks
// for a training again gets the same model and pays nothing, and another one never gets that noise.

#include <cstdint>
#include <string>
#include <vector>

#include "privacy/events/ledger.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

class TrainingLedger {
 public:
  static constexpr const char* file = "training_ledger.jsonl";

  /// `plan`: of plan.runs trainings at most. `begun`: trainings that are known to have been asked for (a resumed
  /// run's checkpoint). Throws PrivacyError if the lines are not those of trainings.
  TrainingLedger(Ledger ledger, const Plan& plan, std::uint64_t begun = 0);

  /// The numbers of the trainings with these settings; those that are not paid for are now, by one synced write.
  /// Throws PrivacyError, and writes nothing, if there would be more than planned, or if the lines say that the
  /// next number was paid for with other settings.
  std::vector<std::uint64_t> pay(const std::vector<std::string>& settings);

  std::uint64_t begun() const { return begun_; }  ///< trainings that were asked for
  const Ledger& ledger() const { return ledger_; }

 private:
  std::vector<LedgerEntry> lines_of(std::uint64_t number) const;

  Ledger ledger_;
  std::vector<Event> events_;
  std::uint64_t most_, begun_;
  std::vector<std::string> settings_;  // SHA-256 by number; those from begun_ on were paid for before a kill
};

/// Of one of so many trainings that share these events: each mechanism once, in the order of their lines.
std::vector<Event> events_of_training(const std::vector<Event>& all, std::uint64_t trainings);

/// SHA-256 of the settings of every training that has a line, in order of number; the last may lack some of its
/// lines. `lines`: of a ledger, header included; `events`: of one training. Throws PrivacyError naming `file` and
/// the first line that is not the next one of a training.
std::vector<std::string> trainings_in(const std::vector<std::string>& lines, const std::vector<Event>& events,
                                      const std::string& file);

}  // namespace dpmpi
