#pragma once
// The kinds of query. Of a query of its kind, each says
//   takes(rule)                 whether its analysis covers this rule of sampling,
//   bounds_persons              and a unit of privacy that holds several records,
//   declare(query)              lattice, slack and what plans ask for; throws for what its bound does not cover,
//   events(query, first, last)  what the releases first .. last-1 cost if it is private, and
//   describe(query)             what is released, in lines for people.
// Query asks the kind that it has; others need not know which it is.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/sampling.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

struct Query;
struct RunCandidate;
using Events = std::vector<Event>;

/// What a release takes beside the sum over a batch that it is by default. For plans.
struct ReleaseCost {
  double runs = 1;               ///< sums with noise of their own, on average
  double sums = 0;               ///< sums that all ranks see before the release, 8 bytes a coordinate
  double sequential_passes = 0;  ///< of a state of so many coordinates from rank to rank
  double worker_noise = 1;       ///< share of the steps in which ranks draw QuerySpec::worker_noise
};

/// What one record can do to the values that get noise, in a release that it takes part in.
struct Shift {
  double values = 1;  ///< it shifts so many of them
  double size = 1;    ///< by so many sensitivities each, at most
};

/// Of sums over batches. A record takes part in one step of every round of a cyclic rule and of every pass of a
/// shuffled one, so a round is one Gaussian event, charged when it begins, and so is an epoch of balls in bins, by
/// an event of its own; disjoint parts are one in all (parallel
/// composition), charged when the run begins.
Events events_of_sums(const Query& query, std::uint64_t first, std::uint64_t last);
/// The clip, what follows from it, and the noise of a mean.
std::vector<std::string> describe_sum(const Query& query);

/// A sum of vectors, e.g. of gradients: 4 bytes a coordinate, released by Curator::release.
struct Sum {
  /// If it is below 1: Curator::sum may scale the clip down to this, and the lattice moves along by powers of two,
  /// so that its rounding stays small beside a small clip.
  double smallest_scale = 1;
  /// If it is above 0, the last coordinate is one of votes, and takes this share of the squared bound: votes.hpp.
  double votes = 0;

  static constexpr bool bounds_persons = true;
  static bool takes(const SamplingRule& rule) { return !std::holds_alternative<CyclicPoisson>(rule); }
  void declare(Query& query) const;
  static Events events(const Query& q, std::uint64_t a, std::uint64_t b) { return events_of_sums(q, a, b); }
  std::vector<std::string> describe(const Query& query) const;
};

/// A short sum that must be precise: on Lattice::finest, released by Curator::release_exact, 8 bytes a coordinate.
struct ExactSum {
  /// Every contribution is a unit vector e_j or zero (Curator::sum takes a kernel of one_hot_counts): the bound is
  /// 1, a record that is replaced moves the sum by |e_i - e_j| = sqrt(2) at most instead of 2 (a single count by
  /// 1), and integers are summed without any rounding.
  bool one_hot = false;

  static constexpr bool bounds_persons = true;
  static bool takes(const SamplingRule& rule) { return !std::holds_alternative<CyclicPoisson>(rule); }
  void declare(Query& query) const;
  static Events events(const Query& q, std::uint64_t a, std::uint64_t b) { return events_of_sums(q, a, b); }
  static std::vector<std::string> describe(const Query& query) { return describe_sum(query); }
};

/// What is released at a leaf is the sum of all leaves of the run so far, with the correlated noise of a tree or
/// matrix mechanism. Shuffled says how many leaves a pass of a run has: step t is leaf t mod leaves + 1 of run
/// t / leaves, and a record is in one leaf of a pass at most.
///
/// With CyclicPoisson all steps are the leaves of one run, with noise of a banded strategy whose band is not longer
/// than the cycle (docs/theory/cyclic_samples.md): one event, charged when the run begins.
struct RunningSum {
  Strategy strategy = Strategy::fenwick;
  std::uint64_t band = 0;    ///< banded and banded_blt only
  Buffers buffers = {};      ///< blt and banded_blt only
  std::uint64_t passes = 1;  ///< of a run, in the same order; more than 1 for Toeplitz matrices and one run a pass
  double first_clip = 1;     ///< the clip of leaf 1, over bound.clip
  /// Nodes get noise for the largest leaf that they hold, by the scales given to Curator::sum; leaf 1 counts as
  /// first_clip <= 1. Otherwise every node gets the noise of a leaf with bound.clip.
  bool adaptive = false;
  double votes = 0;  ///< as Sum::votes

  static std::uint64_t leaves(const Query& query);  ///< of one run
  Tree tree(const Query& query) const;              ///< the mechanism of one run

  static constexpr bool bounds_persons = true;
  static bool takes(const SamplingRule& rule) {
    return std::holds_alternative<Shuffled>(rule) || std::holds_alternative<CyclicPoisson>(rule);
  }
  void declare(Query& query) const;
  /// The runs of a pass are one tree event (parallel composition), charged when it begins; so is a run of several
  /// passes.
  Events events(const Query& query, std::uint64_t first, std::uint64_t last) const;
  std::vector<std::string> describe(const Query& query) const;
};

/// The vectors that phases hand over (Curator::run_phase): programs over one part of the data each, whose state
/// between its steps is not noised. Each part is used once, and its `clip` bounds how far, in L2, one record's
/// presence can move that vector, all rounding inside the phase included. That bound is the method's to prove, for
/// every dataset; bound and slack of the query say nothing.
struct Phases {
  double range = 1;              ///< coordinates of that vector are cut to [-range, range] before the noise
  double sums = 1;               ///< PhaseView::sum in a phase, on average, for plans
  double sequential_passes = 0;  ///< PhaseView::sequential_pass in a phase, likewise
  /// Programs draw noise of their own (PhaseView::normal and laplace) and decide by it. The method proves that a
  /// phase is within `total_variation` of something rho-zCDP of which the noise on its vector is the part
  /// `output_share` in (0, 1): the run is that event, rho = 1 / (2 noise_multiplier^2 output_share), and no
  /// Gaussian.
  struct OwnNoise {
    double output_share = 1;
    double total_variation = 0;
  };
  std::optional<OwnNoise> own_noise = {};

  static constexpr bool bounds_persons = false;
  static bool takes(const SamplingRule& rule);
  void declare(Query& query) const;
  /// All phases are one event, whichever of them a record is in, charged when the run begins.
  Events events(const Query& query, std::uint64_t first, std::uint64_t last) const;
  static std::vector<std::string> describe(const Query& query);
};

/// The best of secretly many runs (Curator::best_of_runs; Papernot and Steinke 2022): each takes secret uniform
/// numbers, and is an exact sum of one coordinate over all records, with noise of its own. Before that sum, its
/// score, a run may be the whole training of one of several candidates.
struct BestOfRuns {
  RepetitionLaw law = {};
  std::size_t draws = 1;  ///< uniform numbers of a run
  /// What a run may train. All cost the same: a run is one event, whichever it takes. Null: it is its score alone.
  std::shared_ptr<const std::vector<RunCandidate>> candidates = {};

  static constexpr bool bounds_persons = true;
  static bool takes(const SamplingRule& rule) { return std::holds_alternative<FullBatch>(rule); }
  void declare(Query& query) const;
  Events events(const Query& query, std::uint64_t first, std::uint64_t last) const;
  std::vector<std::string> describe(const Query& query) const;
};

/// A run of exact sums of which outsiders see the last iterate: it is one event, charged when it begins, and the
/// noise of a step follows the event's schedule.
struct LastIterateRun {
  HiddenState run = {};  ///< with noise_multiplier 1; the query says how many steps, and which records a step takes
  double rounding = 0;   ///< what lattice and method add to run.error and run.drift, per unit of noise_multiplier
                         ///< (of records; what the means of persons add, event() knows)

  HiddenState event(const Query& query) const;
  /// Noise std at step t over Query::noise_std: the noise in the span of the directions, before_multiplier before
  /// the last `hybrid` steps, sqrt(directional^2 + isotropic^2) in them.
  double noise_scale(const Query& query, std::uint64_t t) const;

  static constexpr bool bounds_persons = true;
  static bool takes(const SamplingRule& rule) {
    return !std::holds_alternative<Disjoint>(rule) && !std::holds_alternative<CyclicPoisson>(rule) &&
           !std::holds_alternative<BallsInBins>(rule);
  }
  void declare(Query& query) const;
  Events events(const Query& query, std::uint64_t first, std::uint64_t last) const;
  static std::vector<std::string> describe(const Query& query) { return describe_sum(query); }
};

}  // namespace dpmpi
