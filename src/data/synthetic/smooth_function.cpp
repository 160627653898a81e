#include "data/synthetic/smooth_function.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/aligned.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/waves.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t terms = 2048;
constexpr double deviation = 0.05;
constexpr double inverse_pi = 0.318309886183790671538;

/// Frequencies over pi, term after term. The lengths of the weak features grow with their number, so that all of
/// them together do not matter more in a wide record.
std::vector<double> frequencies(std::uint64_t seed, std::size_t features) {
  std::vector<double> all(round_up(terms * features, 2));
  PublicStream(seed, "generate frequencies").normals(0, all);
  const std::size_t strong = std::min<std::size_t>(5, (features + 2) / 3);
  const double weak_length = std::sqrt(3.6 * static_cast<double>(features - strong));
  for (std::size_t k = 0; k < terms * features; ++k)
    all[k] *= k % features < strong ? inverse_pi : inverse_pi / weak_length;
  return all;
}

}  // namespace

void add_smooth_function(std::uint64_t seed, std::uint64_t first, std::uint64_t count, RecordsBuilder& out) {
  const std::size_t d = out.features();
  const std::vector<double> frequency = frequencies(seed, d);
  const PublicStream phase(seed, "generate phases");
  std::vector<double> start(terms), x(d), noise(2);
  for (std::size_t m = 0; m < terms; ++m) start[m] = 2 * phase.uniform(m);
  for (std::uint64_t i = first; i < first + count; ++i) {
    const PublicStream uniform(seed, "generate record", i);
    for (std::size_t j = 0; j < d; ++j) {
      out.dense_row()[j] = static_cast<float>(2 * uniform.uniform(j) - 1);
      x[j] = static_cast<double>(out.dense_row()[j]);
    }
    double sum = 0;
    for (std::size_t m = 0; m < terms; ++m) {
      double turn = start[m];
      for (std::size_t j = 0; j < d; ++j) turn += frequency[m * d + j] * x[j];
      sum += cos_pi(turn);
    }
    PublicStream(seed, "generate noise", i).normals(0, noise);
    out.finish_row(static_cast<float>(sum * std::sqrt(2 / static_cast<double>(terms)) + deviation * noise[0]));
  }
}

}  // namespace dpmpi
