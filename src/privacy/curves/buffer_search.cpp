#include "privacy/curves/buffer_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <boost/math/tools/minima.hpp>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/buffered_toeplitz.hpp"

namespace dpmpi {

namespace {

// Beyond these a search would take long, and the best buffers hardly change.
constexpr std::uint64_t most_searched = 32;

// Distances from 1 as products, d_i = x_i d_{i+1}, then the weights: 2 * count numbers.
using Point = std::array<double, 2 * Buffers::most>;

struct Search {
  std::size_t count;
  std::uint64_t n;
  Participations participations;
  std::uint64_t band = 0;  // 0: all diagonals

  Buffers buffers(const Point& x) const {
    Buffers found;
    found.count = count;
    double distance = 1;
    for (std::size_t i = count; i-- > 0;) {
      distance *= x[i];
      found.decay[i] = 1 - distance;
      found.weight[i] = x[count + i];
    }
    return found;
  }

  // Clear of the borders of what events allow.
  bool allowed(const Point& x) const {
    for (std::size_t i = 0; i < count; ++i)
      if (!(x[i] > 0 && x[i] < 1 - 1e-6 && x[count + i] > 0)) return false;
    double weights = 0;
    for (std::size_t i = 0; i < count; ++i) weights += x[count + i];
    return weights < 0.999 && buffers(x).decay[0] < Buffers::largest_decay;
  }

  double error(const Buffers& b) const {
    if (band > 0) return buffered_norm_nearly(b, band, 1, band) * mean_variance_of_band(b);
    return buffered_norm_nearly(b, n, participations.count, participations.separation) *
           PrefixWeights(b).mean_variance(n);
  }
  double mean_variance_of_band(const Buffers& b) const {
    const std::vector<double> g = banded_prefix_weights(b, band, n);
    double sum = 0;
    for (std::uint64_t t = 0; t < n; ++t) sum += real(n - t) * g[t] * g[t];
    return sum / real(n);
  }
  double operator()(const Point& x) const { return allowed(x) ? error(buffers(x)) : infinity; }
};

struct Vertex {
  Point at;
  double error;
};
bool better(const Vertex& a, const Vertex& b) { return a.error < b.error; }

// A simplex around `start` whose sides are `step` of its coordinates.
std::vector<Vertex> simplex_around(const Search& search, const Point& start, double step) {
  std::vector<Vertex> simplex(2 * search.count + 1, {start, search(start)});
  for (std::size_t i = 1; i < simplex.size(); ++i) {
    Vertex& v = simplex[i];
    v.at[i - 1] *= 1 + step;
    if (!search.allowed(v.at)) v.at[i - 1] = start[i - 1] * (1 - step);
    v.error = search(v.at);
  }
  return simplex;
}

// Nelder and Mead's method with coefficients for many dimensions (Gao and Han 2012).
Vertex descend(const Search& search, const Point& start, double step, int rounds) {
  std::vector<Vertex> simplex = simplex_around(search, start, step);
  const std::size_t D = simplex.size() - 1;
  const double d = static_cast<double>(D), expand = 1 + 2 / d, contract = 0.75 - 0.5 / d, shrink = 1 - 1 / d;
  for (int round = 0; round < rounds; ++round) {
    std::stable_sort(simplex.begin(), simplex.end(), better);
    Vertex& worst = simplex[D];
    const Vertex& best = simplex[0];
    if (worst.error - best.error < 1e-12 * best.error) break;
    Point centre{};
    for (std::size_t j = 0; j < D; ++j)
      for (std::size_t i = 0; i < D; ++i) centre[j] += simplex[i].at[j] / d;
    const auto along = [&](double t) {  // from the centre towards the worst
      Vertex v{};
      for (std::size_t j = 0; j < D; ++j) v.at[j] = centre[j] + t * (worst.at[j] - centre[j]);
      v.error = search(v.at);
      return v;
    };
    const Vertex mirrored = along(-1);
    if (mirrored.error < best.error) {
      const Vertex farther = along(-expand);
      worst = better(farther, mirrored) ? farther : mirrored;
    } else if (mirrored.error < simplex[D - 1].error) {
      worst = mirrored;
    } else if (const Vertex nearer = along(better(mirrored, worst) ? -contract : contract);
               nearer.error < std::min(mirrored.error, worst.error)) {
      worst = nearer;
    } else {
      for (std::size_t i = 1; i <= D; ++i) {
        for (std::size_t j = 0; j < D; ++j)
          simplex[i].at[j] = best.at[j] + shrink * (simplex[i].at[j] - best.at[j]);
        simplex[i].error = search(simplex[i].at);
      }
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(), better);
}

// Distances in a geometric sequence from `nearest` to 1/2, and weights like their roots, as the square root of the
// matrix of ones has them.
Point start_from(std::size_t count, double nearest) {
  double low = 0, high = 1;  // of the quotient of neighbours
  for (int i = 0; i < 60 && count > 1; ++i) {
    const double middle = (low + high) / 2;
    double distance = 0.5;
    for (std::size_t j = 1; j < count; ++j) distance *= middle;
    (distance < nearest ? low : high) = middle;
  }
  Point x{};
  double distance = 1, sum = 0;
  for (std::size_t i = count; i-- > 0;) {
    x[i] = i + 1 < count ? high : count > 1 ? 0.5 : nearest;
    distance *= x[i];
    sum += x[count + i] = std::sqrt(distance);
  }
  for (std::size_t i = 0; i < count; ++i) x[count + i] *= 0.5 / sum;
  return x;
}

Vertex best_of(const Search& search) {
  const double n = real(search.n), b = real(search.participations.separation);
  Vertex best{{}, infinity};
  for (const double nearest : {1 / n, 4 / n, 16 / n, 1 / b, 4 / b, 16 / b}) {
    if (search.participations.count == 1 && nearest > 4 / n) break;
    const Point start = start_from(search.count, std::clamp(nearest, 2e-6, 0.25));
    const Vertex found = descend(search, descend(search, start, 0.3, 300).at, 0.15, 300);
    if (better(found, best)) best = found;
  }
  for (const double step : {0.3, 0.15, 0.05}) best = descend(search, best.at, step, 500);
  return best;
}

Search search_for(std::size_t count, std::uint64_t n, Participations p) {
  verify(n >= 1 && p.count >= 1 && p.separation >= 1, "leaves and participations");
  if (p.count == 1) p.separation = n;
  p.count = std::min(p.count, most_searched);
  if (p.count == most_searched) n = std::min(n, p.count * p.separation);
  return {count, n, p};
}

}  // namespace

Buffers best_buffers(std::size_t most, std::uint64_t n, Participations participations) {
  verify(most >= 1 && most <= Buffers::most, "a number of buffers");
  Buffers best;
  double least = search_for(0, n, participations).error(best);
  for (std::size_t count = 1; count <= most; ++count) {
    const Search search = search_for(count, n, participations);
    const Vertex found = best_of(search);
    if (!(found.error < least * (1 - 1e-4))) break;
    best = search.buffers(found.at);
    least = found.error;
  }
  return best;
}

// From a band that hardly falls: long runs want one whose sum is large.
Buffers best_band_buffer(std::uint64_t n, std::uint64_t band) {
  verify(2 <= band && band <= n && n <= 1ULL << 20, "a band of a run");
  const Search search{1, n, {}, band};
  Point start{};
  start[0] = 0.5 / real(band);
  start[1] = 0.7;
  return search.buffers(descend(search, start, 0.3, 300).at);
}

Buffers lambda_buffer(double lambda) {
  Buffers buffers;
  buffers.count = 1;
  buffers.decay[0] = buffers.weight[0] = lambda;
  return buffers;
}

// Over the root of 1 - lambda, in which the minimum is wide; Brent's method compares, adds, multiplies and divides.
double best_lambda(std::uint64_t n, Participations participations) {
  const Search search = search_for(1, n, participations);
  const auto error = [&](double u) { return search.error(lambda_buffer(1 - u * u)); };
  const double u = boost::math::tools::brent_find_minima(error, 0x1p-9, 0.99, 26).first;
  return 1 - u * u;
}

}  // namespace dpmpi
