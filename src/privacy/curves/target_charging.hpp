#pragma once
// Sequences of private tests that stop at the c-th hit pay for their hits alone: "target charging" (Cohen and Lyu
// 2023). And what a mechanism may promise that is only close to a private one. Proofs:
// docs/theory/heavy_tailed_phases.md.

#include <cstdint>

namespace dpmpi {

/// Tests, each epsilon-DP given the past, that are stopped at the `hits`-th hit are a composition of at most N
/// epsilon-DP mechanisms, except with probability failure: the smallest N with Pr[Bin(N, q) < hits] <= failure,
/// q = 1 / (1 + e^epsilon). hits in [1, 2^32], epsilon in (0, 30], failure in (0, 1); throws PrivacyError
/// otherwise.
std::uint64_t charged_tests(std::uint64_t hits, double epsilon, double failure);

/// N tests of one epsilon; together N epsilon^2 / 2-zCDP except with probability `failure`.
struct ChargedTests {
  std::uint64_t tests = 0;
  double epsilon = 0;
};
/// The largest epsilon that `rho` pays for: the smallest N with charged_tests(hits, epsilon, failure) <= N for
/// epsilon = sqrt(2 rho / N).
ChargedTests charge_tests(std::uint64_t hits, double rho, double failure);

/// delta + (1 + e^epsilon) distance: of a mechanism whose output law is, for every dataset, within `distance` in
/// total variation of one that is (epsilon, delta)-DP. Not above 1.
double swapped_delta(double delta, double epsilon, double distance);

}  // namespace dpmpi
