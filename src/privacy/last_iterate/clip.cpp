// Clips and lattices: what must be small, or have a small probability, for the coupling to be what the proof says.
//
// How improbable it is that a clip below the Lipschitz constant is ever active: |u . g| <= L |U^T e| for a unit
// vector e, and |U^T e|^2 has a Beta law for a frame that is drawn after the points are known.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <boost/math/special_functions/beta.hpp>

#include "core/errors.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {

namespace {

// The projection that a clip looks at: one direction or all.
struct Projection {
  double directions, dimension, error, uses;

  Projection(bool joint, double K, double d, double each, double evaluations)
      : directions(joint ? K : 1),
        dimension(d),
        error(joint ? std::sqrt(K) * each : each),
        uses(2 * evaluations * (joint ? 1 : K)) {}  // at both coupled points
  double a() const { return directions / 2; }
  double b() const { return (dimension - directions) / 2; }
};

constexpr double beyond_beta = 1 + 1e-9;  // of the library's incomplete beta functions and their inverses

void check_arguments(double lipschitz, double error, std::uint64_t directions, std::uint64_t dimension,
                     double evaluations) {
  verify(lipschitz > 0 && error >= 0 && evaluations > 0, "L > 0, an error >= 0 and evaluations");
  verify(directions >= 1 && directions <= dimension, "1 <= K <= d");
}

}  // namespace

double high_probability_clip(double failure, bool joint, double lipschitz, double error, std::uint64_t directions,
                             std::uint64_t dimension, double evaluations) {
  check_arguments(lipschitz, error, directions, dimension, evaluations);
  verify(failure > 0 && failure < 1, "a failure probability in (0, 1)");
  const Projection p(joint, static_cast<double>(directions), static_cast<double>(dimension), error, evaluations);
  const double certain = lipschitz + p.error;
  if (p.b() == 0) return certain;
  const double tail = boost::math::ibetac_inv(p.a(), p.b(), failure / p.uses / (beyond_beta * beyond_beta));
  return std::min(certain, (lipschitz * std::sqrt(tail) + p.error) * beyond_beta);
}

double dither_share(double quantum, double isotropic_std) {
  const double share = 4 * quantum / isotropic_std;
  if (!(quantum > 0 && share <= 0x1p-10))
    throw PrivacyError(
        fmt::format("the lattice of the noised scalars (quantum {:.3g} in the update) is too coarse for the "
                    "isotropic noise ({:.3g}): "
                    "hidden-state bound unavailable",
                    quantum, isotropic_std));
  return share;
}

}  // namespace dpmpi
