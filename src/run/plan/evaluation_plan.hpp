#pragma once
// What is released of records that a model was not trained on, and with how much noise: those that a run keeps out
// of training (data.test_share), or those of a later look (run/look).
//
// What a run keeps out is of other people than those that it trains on, so the promise to these is kept for those
// by itself: nobody is in both parts (docs/theory/held_out.md).

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "data/load/held_out.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/releases.hpp"

namespace dpmpi {

/// Which numbers are released: noisy counts, each of which has a part of the budget. By their names in ledgers:
///
///   test_scores   records by their score on a fixed grid, from which the bins of the next one follow
///   test_counts   records by label -1 or +1 (of classes: by whether the model is right) and bin of score
///   test_classes  of classes: records by the true and the predicted one
///   test_loss     log-loss, each record's at most largest_loss: a sum; where scores are logits
struct CountedScores {
  static constexpr double largest_loss = 4;
  /// Cells of the grid: octaves of |score| from 2^-6 to 2^6 in eight each, and one below, of both signs.
  static constexpr std::size_t octaves = 12, per_octave = 8, cells_of_sign = 1 + octaves * per_octave;

  bool signs = true;  ///< labels -1 and +1, told apart by one score; else classes
  std::size_t classes = 2;
  std::size_t bins = 16;
  std::size_t halvings = 0;  ///< signs: of the highest bin, so that its few records are told apart; among `bins`
  bool logits = true;

  /// Throws ConfigError if this objective has no classes whose scores could be counted; `asked_by`, an option,
  /// begins the message. The number of bins follows from the noise.
  static CountedScores of(const Objective& objective, const std::string& name,
                          const std::string& asked_by = "data.test_share");
  /// As many bins as so many records fill: each should hold some, and far more than the noise of its count. In
  /// those of the highest scores somewhat more than the noise will do.
  void choose_bins(std::uint64_t units, double noise_std);
  std::vector<QuerySpec> queries(double noise_multiplier) const;
  static std::size_t cell(double score);  ///< number of the grid's cell
  /// Where cell i begins: -infinity, ..., 0, ...
  static double edge(std::size_t cell);
};

/// How bins follow from public numbers, and metrics and intervals from counts. Files say it by number ("rules"):
///
///   none  before 2026-11-29: other bins, and intervals that are not known here
///   2     other bins, the intervals of today
///   3     today
///
/// While one lives, plans of this thread have the bins of those rules, for the files that were written by them.
class EarlierRules {
 public:
  static constexpr int first = 1, of_other_bins = 2, today = 3;

  explicit EarlierRules(int rules);
  ~EarlierRules();
  EarlierRules(const EarlierRules&) = delete;
  EarlierRules& operator=(const EarlierRules&) = delete;

  static int in_force();

 private:
  int before_;
};

struct EvaluationPlan {
  static constexpr const char* ledger = "evaluation_ledger.jsonl";
  static constexpr const char* results = "evaluation.json";

  DatasetFacts data;   ///< of the records that are counted
  BlockLayout layout;  ///< of these; of a held-out part in the blocks of the training
  Adjacency adjacency = Adjacency::add_remove;
  CountedScores counted;
  std::vector<Query> queries;
  Promise promise;
  std::vector<Event> events() const;
};

/// What keeps (epsilon, delta) for the records of `outline`, which has all but queries and promise. Local,
/// deterministic. Throws PrivacyError, as with_promise does.
Promise promise_of_counts(const ReleaseTerms& terms, const EvaluationPlan& outline, double epsilon, double delta);
/// The plan that keeps this promise. Local, cheap.
EvaluationPlan with_promise(EvaluationPlan outline, const ReleaseTerms& terms, Promise promise);

/// The plan of the evaluation that keeps the promise of `training`, its epsilon and its delta, for the held-out
/// part. Local, deterministic. Throws ConfigError or PrivacyError.
EvaluationPlan make_evaluation_plan(const RunConfig& config, const Objective& objective, const Plan& training,
                                    const HeldOut& part);
/// The same, with the promise made by the root. Collective.
EvaluationPlan evaluation_plan_on_all_ranks(const Communicator& comm, const RunConfig& config,
                                            const Objective& objective, const Plan& training, const HeldOut& part);

/// What an attacker finds at most of anybody, whichever part that one is in: at each rate the larger of the two
/// powers (of the only one, if nothing is held out). The two parts keep one epsilon, and their curves still differ.
std::vector<std::pair<double, double>> attacker_of_everybody(const Plan& plan);

}  // namespace dpmpi
