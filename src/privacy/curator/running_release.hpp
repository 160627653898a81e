#pragma once
// What is kept of a running sum from release to release, and how a leaf joins it: the newest release at the root,
// the noise of a slice of coordinates at every rank that draws noise. Decoders work on each coordinate by itself.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/files/archive.hpp"
#include "core/numbers/lattice.hpp"
#include "core/numbers/random.hpp"
#include "privacy/curator/noise_slice.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {

/// The noise of a leaf whose contributions were clipped at `clip_scale` of the query's clip (as in Curator::sum),
/// over query.noise_std: less than 1 of adaptive queries alone.
double leaf_noise_scale(const Query& query, std::uint64_t step, double clip_scale);

class RunningRelease {
 public:
  /// Of the noise of these coordinates; the rank that releases also has the newest release, of all coordinates.
  /// Allocates once. `query` must outlive this.
  RunningRelease(const Query& query, const Slice& slice, bool releases);

  /// Turns this rank's sum of the leaf at `step` into its part of what is released there.
  /// `clip_scale` as in Curator::sum. Throws BugError if leaves do not come in order.
  void add_leaf(LatticeAccumulator& sum, SecretStream& noise, std::uint64_t step, double clip_scale);
  /// What was released, on the lattice.
  void keep(std::span<const std::int64_t> released);

  void archive(Archive& archive);
  /// Of the run that was archived: what replay needs on every rank that draws noise. Public values.
  std::vector<double>& leaf_scales() { return leaf_scales_; }
  /// The state before `step` of a run that was archived there. The same draws again: the noise of a run is a
  /// function of the key and the steps.
  void replay(SecretStream& noise, std::uint64_t step);

 private:
  std::span<const double> next_noise(SecretStream& noise, std::uint64_t step, double leaf_scale);

  const Query& query_;
  std::uint64_t leaves_;
  Slice slice_;
  bool releases_;
  std::optional<PrefixNoise> prefix_;          // of private queries
  std::vector<std::int64_t> newest_;           // on the lattice, all coordinates; empty where it is not released
  std::vector<std::int64_t> noise_in_newest_;  // of the slice
  std::vector<double> leaf_scales_;            // of the present run, to go on with
};

}  // namespace dpmpi
