#pragma once
// The search for the tightest value by privacy loss distributions, of which every answer costs convolutions.

#include <map>
#include <memory>
#include <optional>

#include "privacy/accountants/pld.hpp"
#include "privacy/loss_distributions/transform.hpp"
#include "privacy/promise/search.hpp"

namespace dpmpi {

/// Remembers what it has worked out. Neighbouring values end on the same grids: after the first one the bound of
/// these alone is asked for, at a third of the work. The accountant is asked for the value that was found.
///
/// The accountant may need grids with more points than a search has time for. Then the search has smaller ones,
/// whose bound it corrects by what they foretell and by what the accountant answers, and it need not find the last
/// digit: on the largest grids epsilon is hardly better known.
class PldSearch {
 public:
  explicit PldSearch(const Problem& problem) : problem_(problem) {}

  /// Whether the accountant keeps the target at x, or may keep it where its own answer is costly.
  bool promising(double x);

  /// The tightest value that was found to keep the target, by the accountant's own answer; empty if there is none.
  /// `near`: where to begin.
  std::optional<double> tightest(std::optional<double> near);

  /// The accountant that has answered at x; empty if none was asked there.
  std::shared_ptr<const PldAccountant> answered(double x) const;

 private:
  using Composed = std::shared_ptr<const PldAccountant>;
  enum class Source { foretold, above, kept };  ///< or an answer above the target, or one that keeps it
  /// Of epsilon on costly grids: the logarithm of the accountant's part of it along that of the unknown, through
  /// the last two answers.
  struct Correction {
    double x = 0, value = 0, slope = 0, margin = 0;
    int answers = 0, above = 0;  // the latest in a row that were above the target
    double log_at(double log_x) const { return value + slope * (log_x - x); }
    double factor(double log_x) const { return std::exp(log_at(log_x) + margin); }
    void learn(double log_x, double log_ratio, Source source);
  };

  struct Answer {
    double x, epsilon;
  };

  double epsilon(double x);
  double uncorrected(double x);
  Composed composed(double x) const;
  double compute(double x);
  double ask(const Composed& accountant, double x);
  std::optional<double> closer(std::optional<double> near);
  void foretell(const PldAccountant& accountant, double x, double bound);
  bool confirmed(double x);
  bool confirmed_costly(double x);
  void narrow(Answer answer);
  std::optional<double> between_answers() const;
  void by_answers(std::optional<double> near);
  double resolution() const { return costly_ ? Search::coarse : Search::fine; }

  const Problem& problem_;
  KeptTransforms kept_transforms_;
  PldAccountant::Grids grids_;      // those that values are computed on
  bool costly_ = false;             // these are not the accountant's
  std::map<double, double> known_;  // without correction
  std::map<double, Composed> answered_;
  std::optional<double> tightest_;  // of the values whose own answer keeps the target
  Correction correction_;
  std::size_t asked_ = 0;        // points of the grids of the accountant's answers, where they are costly
  std::optional<Answer> kept_;   // of answers asked for there the largest that is not above the target
  std::optional<Answer> above_;  // and the latest that is
};

}  // namespace dpmpi
