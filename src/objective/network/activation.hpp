#pragma once
// exp, tanh, softplus and log1p from + - * / alone: compilers turn loops over them into vector code, and without
// contraction every lane (or scalar remainder) gives the same bits. NaN stays NaN. Errors are a few units in the
// last place. They are always inlined: a call within such a loop would leave it scalar.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace dpmpi::elementary {

template <class T>
struct Format {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  static constexpr Bits one = std::bit_cast<Bits>(T{1});
  static constexpr T shift = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);  ///< adding it rounds to an integer
  static constexpr T lowest = sizeof(T) == 4 ? T(-87) : T(-708);          ///< exp of less would be subnormal
  static constexpr T log2_e = T(1.44269504088896340736);
  static constexpr T ln2_high =
      sizeof(T) == 4 ? T(0x1.62p-1) : T(0x1.62e42feep-1);  ///< few bits: n * ln2_high is exact
  static constexpr T ln2_low =
      sizeof(T) == 4 ? T(0.693147180559945309417L - 0x1.62p-1L) : T(0.693147180559945309417L - 0x1.62e42feep-1L);
  static constexpr int exp_terms = sizeof(T) == 4 ? 7 : 13;  ///< 0.35^terms / (terms + 1)! is below a rounding
  static constexpr int log_terms = sizeof(T) == 4 ? 8 : 17;  ///< 9^-terms / (2 terms + 1) is below a rounding
};

/// e^y = power * (1 + fraction) with power = 2^n, for y <= 0 (values below Format::lowest count as that).
template <class T>
struct SplitExp {
  T power, fraction;
};

template <class T>
[[gnu::always_inline]] inline SplitExp<T> split_exp(T y) {
  using F = Format<T>;
  y = y < F::lowest ? F::lowest : y;
  const T shifted = y * F::log2_e + F::shift;
  const T n = shifted - F::shift;
  const T r = (y - n * F::ln2_high) - n * F::ln2_low;
  T p = 1;  // r + r^2/2! + ... = r (1 + r/2 (1 + r/3 (...)))
#pragma GCC unroll 16
  for (int k = F::exp_terms; k > 1; --k) p = T(1) + p * (r * (T(1) / T(k)));
  using Bits = typename F::Bits;
  // The low bits of `shifted` hold n; one wrap-around shift moves them into the exponent.
  const Bits power = (std::bit_cast<Bits>(shifted) << F::mantissa) + F::one;
  return {std::bit_cast<T>(power), r * p};
}

/// e^y, y <= 0.
template <class T>
[[gnu::always_inline]] inline T exp_nonpositive(T y) {
  const SplitExp<T> e = split_exp(y);
  return e.power * e.fraction + e.power;
}

/// e^y - 1, y <= 0, to full relative accuracy near 0.
template <class T>
[[gnu::always_inline]] inline T expm1_nonpositive(T y) {
  const SplitExp<T> e = split_exp(y);
  return e.power * e.fraction + (e.power - T(1));
}

/// tanh(x) = -m / (m + 2) with m = e^(-2|x|) - 1, odd.
template <class T>
[[gnu::always_inline]] inline T tanh(T x) {
  const T m = expm1_nonpositive(T(-2) * std::fabs(x));
  return std::copysign(-m / (m + T(2)), x);
}

/// log(1 + t) = 2 artanh(t / (2 + t)), 0 <= t <= 1.
template <class T>
[[gnu::always_inline]] inline T log1p_unit(T t) {
  const T s = t / (T(2) + t);
  const T z = s * s;
  T sum = T(1) / T(2 * Format<T>::log_terms + 1);
#pragma GCC unroll 32
  for (int k = Format<T>::log_terms - 1; k >= 0; --k) sum = sum * z + T(1) / T(2 * k + 1);
  return T(2) * s * sum;
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
template <class T>
[[gnu::always_inline]] inline T softplus(T x) {
  return (x < T(0) ? T(0) : x) + log1p_unit(exp_nonpositive(-std::fabs(x)));
}

/// 1 / (1 + e^-x).
template <class T>
[[gnu::always_inline]] inline T sigmoid(T x) {
  const T e = exp_nonpositive(-std::fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

}  // namespace dpmpi::elementary
