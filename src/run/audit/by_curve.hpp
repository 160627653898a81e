#pragma once
// What the guesses of the one-run game say of the promised curve as a whole: how much more noise than there is
// could not explain them. Private to the audit.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "privacy/promise/curve_bounds.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

/// What an attacker made of some independent runs with `canaries` coins each, one run after the other.
struct CanaryRuns {
  std::size_t canaries = 0;
  std::span<const double> evidence = {};
  std::span<const char> second = {};
  std::size_t count() const { return evidence.size() / canaries; }
};

/// A curve: delta at epsilon = log(odds), for odds >= 1.
using CurveAt = std::function<double(double odds)>;

/// A test of curves. All that it does is fixed before the game, for a mechanism about as leaky as this Gaussian
/// one. Many runs are bet on one after the other; few are one run of which tails are bounded. Local.
class CurveTest {
 public:
  CurveTest(std::size_t runs, std::size_t canaries, double mu, std::uint64_t seed);
  /// Happens with probability `error` at most where the curve holds for every coin.
  bool refutes(const CurveAt& curve, const CanaryRuns& runs, double error) const;

 private:
  std::optional<Bet> bet_;  // none: few runs
};

/// The plan's curve with its noise times `noise` is refuted; `epsilon`: what it would promise at the plan's delta.
struct RefutedNoise {
  double noise = 1, epsilon = 0;
};
/// The least noise that is refuted, to 2 %, down to a quarter of the plan's; none: not even 64 times as much is.
/// All that it says is wrong with probability `error` at most. Local; a few times the cost of accounting.
std::optional<RefutedNoise> refuted_noise(const Plan& plan, const CanaryRuns& runs, std::uint64_t seed,
                                          double error);

}  // namespace dpmpi
