// Box-Muller in double, written so that the compiler turns every loop into vector code and so that the bits are the
// same with any instruction set: only + - * / sqrt and integer operations, never fused (this file is compiled with
// -ffp-contract=off like all but the kernels).

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {
namespace {

// ln x = e ln 2 + ln m with m in [sqrt(1/2), sqrt(2)); ln m = 2 s + 2 s^3 p(s^2), s = (m-1)/(m+1), p the minimax
// polynomial of degree 6 (absolute error of the logarithm below 2e-18).
inline double log_series(double x) {
  constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCDULL;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t shifted = bits - sqrt_half;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 0.073082420991833015785;
  p = p * z + 0.076658594041400354306;
  p = p * z + 0.090914446046332980504;
  p = p * z + 0.11111105566821042194;
  p = p * z + 0.14285714312991274103;
  p = p * z + 0.19999999999949744459;
  p = p * z + 0.33333333333333348434;
  constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
  const auto e = static_cast<double>(exponent);
  return e * ln2_high + (2.0 * s + (2.0 * s * z * p + e * ln2_low));
}

// sin and cos on [-pi/4, pi/4]: minimax polynomials in t^2, absolute error below 1e-17.
inline double sin_series(double t) {
  const double z = t * t;
  double p = 1.5918129294866608667e-10;
  p = p * z - 2.5051131845003624417e-8;
  p = p * z + 2.7557316102552440119e-6;
  p = p * z - 1.9841269836758574323e-4;
  p = p * z + 8.3333333333309484855e-3;
  p = p * z - 0.16666666666666664624;
  return t + t * z * p;
}
inline double cos_series(double t) {
  const double z = t * t;
  double p = -1.1382632425521718005e-11;
  p = p * z + 2.0876146268403197893e-9;
  p = p * z - 2.7557317271729792882e-7;
  p = p * z + 2.4801587298765687927e-5;
  p = p * z - 1.3888888888887397237e-3;
  p = p * z + 4.1666666666666665389e-2;
  return 1.0 - 0.5 * z + z * z * p;
}

constexpr std::size_t pairs_at_once = 128;

// Within 2^-16 of an end of (0, 1) the uniform number (w + 1/2) 2^-64 is too coarse: its radii lie farther apart
// than 2^-50 in the tail, and a double next to 1 holds no more of its complement than 2^-54.
constexpr std::uint64_t near_end = std::uint64_t{1} << 48;
constexpr bool is_near_an_end(std::uint64_t w) { return w + near_end < 2 * near_end; }

// Whether there may be one among the words of these radii, as vector code: numbers near an end have radii outside
// of 0.0055 .. 4.71, and doubles above 0 are ordered like their bits.
bool any_near_an_end(std::span<const double> radii) {
  constexpr auto least = std::bit_cast<std::uint64_t>(0.0056), most = std::bit_cast<std::uint64_t>(4.7);
  std::uint64_t outside = 0;
  for (const double r : radii) {
    const auto bits = std::bit_cast<std::uint64_t>(r);
    outside |= (bits - least) | (most - bits);
  }
  return outside >> 63 != 0;
}

// -2 ln U of the 128-bit number U = (w 2^64 + finer + 1/2) 2^-128, w near an end: small U and small 1 - U are held
// to 53 bits of their own. Complements of integers are exact.
double refined_square(std::uint64_t w, std::uint64_t finer) {
  const bool near_one = w >> 63 != 0;
  if (near_one) w = ~w, finer = ~finer;
  const double u = static_cast<double>(w) * 0x1p-64 + (static_cast<double>(finer) + 0.5) * 0x1p-128;
  if (!near_one) return -2.0 * log_series(u);
  // u < 2^-16: the next term is below 2^-66.
  return 2.0 * u * (1.0 + u * (1.0 / 2 + u * (1.0 / 3 + u * (1.0 / 4))));
}

// One chunk of pairs, staged through small arrays so that each loop is plain vector code; no branch, no choice but
// by bits. `offset`: place of its words among those that `finer` is asked for.
void box_muller_chunk(const std::uint64_t* words, double* out, std::size_t pairs, std::size_t offset,
                      const FinerBits& finer) {
  alignas(64) double radius[pairs_at_once], sine[pairs_at_once], cosine[pairs_at_once];
  alignas(64) std::int64_t quarter[pairs_at_once];
  for (std::size_t i = 0; i < pairs; ++i) {
    radius[i] = (static_cast<double>(words[2 * i]) + 0.5) * 0x1p-64;
    const auto position = static_cast<std::int64_t>(words[2 * i + 1] >> 11);  // of 2^53 on the circle
    quarter[i] = (position + (std::int64_t{1} << 50)) >> 51;                  // nearest quarter turn, 0 .. 4
    cosine[i] = static_cast<double>(position - (quarter[i] << 51)) * (0x1p-51 * 1.57079632679489661923);
  }
  for (std::size_t i = 0; i < pairs; ++i) radius[i] = std::sqrt(-2.0 * log_series(radius[i]));
  if (finer && any_near_an_end(std::span(radius, pairs)))
    for (std::size_t i = 0; i < pairs; ++i)
      if (const std::uint64_t w = words[2 * i]; is_near_an_end(w))
        radius[i] = std::sqrt(refined_square(w, finer(offset + 2 * i)));
  for (std::size_t i = 0; i < pairs; ++i) {
    const double t = cosine[i];
    sine[i] = sin_series(t), cosine[i] = cos_series(t);
  }
  for (std::size_t i = 0; i < pairs; ++i) {
    // Odd quarters swap sine and cosine; the signs follow the quadrant.
    const auto k = static_cast<std::uint64_t>(quarter[i]);
    const std::uint64_t swap = std::uint64_t{0} - (k & 1);
    const auto s = std::bit_cast<std::uint64_t>(sine[i]), c = std::bit_cast<std::uint64_t>(cosine[i]);
    const std::uint64_t first = ((c & ~swap) | (s & swap)) ^ (((k + 1) & 2) << 62);
    const std::uint64_t second = ((s & ~swap) | (c & swap)) ^ ((k & 2) << 62);
    out[2 * i] = radius[i] * std::bit_cast<double>(first);
    out[2 * i + 1] = radius[i] * std::bit_cast<double>(second);
  }
}

}  // namespace

double portable_log(double x) { return log_series(x); }

void log_uniform(std::span<const std::uint64_t> words, std::span<double> out) {
  for (std::size_t i = 0; i < words.size(); ++i)
    out[i] = log_series((static_cast<double>(words[i]) + 0.5) * 0x1p-64);
}

double portable_cos_pi(double x) {
  const double quarter = std::floor(2 * x + 0.5);  // 0, 1 or 2 quarter turns
  const double t = (2 * x - quarter) * 1.57079632679489661923;
  return quarter == 0 ? cos_series(t) : quarter == 1 ? -sin_series(t) : -cos_series(t);
}

void box_muller(std::span<const std::uint64_t> words, std::span<double> out, const FinerBits& finer) {
  verify(words.size() % 2 == 0 && out.size() == words.size(), "Box-Muller works on pairs");
  for (std::size_t i = 0; i < words.size(); i += 2 * pairs_at_once) {
    const std::size_t pairs = std::min(pairs_at_once, (words.size() - i) / 2);
    box_muller_chunk(words.data() + i, out.data() + i, pairs, i, finer);
  }
}

}  // namespace dpmpi
