#pragma once
// The discrete Gaussian N_Z(0, sigma^2) of Canonne, Kamath and Steinke (2020): P(y) is proportional to
// exp(-y^2 / (2 sigma^2)) on the integers. Drawn exactly: every decision compares a uniform real number, whose
// binary digits are read as far as they are needed, with a bound that is rational or is enclosed by rationals.
// Integers only; no floating-point number takes part.

#include <cstdint>

#include "core/numbers/random.hpp"

namespace dpmpi {

/// Draws from N_Z(0, sigma^2), sigma a whole number. Holds no secret and no state.
///
/// Rejection sampling on |y| = k sigma + j (Karney 2016): k is proposed with probability weight(k) / 2^16, j is
/// uniform on 0..sigma-1, the sign is a fair coin, and y is kept with probability
/// (weight(0) / weight(k)) exp(-y^2 / (2 sigma^2)), the pair (-, 0) never; so every y is kept in proportion to
/// exp(-y^2 / (2 sigma^2)). That probability is at most 1 because weight(k) >= weight(0) exp(-k^2 / 2). 71 % of the
/// proposals are kept. Nearly always 32 digits of the uniform number and a table of exp(-(y / sigma)^2 / 2) at both
/// ends of the interval of length 2^-10 around y / sigma decide; otherwise (once in 700 draws) below_exp() does, at
/// a hundred times the cost. So the time of a draw depends on its value (docs/theory/noise.md says who can see it).
class DiscreteGaussianSampler {
 public:
  static constexpr std::uint64_t largest_sigma = std::uint64_t{1} << 40;

  /// sigma in 1..largest_sigma.
  explicit DiscreteGaussianSampler(std::uint64_t sigma);

  /// One draw, from as many words as it takes: 2.8 on average. |draw| < 2^20 sigma, which is enforced: BugError
  /// with probability below 2^(-2^19).
  std::int64_t operator()(SecretReader& bits) const;

 private:
  std::uint64_t sigma_;
  std::uint64_t unfair_;               // 2^64 mod sigma: products with a smaller lower half would bias j
  const std::uint32_t* exponentials_;  // shared by all samplers
};

__extension__ using Uint128 = unsigned __int128;

/// Whether U < (a / b) exp(-p / q), where U in [0, 1) has the binary digits `first` (32 of them) followed by the
/// words of `bits`. Exact: reads further words until a rational enclosure of the right-hand side decides; a second
/// one with probability below 2^-60. a, b, q > 0. (By reference: clang before 18 and g++ pass such values otherwise
/// where registers run out, and their objects are linked with one another.)
bool below_exp(std::uint32_t first, std::uint64_t a, std::uint64_t b, const Uint128& p, const Uint128& q,
               SecretReader& bits);

}  // namespace dpmpi
