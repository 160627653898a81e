#include "core/numbers/discrete_gaussian.hpp"

#include <array>
#include <bit>
#include <cstddef>

#include <boost/multiprecision/cpp_int.hpp>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

using Integer = boost::multiprecision::cpp_int;

// low <= 2^bits exp(-p/q) <= high.
struct Enclosure {
  Integer low, high;
};

// exp(-p/q) = (exp(-r))^(2^halvings) with r = p / (q 2^halvings) <= 1/2, and exp(-r) by its alternating series.
// Each operation is rounded down for `low` and up for `high`, in units of 2^-work.
Enclosure exp_minus(const Integer& p, const Integer& q, unsigned bits) {
  unsigned halvings = 0;
  while ((q << halvings) < 2 * p) ++halvings;
  const unsigned work = bits + halvings + 16;
  const Integer denominator = q << halvings;
  Integer low = Integer{1} << work, high = low, least_term = low, largest_term = low;
  for (unsigned k = 1; largest_term > 1; ++k) {
    least_term = least_term * p / (denominator * k);
    largest_term = largest_term * p / (denominator * k) + 1;
    if (k % 2 == 1) {
      low -= largest_term, high -= least_term;
    } else {
      low += least_term, high += largest_term;
    }
  }
  low -= largest_term, high += largest_term;  // what is left of the series is smaller than its last term
  for (unsigned i = 0; i < halvings; ++i) {
    low = low * low >> work;
    high = (high * high >> work) + 1;
  }
  return {low >> (work - bits), (high >> (work - bits)) + 1};
}

Integer integer(Uint128 x) {
  return (Integer{static_cast<std::uint64_t>(x >> 64)} << 64) + static_cast<std::uint64_t>(x);
}

// U < (a / b) exp(-p / q)?
bool below(std::uint32_t first, const Integer& a, const Integer& b, const Integer& p, const Integer& q,
           SecretReader& bits) {
  Integer digits = first;
  for (unsigned known = 96;; known += 64) {
    digits = (digits << 64) + bits.next();
    const Enclosure exponential = exp_minus(p, q, known);
    if ((digits + 1) * b <= exponential.low * a) return true;
    if (digits * b >= exponential.high * a) return false;
  }
}

// weight(k) for k = 0..3; the last entry belongs to all k >= 4 together, which share it as 1/2, 1/4, 1/8 ...
constexpr std::array<std::uint64_t, 5> weights{37369, 22667, 5058, 416, 26};
constexpr std::uint64_t tail = 4;
constexpr std::array<std::uint64_t, 4> ends{weights[0], weights[0] + weights[1],
                                            weights[0] + weights[1] + weights[2],
                                            weights[0] + weights[1] + weights[2] + weights[3]};
static_assert(ends[3] + weights[tail] == 1 << 16);
// weight(k) >= weight(0) exp(-k^2/2), with the exponentials rounded up in the eighth decimal place. Beyond k = 4
// the right-hand side falls faster than by halves.
static_assert(weights[1] * 100'000'000 >= weights[0] * 60'653'066);
static_assert(weights[2] * 100'000'000 >= weights[0] * 13'533'529);
static_assert(weights[3] * 100'000'000 >= weights[0] * 1'110'900);
static_assert(weights[tail] * 100'000'000 >= 2 * weights[0] * 33'547);

// Entry i is x rounded down, where x = 2^32 exp(-(i / cells)^2 / 2), for i = 0 .. tail * cells; entry 0 is one
// less, so that entry <= x <= entry + 1 there too.
constexpr std::uint64_t cells = 1 << 10;

const std::uint32_t* exponentials() {
  static const auto table = [] {
    std::array<std::uint32_t, tail * cells + 1> entries{};
    entries[0] = ~std::uint32_t{0};
    for (std::uint64_t i = 1; i < entries.size(); ++i) {
      const auto x = exp_minus(Integer{i} * i, Integer{2 * cells * cells}, 64);
      entries[i] = static_cast<std::uint32_t>(x.low >> 32);
      verify(x.high <= (Integer{entries[i]} + 1) << 32, "an exponential is too close to a multiple of 2^-32");
    }
    return entries;
  }();
  return table.data();
}

// The number of zeros before the first one in a run of fair coins.
std::uint64_t geometric(SecretReader& bits) {
  std::uint64_t zeros = 0;
  for (;;) {
    const std::uint64_t word = bits.next();
    if (word != 0) return zeros + static_cast<std::uint64_t>(std::countr_zero(word));
    zeros += 64;
  }
}

}  // namespace

bool below_exp(std::uint32_t first, std::uint64_t a, std::uint64_t b, const Uint128& p, const Uint128& q,
               SecretReader& bits) {
  return below(first, a, b, integer(p), integer(q), bits);
}

DiscreteGaussianSampler::DiscreteGaussianSampler(std::uint64_t sigma)
    : sigma_(sigma), unfair_(0), exponentials_(exponentials()) {
  verify(sigma >= 1 && sigma <= largest_sigma, "the discrete Gaussian needs a deviation of 1 to 2^40 quanta");
  unfair_ = (0 - sigma) % sigma;
}

std::int64_t DiscreteGaussianSampler::operator()(SecretReader& bits) const {
  for (;;) {
    // One word: 16 bits for k, one for the sign, 32 for the first digits of U.
    const std::uint64_t word = bits.next();
    const std::uint64_t share = word & 0xffff, first = word >> 32;
    const bool negative = (word >> 16 & 1) != 0;
    std::uint64_t k =
        std::uint64_t{share >= ends[0]} + (share >= ends[1]) + (share >= ends[2]) + (share >= ends[3]);

    // The upper half of word * sigma is uniform on 0..sigma-1 once 2^64 mod sigma lower halves are left out.
    Uint128 product;
    do product = Uint128{bits.next()} * sigma_;
    while (static_cast<std::uint64_t>(product) < unfair_);
    const auto j = static_cast<std::uint64_t>(product >> 64);

    // U < (weight(0) / weight(k)) exp(-y^2 / (2 sigma^2))?
    bool keep;
    std::uint64_t y;
    if (k < tail) {
      y = k * sigma_ + j;
      const std::uint32_t* at = exponentials_ + k * cells + j * cells / sigma_;
      keep = (first + 1) * weights[k] <= weights[0] * at[1];
      if (!keep && first * weights[k] < weights[0] * (std::uint64_t{at[0]} + 1))
        keep = below(static_cast<std::uint32_t>(first), weights[0], weights[k], integer(Uint128{y} * y),
                     integer(Uint128{2} * sigma_ * sigma_), bits);
    } else {
      // The tail's weight 2^-(i+1) stands in the exponent of both sides: U weight(tail) < weight(0) 2^(i+1)
      // exp(..).
      const std::uint64_t i = geometric(bits);
      verify(i < (1 << 19), "a run of 2^19 zero bits: the keystream is broken");
      k = tail + i;
      y = k * sigma_ + j;
      keep = below(static_cast<std::uint32_t>(first), Integer{weights[0]} << (i + 1), weights[tail],
                   integer(Uint128{y} * y), integer(Uint128{2} * sigma_ * sigma_), bits);
    }
    if (keep && !(negative && y == 0))
      return negative ? -static_cast<std::int64_t>(y) : static_cast<std::int64_t>(y);
  }
}

}  // namespace dpmpi
