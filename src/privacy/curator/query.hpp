#pragma once
// A query: one kind of release that a method repeats, a clipped sum over a sampled batch with Gaussian noise. It is
// declared in the plan with everything that its privacy rests on; the curator runs what was declared and nothing
// else.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers/lattice.hpp"
#include "data/records/sampling.hpp"
#include "objective/objective.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// The law of the noise, per coordinate.
enum class Noise {
  gaussian,           ///< N(0, std^2) drawn in double precision and rounded to the lattice
  discrete_gaussian,  ///< the exact discrete Gaussian on the lattice (Canonne, Kamath and Steinke 2020)
};
std::string_view name(Noise noise);                       ///< as in configurations: "gaussian", "discrete_gaussian"
std::optional<Noise> parse_noise(std::string_view text);  ///< empty if it is neither

/// A query whose steps are the leaves of running sums: what is released at a leaf is the sum of all leaves of the
/// run so far, with the correlated noise of a tree or matrix mechanism. Steps t = 0, 1, ... are leaf t mod leaves +
/// 1 of run t / leaves; the sampling rule (Shuffled, or Cyclic for runs of one pass) gives a record to one leaf of
/// a pass at most.
struct RunningSum {
  Strategy strategy = Strategy::fenwick;
  std::uint64_t leaves = 1;  ///< of one run
  std::uint64_t band = 0;    ///< banded only
  double first_clip = 1;     ///< the clip of leaf 1, over bound.clip
  /// Nodes get noise for the largest leaf that they hold, by the scales given to Curator::sum; leaf 1 counts as
  /// first_clip <= 1. Otherwise every node gets the noise of a leaf with bound.clip.
  bool adaptive = false;
};

/// A query whose releases are phases (Curator::relay): programs over one part of the data each, whose state between
/// its steps is not noised. The sampling rule is Disjoint, each part is used once, and its `clip` bounds how far,
/// in L2, one record's presence can move the vector that the phase hands over, all rounding inside the phase
/// included. That bound is the method's to prove, for every dataset.
struct Relay {
  double range = 1;  ///< coordinates of that vector are cut to [-range, range] before the noise
  double sums = 1;   ///< RelayPhase::sum in a phase, on average, for plans
  double walks = 0;  ///< RelayPhase::walk in a phase, likewise
  /// Programs draw noise of their own (RelayPhase::normal and laplace) and decide by it. The method proves that a
  /// phase is within `total_variation` of something rho-zCDP of which the noise on its vector is the part
  /// `output_share` in (0, 1): the run is that event, rho = 1 / (2 noise_multiplier^2 output_share), and no
  /// Gaussian.
  struct OwnNoise {
    double output_share = 1;
    double total_variation = 0;
  };
  std::optional<OwnNoise> own_noise = {};
};

/// A query whose releases are the best of secretly many runs (Curator::repeat): each takes secret uniform numbers
/// and is summed over all records with noise of its own. Only exact queries of one coordinate over all records.
struct Repeated {
  RepetitionLaw law = {};
  std::size_t draws = 1;  ///< uniform numbers of a run
};

/// At which steps of the run a query is released: `times` in each step t with t mod period in [begin, end).
/// Releases are numbered through, from 0.
struct Schedule {
  std::uint64_t period = 1, begin = 0, end = 1, times = 1;
  std::uint64_t releases_before(std::uint64_t step) const;
  std::uint64_t step_of(std::uint64_t release) const;  ///< the step in which it is due
};

/// What the root alone computes for a release while all ranks run the first part of the kernel, of which `effort`
/// tells; then there is a part that needs it. Flops, in double precision.
struct RootWork {
  double alone = 0;       ///< of a release
  double afterwards = 0;  ///< of a contribution
};

/// What a method says about a query.
struct QuerySpec {
  std::string name;     ///< for plans and ledgers, e.g. "gradient"
  std::size_t dim = 0;  ///< coordinates of the sum
  SamplingRule sampling = {};
  L2Bound bound = {};           ///< per record
  NumericSlack slack = {};      ///< of the kernel that will be summed
  double noise_multiplier = 0;  ///< noise std over the sensitivity; 0: released without noise (not private)
  std::uint64_t steps = 0;      ///< releases 0 .. steps-1 of the run; by default one in each of its steps
  Schedule schedule = {};       ///< when they are due
  std::optional<RunningSum> running = {};
  std::optional<Relay> relay = {};
  std::optional<Repeated> repeated = {};
  double effort = 1;              ///< flops of a contribution over those of a clipped gradient, for plans
  RootWork root = {};             ///< for plans
  Noise noise = Noise::gaussian;  ///< set by the plan from privacy.noise, for all queries alike
  /// A short sum that must be precise: on Lattice::finest, released by Curator::release_exact, 8 bytes a
  /// coordinate.
  bool exact = false;
  /// Every contribution is a unit vector e_j or zero (Curator::sum takes a kernel of one_hot_counts): the bound is
  /// 1, a record that is replaced moves the sum by |e_i - e_j| = sqrt(2) at most instead of 2 (a single count by
  /// 1), and integers are summed without any rounding. Only exact queries.
  bool one_hot = false;
  /// If it is below 1: Curator::sum may scale the clip down to this, and the lattice moves along by powers of two,
  /// so that its rounding stays small beside a small clip. Not for running sums, hidden runs and exact queries.
  double smallest_scale = 1;
  /// The method adds noise of its own from Curator::worker_noise: numbers of every step, drawn by each rank.
  std::uint64_t worker_noise = 0;
  /// Random numbers that every rank makes by itself in a step (directions), for plans.
  std::uint64_t worker_random_numbers = 0;
  /// Iterates stay hidden between its releases: the run is one such event, scaled by noise_multiplier and charged
  /// when it begins. The noise of a step follows the event's schedule: see Query::noise_scale.
  std::optional<HiddenState> hidden = {};
  /// What the lattice and the method's rounding add to hidden->error and hidden->drift, per unit of
  /// noise_multiplier.
  double hidden_rounding = 0;
};

/// A declared query with the values that follow from it.
struct Query : QuerySpec {
  std::uint32_t site = 0;  ///< position in the plan: addresses the noise stream
  Adjacency adjacency = Adjacency::add_remove;
  std::uint64_t records = 0;  ///< n, public
  Lattice lattice;
  double eta = 0;       ///< relative numerical slack (N4)
  double rounding = 0;  ///< the part of eta that rounding to the lattice makes, whatever the clip's scale
  /// L2, of the sum as it is computed: C (1 + eta), under replace_one twice that (one_hot: see there).
  double sensitivity = 0;
  /// noise_multiplier * sensitivity; for the discrete Gaussian rounded up to a whole number of quanta, so that its
  /// events, which state noise_multiplier, never promise more noise than there is.
  double noise_std = 0;
  std::uint64_t noise_quanta = 0;  ///< discrete Gaussian: noise_std / lattice.quantum(), at most 2^36
  /// Disjoint: each part as a query of its own, with its clip, lattice, slack, and noise: multiplier
  /// noise_multiplier
  /// * sqrt(uses). bound, lattice, eta, sensitivity and noise_std above are those of the part with the largest
  /// clip.
  std::vector<Query> parts;

  /// Derives lattice, slack, sensitivity and noise. Throws PrivacyError if eta > 1e-2, if the sampling rule has
  /// no analysis under this adjacency, or if its parts do not fit the data; ConfigError if the sum does not fit the
  /// lattice, or the noise of a running sum the root.
  static Query declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency, std::uint64_t records);

  /// Releases that are due before a step of the run.
  std::uint64_t releases_before(std::uint64_t step) const;
  /// Events of the releases first .. last-1. A record takes part in one step of every round of a cyclic
  /// rule, so a round is one Gaussian event, charged when the round begins; and in one run of a pass of running
  /// sums, so a pass is one tree event (parallel composition over its runs), charged when the pass begins. Disjoint
  /// parts are one Gaussian event in all (parallel composition; of phases with own_noise one zcdp event), charged
  /// when the run begins.
  std::vector<Event> events(std::uint64_t first, std::uint64_t last) const;
  bool is_private() const { return noise_multiplier > 0; }
  /// Ranks learn of its releases what no noise protects: states of phases, or runs that were not selected.
  bool needs_trusted_ranks() const { return is_private() && (relay || repeated); }
  /// How long a release takes follows what is secret in it.
  bool hides_times() const { return relay || repeated; }
  /// The query that release t is part of: the part's, of disjoint parts; else this one.
  const Query& at(std::uint64_t t) const;

  /// The L2 sensitivity of a sum whose contributions were clipped at scale * bound.clip, 0 < scale <= 1, over
  /// `sensitivity`: contributions and the errors of their float32 sums scale down, rounding to the lattice does
  /// not.
  double sensitivity_scale(double scale) const;
  /// The lattice of a sum at this scale: finer by the powers of two below 1 / scale if smallest_scale says so.
  Lattice lattice_at(double scale) const;
  /// The mechanism of one run of a running sum.
  Tree tree() const;
  /// The event of a hidden run.
  HiddenState hidden_state() const;
  /// Noise std at step t over noise_std: of hidden runs, the noise in the span of the directions,
  /// before_multiplier before the last `hybrid` steps, sqrt(directional^2 + isotropic^2) in them; of disjoint
  /// parts, the part's noise_std over this one. Else 1.
  double noise_scale(std::uint64_t t) const;
  /// The clip at step t before scaling.
  double clip_at(std::uint64_t t) const;
};

/// Relative slack of N4: kernel arithmetic + float32 summation + lattice rounding. docs/theory/numerics.md has the
/// proof.
double relative_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice);
/// Its part that stays as it is when kernels clip at less: lattice rounding.
double rounding_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice);

}  // namespace dpmpi
