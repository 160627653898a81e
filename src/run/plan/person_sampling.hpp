#pragma once
// Which way of sampling persons has less noise: data.person_sampling.

#include <cstdint>
#include <optional>

#include "run/plan/plan.hpp"

namespace dpmpi {

/// The noise on the mean of a step's gradients if records were drawn one by one, over that if persons were, for the
/// plan's promise and as many gradients in a step, where everybody has `records` records. With m on average it is
/// `records` / m times as large. Charles et al. 2024 (arXiv:2407.07737) compare the two in this way.
struct PersonSampling {
  std::uint64_t records = 0;
  double noise_ratio = 0;
};
/// Empty if the plan is not for persons whose number of records is bounded, under replace_one, or if its releases
/// are no noised sums of Poisson samples. Local; costs a search for the noise.
std::optional<PersonSampling> compare_person_sampling(const Plan& plan, const RunConfig& config);

}  // namespace dpmpi
