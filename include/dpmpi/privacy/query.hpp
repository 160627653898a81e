#pragma once
// A query: one kind of release that a method repeats, a clipped sum over a sampled batch with Gaussian noise. It is
// declared in the plan with everything that its privacy rests on; the curator runs what was declared and nothing
// else.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dpmpi/core/lattice.hpp"
#include "dpmpi/data/sampling.hpp"
#include "dpmpi/objective/objective.hpp"
#include "dpmpi/privacy/event.hpp"

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

/// What a method says about a query.
struct QuerySpec {
  std::string name;     ///< for plans and ledgers, e.g. "gradient"
  std::size_t dim = 0;  ///< coordinates of the sum
  SamplingRule sampling = {};
  L2Bound bound = {};           ///< per record
  NumericSlack slack = {};      ///< of the kernel that will be summed
  double noise_multiplier = 0;  ///< noise std over the sensitivity; 0: released without noise (not private)
  std::uint64_t steps = 0;      ///< released at steps 0 .. steps-1, once each
  std::optional<RunningSum> running = {};
  double effort = 1;              ///< flops of a contribution over those of a clipped gradient, for plans
  Noise noise = Noise::gaussian;  ///< set by the plan from privacy.noise, for all queries alike
};

/// A declared query with the values that follow from it.
struct Query : QuerySpec {
  std::uint32_t site = 0;  ///< position in the plan: addresses the noise stream
  Adjacency adjacency = Adjacency::add_remove;
  std::uint64_t records = 0;  ///< n, public
  Lattice lattice;
  double eta = 0;          ///< relative numerical slack (N4)
  double sensitivity = 0;  ///< L2, of the sum as it is computed: C (1 + eta), twice that under replace_one
  /// noise_multiplier * sensitivity; for the discrete Gaussian rounded up to a whole number of quanta, so that its
  /// events, which state noise_multiplier, never promise more noise than there is.
  double noise_std = 0;
  std::uint64_t noise_quanta = 0;  ///< discrete Gaussian: noise_std / lattice.quantum(), at most 2^36

  /// Derives lattice, slack, sensitivity and noise. Throws PrivacyError if eta > 1e-2, or if the sampling rule has
  /// no analysis under this adjacency; ConfigError if the sum does not fit the lattice,
  /// or the noise of a running sum the root.
  static Query declare(const QuerySpec& spec, std::uint32_t site, Adjacency adjacency, std::uint64_t records);

  /// Events of the releases at steps first .. last-1. A record takes part in one step of every round of a cyclic
  /// rule, so a round is one Gaussian event, charged when the round begins; and in one run of a pass of running
  /// sums, so a pass is one tree event (parallel composition over its runs), charged when the pass begins.
  std::vector<Event> events(std::uint64_t first, std::uint64_t last) const;
  bool is_private() const { return noise_multiplier > 0; }

  /// The L2 sensitivity of a sum whose contributions were clipped at scale * bound.clip, 0 < scale <= 1, over
  /// `sensitivity`: clipping scales down, rounding does not.
  double sensitivity_scale(double scale) const { return (scale + eta) / (1 + eta); }
  /// The mechanism of one run of a running sum.
  Tree tree() const;
  /// The clip at step t before scaling.
  double clip_at(std::uint64_t t) const;
};

/// Relative slack of N4: kernel arithmetic + float32 summation + lattice rounding. docs/privacy.md has the proof.
double relative_slack(const NumericSlack& slack, std::size_t dim, double clip, Lattice lattice);

}  // namespace dpmpi
