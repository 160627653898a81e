#pragma once
// A query: one kind of release that a method repeats, in most cases a clipped sum over a sampled batch with
// Gaussian noise. It is declared in the plan with everything that its privacy rests on; the curator runs what was
// declared and nothing else.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/numbers/lattice.hpp"
#include "data/records/sampling.hpp"
#include "data/records/unit.hpp"
#include "objective/objective.hpp"
#include "privacy/curator/kinds.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// The law of the noise, per coordinate.
enum class Noise {
  gaussian,           ///< N(0, std^2) drawn in double precision and rounded to the lattice
  discrete_gaussian,  ///< the exact discrete Gaussian on the lattice (Canonne, Kamath and Steinke 2020)
};
std::string_view name(Noise noise);                       ///< as in configurations: "gaussian", "discrete_gaussian"
std::optional<Noise> parse_noise(std::string_view text);  ///< empty if it is neither

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

using QueryKind = std::variant<Sum, ExactSum, RunningSum, Phases, BestOfRuns, LastIterateRun>;

/// What a method says about a query, whatever its kind.
struct QuerySpec {
  std::string name;     ///< for plans and ledgers, e.g. "gradient"
  std::size_t dim = 0;  ///< coordinates of what is released
  SamplingRule sampling = {};
  L2Bound bound = {};           ///< per unit
  NumericSlack slack = {};      ///< of the kernel that will be summed
  double noise_multiplier = 0;  ///< noise std over the sensitivity; 0: released without noise (not private)
  std::uint64_t steps = 0;      ///< releases 0 .. steps-1 of the run; by default one in each of its steps
  Schedule schedule = {};       ///< when they are due
  QueryKind kind = Sum{};
  double effort = 1;              ///< flops of a contribution over those of a clipped gradient, for plans
  RootWork root = {};             ///< for plans
  Noise noise = Noise::gaussian;  ///< set by the plan from privacy.noise, for all queries alike
  /// What the slots of the data hold, likewise. Of persons, `bound` is the clip of a person's contribution: the
  /// mean of those of the records (person_sum.hpp).
  Unit unit = Unit::record;
  /// Slots that may belong to one unit of the promise, likewise: events are those of a group of so many.
  std::uint64_t slots_of_unit = 1;
  /// The method adds noise of its own from Curator::worker_noise: numbers of every step, drawn by each rank.
  std::uint64_t worker_noise = 0;
  /// Random numbers that every rank makes by itself in a step (directions), for plans.
  std::uint64_t worker_random_numbers = 0;

  /// The kind, or null if it is another.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&kind);
  }
};

/// What a run of BestOfRuns trains: the releases of the whole training, each as often as it says.
struct RunCandidate {
  std::string name;  ///< for people: its settings
  std::vector<QuerySpec> queries;
};

/// A declared query with the values that follow from it.
struct Query : QuerySpec {
  std::uint32_t query_index = 0;  ///< in the plan: addresses the noise stream
  Adjacency adjacency = Adjacency::add_remove;
  std::uint64_t records = 0;  ///< n, public
  double change = 1;          ///< |a record's contribution less that of its replacement|, over the bound, at most
  bool exact = false;         ///< released to the last bit, 8 bytes a coordinate: Curator::release_exact
  Lattice lattice;
  double eta = 0;           ///< relative numerical slack (N4)
  double rounding = 0;      ///< the part of eta that rounding to the lattice makes, whatever the clip's scale
  double largest_term = 0;  ///< of a sum, slack included
  /// L2, of what gets noise as it is computed: change * C (1 + eta).
  double sensitivity = 0;
  /// noise_multiplier * sensitivity; for the discrete Gaussian rounded up to a whole number of quanta, so that its
  /// events, which state noise_multiplier, never promise more noise than there is.
  double noise_std = 0;
  std::uint64_t noise_quanta = 0;  ///< discrete Gaussian: noise_std / lattice.quantum(), at most 2^36
  ReleaseCost cost;
  Shift shift;
  double drawing_error = 0;  ///< total variation from its law of what is drawn beside noise, in the whole run
  /// What ranks learn of its releases that no noise protects, and that steers how long they take; empty: nothing.
  std::string_view seen_by_ranks;
  /// Disjoint: each part as a query of its own, with its clip, lattice, slack, and noise: multiplier
  /// noise_multiplier * sqrt(uses). bound, lattice, eta, sensitivity and noise_std above are those of the part with
  /// the largest clip.
  std::vector<Query> parts;
  /// BestOfRuns: the queries of each candidate. Null: it has none.
  std::shared_ptr<const std::vector<std::vector<Query>>> trainings;

  /// Derives lattice, slack, sensitivity and noise. Throws PrivacyError if eta > 1e-2, if the sampling rule has
  /// no analysis under this adjacency, or if its parts do not fit the data; ConfigError if the sum does not fit the
  /// lattice, or the noise of a running sum the root; BugError for a kind of query that does not take the rule.
  static Query declare(const QuerySpec& spec, std::uint32_t query_index, Adjacency adjacency,
                       std::uint64_t records);

  /// For accounting, which needs neither lattice nor slack: the query as if it had been declared with the noise
  /// multipliers of `spec`, the same but for them.
  void assume_noise(const QuerySpec& spec);

  /// Releases that are due before a step of the run.
  std::uint64_t releases_before(std::uint64_t step) const;
  /// Events of the releases first .. last-1.
  Events events(std::uint64_t first, std::uint64_t last) const;
  /// What is released and with how much noise, in lines for people.
  std::vector<std::string> describe() const;
  bool is_private() const { return noise_multiplier > 0; }
  bool needs_trusted_ranks() const { return is_private() && hides_times(); }
  /// How long a release takes follows what is secret in it.
  bool hides_times() const { return !seen_by_ranks.empty(); }
  /// The query that release t is part of: the part's, of disjoint parts; else this one.
  const Query& at(std::uint64_t t) const;

  /// The L2 sensitivity of a sum whose contributions were clipped at scale * bound.clip, 0 < scale <= 1, over
  /// `sensitivity`: contributions and the errors of their float32 sums scale down, rounding to the lattice does
  /// not.
  double sensitivity_scale(double scale) const;
  double smallest_scale() const { return as<Sum>() ? as<Sum>()->smallest_scale : 1; }  ///< Sum::smallest_scale
  /// Sum::votes or RunningSum::votes: 0 if there are none.
  double votes() const;
  /// The lattice of a sum at this scale: finer by the powers of two below 1 / scale if smallest_scale says so.
  Lattice lattice_at(double scale) const;
  /// Noise std at step t over noise_std: of disjoint parts, the part's; LastIterateRun::noise_scale. Else 1.
  double noise_scale(std::uint64_t t) const;
  /// The clip at step t before scaling.
  double clip_at(std::uint64_t t) const;
};

/// Events of all releases of these queries.
Events events_of_all(const std::vector<Query>& queries);

/// Relative slack of N4: kernel arithmetic + float32 summation + lattice rounding. docs/theory/numerics.md has the
/// proof.
double relative_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice,
                      Unit unit = Unit::record);
/// Its part that stays as it is when kernels clip at less: lattice rounding.
double rounding_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice,
                      Unit unit = Unit::record);

}  // namespace dpmpi
