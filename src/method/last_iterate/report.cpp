// What plans and certificates say about a run of zo-hidden.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "method/last_iterate/setup.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {

double LastIterateSetup::dither(const Query& query) const {
  const double s2 = h() / real(batch) * query.noise_std / along() * across(steps - 1);
  if (!event || !(s2 > 0)) return 0;
  return dither_share(h() / real(batch) * query.lattice.quantum() * length, s2);
}

Derived LastIterateSetup::report_quantities(const Query& query) const {
  const double z = query.noise_multiplier / along(), b = real(batch);
  const double s = h() * query.sensitivity / b, energy = z * s * std::sqrt(K);  // eta sigma
  Derived all{{"n", real(records)},
              {"b", b},
              {"d", d},
              {"K", K},
              {"T", real(steps)},
              {"eta", eta},
              {"h", h()},
              {"xi", xi},
              {"C", clip},
              {"S2", query.sensitivity},
              {"z", z},
              {"sigma", energy / eta},
              {"s", s},
              {"f", f},
              {"N", real(N)},
              {"s1", energy * std::sqrt(f / K)},
              {"s2", N > 0 ? energy * std::sqrt((1 - f) / d) : 0},
              {"omega", omega}};
  if (std::isfinite(R)) all.emplace_back("R", R);
  if (smoothness && std::isfinite(R)) {
    all.emplace_back("M", smoothness->M);
    all.emplace_back("lower", smoothness->lower);
    all.emplace_back("L", smoothness->L);
    all.emplace_back("constants", smoothness->provenance);
  }
  if (!event) return all;
  const HiddenState run = query.as<LastIterateRun>()->event(query);
  all.emplace_back("c", run.contraction);
  all.emplace_back("zeta", run.retention);
  all.emplace_back("c2", run.error * s);
  if (const double kept = dither(query); kept > 0) all.emplace_back("kappa", kept);
  return all;
}

std::vector<std::string> LastIterateSetup::assumptions() const {
  if (!event) return {};
  std::vector<std::string> all{
      fmt::format(
          "every record's loss has an M-Lipschitz gradient (M = {:.6g}), Hessians of at least {:.6g} and is "
          "L-Lipschitz (L = {:.6g}) on the ball of radius R + xi = {:.6g}: {}",
          smoothness->M, smoothness->lower, smoothness->L, R + xi, smoothness->provenance),
      "the start point and all settings were fixed without looking at the records",
      "directions are Haar frames, drawn under a key that was made after the data was fixed",
      "nobody outside of the job sees an iterate, a difference, a checkpoint or the key before the release"};
  if (event->failure > 0)
    all.push_back(
        fmt::format("no clip acts, except with probability {:.3g}, which is part of delta", event->failure));
  else
    all.emplace_back("no clip can act: the clip is at least the largest difference");
  return all;
}

}  // namespace dpmpi
