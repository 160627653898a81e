#pragma once
// Noisy counts of held-out records by class and score: released once, at the end of a run.

#include <cstddef>
#include <span>
#include <vector>

#include "objective/objective.hpp"
#include "privacy/curator/curator.hpp"
#include "run/plan/evaluation_plan.hpp"

namespace dpmpi {

/// What a release of CountedScores tells, all of it public. Of persons each counts 1, shared out over the cells of
/// their records.
struct NoisyCounts {
  CountedScores shape = {};
  std::vector<std::size_t> begins =
      {};  ///< of each bin of scores its first cell of the grid; the first begins at 0
  /// Signs: of -1 by bin, then of +1. Classes: of records that the model takes for another one, then of the others.
  std::vector<double> counts = {};
  std::vector<double> classes = {};  ///< classes[k * K + j] of class k that are taken for class j; empty: signs
  double loss = 0;                   ///< sum of clipped losses, where scores are logits
  double counts_std = 0, classes_std = 0, loss_std = 0;  ///< deviations of the noise of each number

  std::size_t bins() const { return begins.size(); }
  /// Scores at which bin i begins; behind the last bin: infinity.
  double edge(std::size_t i) const;
};

/// Where bins of about equally many records begin, by noisy counts of the grid's cells, the highest of them halved
/// shape.halvings times. Of signs one bin begins at the score 0, so that bins tell what is predicted. Any counts
/// give a right answer; noise makes bins less even.
std::vector<std::size_t> even_bins(std::span<const double> cells, const CountedScores& shape);

/// Releases the counts of the model at w. `curator`: that of the plan's queries, on the held-out records.
/// Collective.
NoisyCounts release_counts(Curator& curator, const EvaluationPlan& plan, Objective& objective,
                           std::span<const float> w);

}  // namespace dpmpi
