#pragma once
// What a mechanism did to the records, in the words that accounting needs and no others (JSON lines, public
// interface).
//
// `noise_multiplier` is always noise standard deviation over the L2 sensitivity *under the adjacency of the file*:
// a clipped sum of radius C has sensitivity C under add_remove and 2C under replace_one, so the same noise has half
// the multiplier there.

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/records/unit.hpp"

namespace dpmpi {

/// Which datasets are neighbours. Never compare epsilons across the two.
enum class Adjacency {
  add_remove,   ///< one record's slot is filled in one dataset and empty in the other; normalisers are public
                ///< constants
  replace_one,  ///< one record's values differ; n is the same
};
std::string_view name(Adjacency adjacency);                       ///< "add_remove" or "replace_one"
std::optional<Adjacency> parse_adjacency(std::string_view text);  ///< empty if it is neither

/// "adding or removing one record", and so on: what makes neighbours.
std::string change_between_neighbours(Adjacency adjacency, Unit unit);

/// Gaussian noise on a query of all records.
struct Gaussian {
  double noise_multiplier = 0;  ///< > 0, finite
  auto operator<=>(const Gaussian&) const = default;
};
/// Gaussian noise on a query of a Poisson sample: every record independently with probability `sampling_rate`.
struct PoissonGaussian {
  double sampling_rate = 0;  ///< in (0, 1]
  double noise_multiplier = 0;
  auto operator<=>(const PoissonGaussian&) const = default;
};
/// The same where up to `records` records belong to one unit of the promise, each drawn by itself; the multiplier
/// is that for one record.
struct PoissonGaussianGroup {
  double sampling_rate = 0;
  double noise_multiplier = 0;
  std::uint64_t records = 1;  ///< 1..most_records
  auto operator<=>(const PoissonGaussianGroup&) const = default;

  static constexpr std::uint64_t most_records = 1024;
};
/// Sums over time with banded noise, on samples that are drawn group by group (Choquette-Choo et al. 2023,
/// arXiv:2306.08153). Every record is in one of `groups` groups, which depend on no record's values. Step t draws
/// from group t mod groups, every record of it independently with probability `sampling_rate`. Row t of a
/// lower-triangular strategy sees the steps t - band + 1 to t, and what is released are the rows, each with noise.
/// `count` of the event is the number of such runs.
struct CyclicPoissonGaussian {
  std::uint64_t steps = 0;      ///< >= 1
  std::uint64_t groups = 1;     ///< >= 1
  std::uint64_t band = 1;       ///< 1..groups: a row sees one step of a group at most
  double sampling_rate = 0;     ///< in (0, 1]
  double noise_multiplier = 0;  ///< noise std of a row, over a step's L2 sensitivity times the longest column
  auto operator<=>(const CyclicPoissonGaussian&) const = default;

  /// How often a run draws from a record's group, at most.
  std::uint64_t rounds() const { return steps / groups + (steps % groups == 0 ? 0 : 1); }
  /// What one of them tells of the record (docs/theory/cyclic_samples.md).
  PoissonGaussian round() const { return {sampling_rate, noise_multiplier}; }
};
/// Gaussian noise on each of the `steps` sums of an epoch, of which every record takes part in `selected`: they are
/// drawn uniformly and secretly, for each record independently of the others (Feldman and Shenfeld 2025,
/// arXiv:2502.08202). With selected = 1: balls in bins. `count` of the event is the number of epochs.
struct RandomAllocationGaussian {
  std::uint64_t steps = 0;      ///< >= 1
  std::uint64_t selected = 1;   ///< 1..steps
  double noise_multiplier = 0;  ///< noise std of a step's sum over its L2 sensitivity
  auto operator<=>(const RandomAllocationGaussian&) const = default;

  /// In so many releases a record takes part.
  std::uint64_t rounds() const { return selected; }
};
/// Gaussian noise on a query of a uniform sample of exactly `batch` among `population` records, without
/// replacement.
struct WorGaussian {
  std::uint64_t population = 0;  ///< >= 1
  std::uint64_t batch = 0;       ///< 1..population
  double noise_multiplier = 0;
  auto operator<=>(const WorGaussian&) const = default;
};
/// The same three with the exact discrete Gaussian on the integer lattice of the query (Canonne, Kamath and Steinke
/// 2020). Bounds of the continuous Gaussian hold for its Renyi divergence, not for its privacy loss distribution.
struct DiscreteGaussian {
  double noise_multiplier = 0;
  auto operator<=>(const DiscreteGaussian&) const = default;
};
struct PoissonDiscreteGaussian {
  double sampling_rate = 0;
  double noise_multiplier = 0;
  auto operator<=>(const PoissonDiscreteGaussian&) const = default;
};
struct WorDiscreteGaussian {
  std::uint64_t population = 0;
  std::uint64_t batch = 0;
  double noise_multiplier = 0;
  auto operator<=>(const WorDiscreteGaussian&) const = default;
};
/// Laplace noise on a query of all records, and of a Poisson sample.
struct Laplace {
  double scale = 0;  ///< of the noise, over the L1 sensitivity; > 0, finite
  auto operator<=>(const Laplace&) const = default;
};
struct PoissonLaplace {
  double sampling_rate = 0;  ///< in (0, 1]
  double scale = 0;
  auto operator<=>(const PoissonLaplace&) const = default;
};

/// How the noise of running sums over the leaves 1..T is correlated: the rows of a strategy matrix are the noised
/// queries.
enum class Strategy {
  fenwick,          ///< node b sums the leaves (b - lowbit(b), b]
  full,             ///< all complete nodes of the binary tree
  full_honaker,     ///< the same nodes, prefixes by Honaker's (2015) variance-optimal estimate
  sqrt_toeplitz,    ///< the square root of the prefix-sum matrix (Henzinger et al. 2022, Fichtenberger et al. 2023)
  banded,           ///< its first `band` diagonals
  explicit_matrix,  ///< a lower-triangular matrix written out; "explicit" in files
  blt,              ///< buffered linear Toeplitz (Dvijotham et al. 2024): Buffers
  normalized_blt,   ///< its columns over their norms: up to 2^20 leaves
  banded_blt,       ///< its first `band` diagonals
};
/// Whether rows see the last `band` leaves alone.
inline bool is_banded(Strategy strategy) {
  return strategy == Strategy::banded || strategy == Strategy::banded_blt;
}
/// Whether Buffers say the coefficients.
inline bool has_buffers(Strategy strategy) {
  return strategy == Strategy::blt || strategy == Strategy::normalized_blt || strategy == Strategy::banded_blt;
}
std::string_view name(Strategy strategy);
/// The lower triangular Toeplitz matrix of c_0 = 1, c_j = sum_i weight_i decay_i^(j-1). Its inverse needs `count`
/// rows of memory. Without buffers it is the identity, whose leaves get independent noise; one buffer with both
/// numbers equal to lambda subtracts lambda times the draw of the step before.
struct Buffers {
  static constexpr std::size_t most = 8;
  static constexpr double largest_decay = 1 - 0x1p-20;
  std::size_t count = 0;
  std::array<double, most> decay{};   ///< strictly falling, in (0, largest_decay]
  std::array<double, most> weight{};  ///< > 0, the sum below 1: coefficients never rise
  auto operator<=>(const Buffers&) const = default;
};
/// One run of a tree or matrix mechanism in which a record is part of at most one leaf, or of `participations`
/// leaves that are at least `separation` apart; adaptive queries. `count` of the event (in files: "restarts") is
/// the number of runs, each with fresh noise, that a record takes part in.
struct Tree {
  Strategy strategy = Strategy::fenwick;
  std::uint64_t leaves = 0;          ///< T, 1..2^40 (explicit: up to 2048)
  double noise_multiplier = 0;       ///< noise std of a node over the L2 sensitivity of a leaf
  std::uint64_t band = 0;            ///< banded and banded_blt only: 1..leaves
  double first_leaf = 1;             ///< sensitivity of leaf 1 over that of the others; > 0, finite
  std::vector<double> matrix{};      ///< explicit only: the lower triangle row by row, T (T + 1) / 2 finite numbers
  std::uint64_t participations = 1;  ///< more than 1 for Toeplitz matrices alone (sqrt_toeplitz, banded, blt)
  std::uint64_t separation = 0;      ///< of several participations: 1..leaves
  Buffers buffers{};                 ///< blt, normalized_blt, banded_blt
  auto operator<=>(const Tree&) const = default;
};

/// A run of projected zeroth-order steps of which only some iterates are released, and the frames (Chien, Chen and
/// Li 2025, arXiv:2506.00158; docs/theory/last_iterate.md has the theorem that is used):
///   w' = Pi_R[retention w - h U ybar + noise],  U a fresh Haar frame of K directions, ybar the mean of the clipped
///   differences, noise = s1 U g1 + s2 g2.
/// Lengths are in units of s, the distance by which one record can move one step; so all multipliers scale with the
/// noise and nothing else does. `count` of the event is the number of such runs.
struct HiddenState {
  std::uint64_t steps = 0;            ///< T >= 1
  std::uint64_t hybrid = 0;           ///< the last 0..T steps have isotropic noise, those before have s2 = 0
  double before_multiplier = 0;       ///< if hybrid < T: s1 / s of the steps before; > 0
  double directional_multiplier = 0;  ///< if hybrid > 0: s1 / s; >= 0
  double isotropic_multiplier = 0;    ///< if hybrid > 0: s2 / s; > 0
  double noise_multiplier = 1;        ///< scales the three
  double diameter = 0;                ///< 2 R / s; > 0, finite
  double drift = 0;  ///< by how much one step can part two runs with the same noise on neighbours, over s; > 0
  /// c, Lipschitz constant of w - (h / retention) grad of the mean loss of any batch; >= 0
  double contraction = 0;
  double retention = 1;  ///< zeta in (0, 1]: 1 - omega with the analytic regulariser
  double error = 0;      ///< c2 / s: what finite differences and rounding add to the distance in one step; >= 0
  std::uint64_t directions = 0;  ///< K, 1..dimension
  std::uint64_t dimension = 0;   ///< d
  std::uint64_t population = 0;  ///< n
  std::uint64_t batch = 0;  ///< 1..n; fewer than n in one part: a fresh secret sample without replacement each step
  std::uint64_t parts = 1;  ///< of a partition that does not depend on records; step t uses part t mod parts
  bool reshuffled = false;  ///< the partition is drawn anew for every pass
  double failure = 0;       ///< probability in [0, 1) that some clip of the run was active
  std::vector<std::uint64_t> releases{};  ///< ascending, the last is T: after so many steps; empty: after T only
  auto operator<=>(const HiddenState&) const = default;

  bool sampled() const { return parts == 1 && batch < population; }  ///< without replacement
};

/// Mechanisms known only by the guarantee that a proof gives them.
struct Zcdp {
  double rho = 0;  ///< rho-zCDP (Bun and Steinke 2016); > 0, finite
  /// In [0, 1): for every pair of neighbours the mechanism's two laws are within this, in total variation, of two
  /// laws with that bound on their divergence.
  double total_variation = 0;
  auto operator<=>(const Zcdp&) const = default;
};
struct Gdp {
  double mu = 0;  ///< mu-GDP (Dong, Roth and Su 2022); > 0, finite
  auto operator<=>(const Gdp&) const = default;
};
/// The exponential mechanism (or report-noisy-max with Gumbel noise): epsilon-DP with the privacy loss in an
/// interval of length epsilon (bounded range, Durfee and Rogers 2019). Not report-noisy-max with exponential noise
/// (permute-and-flip), whose losses can spread over more: approx_dp with delta 0.
struct Exponential {
  double epsilon = 0;  ///< > 0, finite
  auto operator<=>(const Exponential&) const = default;
};
/// (epsilon, delta)-DP by a theorem; the line's member "theorem" names it.
struct ApproxDp {
  double epsilon = 0;  ///< >= 0, finite
  double delta = 0;    ///< in [0, 1)
  auto operator<=>(const ApproxDp&) const = default;
};

/// How often a mechanism is repeated where only the best of its outputs is released (docs/theory/selection.md).
enum class Repetitions {
  truncated_negative_binomial,  ///< P(k) in proportion to (1-gamma)^k binom(k+shape-1, k), k = 1, 2, ...
  poisson                       ///< k = 0, 1, ...; nothing is released if it is 0
};
std::string_view name(Repetitions distribution);
struct RepetitionLaw {
  Repetitions distribution = Repetitions::truncated_negative_binomial;
  double shape = 1;    ///< truncated_negative_binomial: > -1, finite; 1: geometric, 0: logarithmic
  double gamma = 0.5;  ///< truncated_negative_binomial: in (0, 1)
  double mean = 1;     ///< poisson: > 0, finite
  auto operator<=>(const RepetitionLaw&) const = default;
};
struct Event;
/// The best of a secret number of runs, each with fresh noise and with further coins that do not depend on records,
/// by a total order on outputs; how many there were and the other outputs stay secret.
struct RepeatAndSelect {
  RepetitionLaw law{};
  /// What every run is: 1 to 4096 events, none of which selects. In files `run`, or just the noise_multiplier of
  /// the one Gaussian.
  std::vector<Event> run;
  std::partial_ordering operator<=>(const RepeatAndSelect& other) const;
  bool operator==(const RepeatAndSelect& other) const;
};

/// A release without any guarantee (seeded noise, unsafe diagnostics, noise switched off): epsilon is infinite.
struct NonPrivate {
  auto operator<=>(const NonPrivate&) const = default;
};

/// One mechanism. Ordered, so that it can be the key of a map of counts.
using Mechanism =
    std::variant<Gaussian, PoissonGaussian, PoissonGaussianGroup, CyclicPoissonGaussian, RandomAllocationGaussian,
                 WorGaussian, DiscreteGaussian, PoissonDiscreteGaussian, WorDiscreteGaussian, Laplace,
                 PoissonLaplace, Tree, HiddenState, Zcdp, Gdp, Exponential, ApproxDp, RepeatAndSelect, NonPrivate>;

/// Its name in files: "gaussian", "poisson_gaussian", ...
std::string_view name(const Mechanism& mechanism);

/// `count` adaptive uses of one mechanism, each with fresh noise and a fresh sample.
struct Event {
  Mechanism mechanism;
  std::uint64_t count = 1;
  auto operator<=>(const Event&) const = default;
};
/// Uses of every mechanism, in a fixed order.
std::map<Mechanism, std::uint64_t> uses(const std::vector<Event>& events);
/// True if both lists hold the same mechanisms equally often, in whatever order and grouping.
bool same_events(const std::vector<Event>& a, const std::vector<Event>& b);
/// True if no guarantee of `larger` fails for `smaller`: the same mechanisms but for Poisson samples that may be
/// smaller, none of them more often. docs/theory/private_training.md, "Trainings of different cost".
bool dominated(const std::vector<Event>& smaller, const std::vector<Event>& larger);

/// Throws PrivacyError if a parameter is not finite or out of range; `where` ("ledger.jsonl:12") begins the
/// message.
void check(const Event& event, std::string_view where);

/// The event as one JSON object on one line without newline; numbers in their shortest form that reads back to the
/// same bits. `extra`: further members as JSON text without braces, e.g. `"step":3,"site":0`, put at the end.
std::string to_json(const Event& event, std::string_view extra = {});

/// The first line of a ledger or of an event list: {"ledger":1,"adjacency":"add_remove","n":60000,...}.
struct EventHeader {
  Adjacency adjacency = Adjacency::add_remove;
  std::optional<std::uint64_t> n = {};  ///< number of records or persons, a public constant
  bool seeded = false;                  ///< the noise came from a known seed: no guarantee, whatever the events
  Unit unit = Unit::record;             ///< of which neighbours differ in one, in files only if it is a person
};

/// One parsed line, and its link to the line above if it has one.
struct EventLine {
  std::variant<EventHeader, Event> content;
  std::optional<std::string> prev;  ///< value of the member "prev"
};

/// Reads one line: a header if it has the member "ledger", else an event.
/// Throws PrivacyError naming `where`, the member, its value and what is allowed: malformed JSON, a member given
/// twice, an unknown event, a missing, non-finite or out-of-range member.
/// `open` (of a template) is called with the name of every member of the object that is "?", before the others are
/// checked; it may throw, and the member is then read as 1. Without it "?" is a value like any other.
EventLine parse_event_line(std::string_view line, std::string_view where,
                           const std::function<void(const std::string&)>& open = {});

}  // namespace dpmpi
