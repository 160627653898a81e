#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/kinds/fit.hpp"

namespace dpmpi {

bool Phases::takes(const SamplingRule& rule) {
  const auto* disjoint = std::get_if<Disjoint>(&rule);
  return disjoint &&
         std::ranges::all_of(disjoint->parts, [](const Disjoint::Part& part) { return part.uses == 1; });
}

// The vector that a phase hands over is rounded to the lattice under either neighbour, by half a quantum in each
// coordinate.
void Phases::declare(Query& q) const {
  verify(range > 0, "the range of what a phase hands over");
  if (own_noise)
    verify(own_noise->output_share > 0 && own_noise->output_share < 1 && own_noise->total_variation >= 0 &&
               own_noise->total_variation < 1,
           "shares of the budget of phases with noise of their own");
  q.exact = true;
  q.seen_by_ranks = "the state of a phase";
  q.cost.sums = sums, q.cost.sequential_passes = sequential_passes;
  q.lattice = fit_lattice(q, range, 1, "method.radius");
  q.eta = q.rounding = std::sqrt(static_cast<double>(q.dim)) * q.lattice.quantum() / q.bound.clip;
  q.largest_term = range;
  if (q.eta > largest_eta && q.is_private())
    throw PrivacyError(fmt::format(
        "query {}: vectors of coordinates up to {:.3g} with noise of deviation {:.3g} do not fit integers that are "
        "fine enough for a sensitivity of {:.3g}: lower method.radius, method.phases or privacy.noise_multiplier = {:.3g}",
        q.name, range, likely_noise(q), q.bound.clip, q.noise_multiplier));
}

Events Phases::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  if (!own_noise) return events_of_sums(q, first, last);
  const double rho = 1 / (2 * q.noise_multiplier * q.noise_multiplier * own_noise->output_share);
  return events_of_rounds(Zcdp{rho, own_noise->total_variation}, q.steps, first, last);
}

std::vector<std::string> Phases::describe(const Query& q) {
  const Query &first = q.parts.front(), &last = q.parts.back();
  return {fmt::format("results of phases, first to last: sensitivity {:.4g} to {:.4g},", first.sensitivity,
                      last.sensitivity),
          fmt::format("noise std {:.4g} to {:.4g} per coordinate", first.noise_std, last.noise_std)};
}

}  // namespace dpmpi
