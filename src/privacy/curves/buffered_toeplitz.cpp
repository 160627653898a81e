#include "privacy/curves/buffered_toeplitz.hpp"

#include <algorithm>
#include <bit>

#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

// r^n, 1 + r + ... + r^(n-1), and the sum of these for 1..n, by doubling n: sums of positive terms alone.
template <class T>
struct Geometric {
  T power = 1, sum = 0, sum_of_sums = 0;

  Geometric(T r, std::uint64_t n) {
    T m = 0;
    for (int bit = static_cast<int>(std::bit_width(n)); bit-- > 0;) {
      if (m > 0) {
        sum_of_sums += m * sum + power * sum_of_sums;
        sum *= 1 + power;
        power *= power;
        m *= 2;
      }
      if ((n >> bit & 1) == 0) continue;
      sum += power;
      sum_of_sums += sum;
      power *= r;
      m += 1;
    }
  }
};

// Between two participations every buffer shrinks geometrically, so that the rows there have closed sums.
template <class T>
T norm(const Buffers& buffers, std::uint64_t n, std::uint64_t participations, std::uint64_t separation) {
  const std::size_t count = buffers.count;
  std::array<T, Buffers::most> held{};  // what the buffers hold: the next row is sum_i weight_i held_i
  T total = 0;
  for (std::uint64_t begin = 0, k = 0; k < participations && begin < n; ++k, begin += separation) {
    const std::uint64_t rest = n - begin, rows = k + 1 < participations ? std::min(separation, rest) : rest;
    T first = 1;
    for (std::size_t i = 0; i < count; ++i) first += static_cast<T>(buffers.weight[i]) * held[i];
    total += first * first;
    for (std::size_t i = 0; i < count; ++i) held[i] = held[i] * static_cast<T>(buffers.decay[i]) + 1;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t l = 0; l <= i; ++l) {
        const T both = static_cast<T>(buffers.weight[i]) * held[i] * static_cast<T>(buffers.weight[l]) * held[l];
        const T r = static_cast<T>(buffers.decay[i]) * static_cast<T>(buffers.decay[l]);
        total += (l < i ? 2 : 1) * both * Geometric<T>(r, rows - 1).sum;
      }
    for (std::size_t i = 0; i < count; ++i)
      held[i] *= Geometric<T>(static_cast<T>(buffers.decay[i]), rows - 1).power;
  }
  return total;
}

}  // namespace

long double buffered_norm(const Buffers& buffers, std::uint64_t n, std::uint64_t participations,
                          std::uint64_t separation) {
  return norm<Real>(buffers, n, participations, separation) * (1 + 0x1p-41L);
}

double buffered_norm_nearly(const Buffers& buffers, std::uint64_t n, std::uint64_t participations,
                            std::uint64_t separation) {
  return norm<double>(buffers, n, participations, separation);
}

// With y = 1/x the function is y prod_i (y - decay_i) / ((y - 1) prod_i (y - root_i)) for the roots of
// f(y) = 1 + sum_i weight_i / (y - decay_i). f falls between its poles, from infinity to minus infinity: one root
// below each decay and above the next one, the last above -1, where f is positive. Roots and decays alternate, so
// the residues are positive. All is kept as the distance from 1, which is where they crowd.
PrefixWeights::PrefixWeights(const Buffers& buffers) : count_(buffers.count + 1) {
  const auto pole = [&](std::size_t i) { return 1 - buffers.decay[i]; };
  for (std::size_t i = 0; i < buffers.count; ++i) {
    double low = pole(i), high = i + 1 < buffers.count ? pole(i + 1) : 2;
    for (double middle = 0; middle = low + (high - low) / 2, low < middle && middle < high;) {
      double f = 1;
      for (std::size_t l = 0; l < buffers.count; ++l) f += buffers.weight[l] / (pole(l) - middle);
      (f < 0 ? low : high) = middle;
    }
    distance_[i + 1] = high;
  }
  for (std::size_t m = 0; m < count_; ++m) {
    share_[m] = 1;
    for (std::size_t i = 0; i < buffers.count; ++i) share_[m] *= pole(i) - distance_[m];
    for (std::size_t l = 0; l < count_; ++l)
      if (l != m) share_[m] /= distance_[l] - distance_[m];
  }
}

double PrefixWeights::variance(std::uint64_t t) const {
  double sum = 0;
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t l = 0; l <= i; ++l)
      sum += (l < i ? 2 : 1) * share_[i] * share_[l] *
             Geometric<double>((1 - distance_[i]) * (1 - distance_[l]), t).sum;
  return sum;
}

double PrefixWeights::mean_variance(std::uint64_t n) const {
  double sum = 0;
  for (std::size_t i = 0; i < count_; ++i)
    for (std::size_t l = 0; l <= i; ++l)
      sum += (l < i ? 2 : 1) * share_[i] * share_[l] *
             Geometric<double>((1 - distance_[i]) * (1 - distance_[l]), n).sum_of_sums;
  return sum / static_cast<double>(n);
}

// A buffer's share of the next weight is a sum that a new term joins and the oldest leaves.
std::vector<double> banded_prefix_weights(const Buffers& buffers, std::uint64_t band, std::uint64_t t) {
  std::array<double, Buffers::most> held{}, oldest{};  // oldest: decay^(band - 1)
  oldest.fill(1);
  for (std::uint64_t j = 1; j < band; ++j)
    for (std::size_t i = 0; i < buffers.count; ++i) oldest[i] *= buffers.decay[i];
  std::vector<double> g;
  g.reserve(t);
  for (std::uint64_t s = 0; s < t; ++s) {
    double next = 1;
    for (std::size_t i = 0; i < buffers.count; ++i) {
      if (s > 0) held[i] = buffers.decay[i] * held[i] + g[s - 1];
      if (s >= band) held[i] -= oldest[i] * g[s - band];
      next -= buffers.weight[i] * held[i];
    }
    g.push_back(next);
  }
  return g;
}

}  // namespace dpmpi
