#pragma once
// The games of an audit. Private to it.

#include "run/audit/setup.hpp"

namespace dpmpi {

/// A game of two datasets.
struct Contest {
  const char* name;
  bool among_public = false;  ///< public records fill the other slots
  bool at_worst = false;      ///< the records are those of worst_case_canaries
};
/// Collective over the world; the result is on its root. All that a result says is wrong with probability `error`
/// at most.
GameResult distinguish(const AuditGround& ground, const Contest& contest, const RecordPair& pair, double error);
/// distinguish with a record of which every contribution is as long as the clip.
GameResult worst_case(const AuditGround& ground, double error);
/// Many canaries in a run, each by a coin of its own; likewise. `pair`: says how large they should be.
GameResult one_run(const AuditGround& ground, const RecordPair& pair, double error);

/// Compares a result with the promise.
void judge(const AuditGround& ground, GameResult& result);

}  // namespace dpmpi
