#pragma once
// What the root keeps of a running sum from release to release, and how a leaf joins it.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/files/archive.hpp"
#include "core/numbers/lattice.hpp"
#include "core/numbers/random.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {

/// The noise of a leaf whose contributions were clipped at `clip_scale` of the query's clip (as in Curator::sum),
/// over query.noise_std: less than 1 of adaptive queries alone.
double leaf_noise_scale(const Query& query, std::uint64_t step, double clip_scale);

class RunningRelease {
 public:
  /// Allocates once. `query` must outlive this.
  explicit RunningRelease(const Query& query);

  /// Turns the exact sum of the leaf at `step` into what is released there, but for the parts of other ranks.
  /// `clip_scale` as in Curator::sum. Throws BugError if leaves do not come in order.
  void add_leaf(LatticeAccumulator& sum, SecretStream& noise, std::uint64_t step, double clip_scale);
  /// What was released, on the lattice.
  void keep(std::span<const std::int64_t> released);

  void archive(Archive& archive);
  /// The state before `step` of a run that was archived there. The same draws again: the noise of a run is a
  /// function of the key and the steps.
  void replay(SecretStream& noise, std::uint64_t step);

 private:
  std::span<const double> next_noise(SecretStream& noise, std::uint64_t step, double leaf_scale);

  const Query& query_;
  std::uint64_t leaves_;
  std::optional<PrefixNoise> prefix_;                   // of private queries
  std::vector<std::int64_t> newest_, noise_in_newest_;  // on the lattice
  std::vector<double> leaf_scales_;                     // of the present run, to go on with
};

}  // namespace dpmpi
