#pragma once
// How a method that releases running sums correlates the noise of its steps: the options, and which strategy leaves
// least noise in a run.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/method.hpp"
#include "privacy/curator/kinds.hpp"

namespace dpmpi {

/// The running sums of a run, all public.
struct SumsOfRun {
  std::uint64_t leaves = 1;  ///< of a sum that starts anew
  std::uint64_t sums = 1;    ///< of a pass
  std::uint64_t passes = 1;
  std::size_t dim = 1;
};

struct CorrelatedNoiseSettings {
  enum class Choice {
    fenwick,
    full_honaker,
    sqrt_toeplitz,
    banded,
    blt,
    normalized_blt,
    banded_blt,
    lambda,
    identity,
    automatic
  };
  enum class Participation { restart, continue_, automatic };

  Choice strategy = Choice::full_honaker;
  Participation participation = Participation::restart;
  std::int64_t band = 64, buffers = 4;
  double lambda = 0;

  void declare(Options& options);
  /// Of methods whose sums may go on over several passes.
  void declare_participation(Options& options);

  /// The kind of query. Throws ConfigError if the choice does not fit the run or the memory.
  RunningSum settled(const SumsOfRun& run) const;
  /// Every strategy, with these settings, in this run; those that do not fit the memory have an infinite error.
  std::vector<NoiseAlternative> alternatives(const SumsOfRun& run) const;

 private:
  RunningSum rule(Choice choice, std::uint64_t passes, const SumsOfRun& run) const;
  std::vector<std::uint64_t> lengths(Choice choice, const SumsOfRun& run) const;
};

/// One run of the rule, with a noise multiplier of 1.
Tree tree_of(const RunningSum& rule, std::uint64_t leaves_of_pass);

/// Root mean square, over the steps, of the noise in the sum of all gradients so far: every sum that ended has left
/// the noise of its last prefix. In units of the clip over the run's mu.
double noise_of_run(const RunningSum& rule, const SumsOfRun& run);

}  // namespace dpmpi
