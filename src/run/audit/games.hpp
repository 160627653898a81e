#pragma once
// The games of an audit. Private to it.

#include "run/audit/setup.hpp"

namespace dpmpi {

/// A game of two datasets.
struct PairGame {
  const char* name;
  bool among_public = false;  ///< public records fill the other slots
  bool at_worst = false;      ///< the records are those of worst_case_canaries
};
/// Collective over the world; the result is on its root. All that a result says is wrong with probability `error`
/// at most.
GameResult distinguish(const AuditSetup& setup, const PairGame& game, const RecordPair& pair, double error);
/// distinguish with a record of which every contribution is as long as the clip.
GameResult worst_case(const AuditSetup& setup, double error);
/// Many canaries in a run, each by a coin of its own; likewise. `pair`: says how large they should be.
GameResult one_run(const AuditSetup& setup, const RecordPair& pair, double error);

/// Compares a result with the promise.
void compare_with_promise(const AuditSetup& setup, GameResult& result);

}  // namespace dpmpi
