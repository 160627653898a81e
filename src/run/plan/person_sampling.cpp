#include "run/plan/person_sampling.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi {
namespace {

/// The one mechanism of a plan, and how often it is used; empty if there are several.
std::optional<Event> only_event(const Plan& plan) {
  const auto all = uses(plan.events());
  if (all.size() != 1) return {};
  return Event{all.begin()->first, all.begin()->second};
}

}  // namespace

std::optional<PersonSampling> compare_person_sampling(const Plan& plan, const RunConfig& config) {
  const auto records = static_cast<std::uint64_t>(config.data.person_records);
  if (!config.data.by_person() || records < 2 || records > PoissonGaussianGroup::most_records) return {};
  // Under replace_one too little is known of groups for a fair comparison.
  if (!std::isfinite(plan.epsilon()) || plan.adjacency == Adjacency::replace_one) return {};
  const std::optional<Event> event = only_event(plan);
  if (!event) return {};
  const auto needed = [&](const Mechanism& other) {
    const auto events = [&](double noise_multiplier) {
      Event tried{other, event->count};
      verify(assign(tried, "noise_multiplier", noise_multiplier), "sums have a noise multiplier");
      return std::vector<Event>{tried};
    };
    return calibrate_noise(events, {plan.epsilon(), plan.delta(), plan.adjacency}, config.privacy.accountant).value;
  };
  const auto k = static_cast<double>(records);
  try {
    if (const auto* m = std::get_if<PoissonGaussian>(&event->mechanism); m && m->sampling_rate < 1)
      return PersonSampling{records,
                            needed(PoissonGaussianGroup{m->sampling_rate, 1, records}) / (k * m->noise_multiplier)};
    if (const auto* m = std::get_if<PoissonGaussianGroup>(&event->mechanism); m && m->sampling_rate < 1)
      return PersonSampling{records, m->noise_multiplier / (k * needed(PoissonGaussian{m->sampling_rate, 1}))};
  } catch (const PrivacyError&) {  // no noise keeps this promise the other way
  }
  return {};
}

}  // namespace dpmpi
