#include "method/last_iterate/refusal.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/values/projected_differences.hpp"
#include "objective/values/smoothness.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {
namespace {

// Whether smoothness() can say anything about the loss.
bool has_known_form(const Objective& objective) { return smoothness(objective, 1, 1, 1).has_value(); }

// What composition promises for the same steps with all noise along the directions, in words.
std::string composition_text(const LastIterateSettings& settings, const PublicFacts& facts) {
  Query query;
  query.sampling = settings.rule(facts.data.records);
  query.steps = settings.T();
  query.records = facts.data.records;
  const auto events = [&](double z) {
    query.noise_multiplier = z;
    return query.events(0, query.steps);
  };
  std::string text = "set method.release = all, whose composition holds for any loss and whoever sees the iterates";
  if (facts.noise_multiplier > 0)
    return text +
           fmt::format(
               ": epsilon = {} at delta = {}",
               rounded_up(
                   epsilon_guarantee(events(facts.noise_multiplier), facts.adjacency, facts.delta, "best").epsilon),
               rounded_up(facts.delta));
  if (facts.epsilon > 0)
    return text + fmt::format(": epsilon = {} at delta = {} with noise multiplier {}", rounded_up(facts.epsilon),
                              rounded_up(facts.delta),
                              calibrate_noise(events, {facts.epsilon, facts.delta, facts.adjacency}, "best").value);
  return text;
}

}  // namespace

void refuse_hidden(const LastIterateSettings& settings, const PublicFacts& facts, std::string_view why) {
  throw PrivacyError(fmt::format("{}: hidden-state bound unavailable; {}", why, composition_text(settings, facts)));
}

std::string hidden_refusal(const LastIterateSettings& settings, const PublicFacts& facts) {
  const bool known = has_known_form(*facts.objective), linear = ProjectedDifferences::linear(*facts.objective);
  if (settings.law != DirectionLaw::stiefel)
    return fmt::format("HS-03 method.law = {} is not stiefel", settings.law_name());
  if (settings.ball == 0) return "HS-04 no projection: method.ball is not set";
  if (settings.share == 1) return "HS-05 method.share = 1 in the window: there is no noise across the directions";
  if (settings.direction_seed >= 0)
    return "HS-06 method.direction_seed was chosen in advance: records could be made to fit the directions";
  const bool declared = !settings.proved.empty();
  if (settings.feature_bound == 0 && (declared ? linear : known))
    return "HS-09 method.feature_bound is not set: the norm of records is not bounded";
  if (linear && is_quantity(facts.objective->label_kind()) && settings.label_bound == 0 && declared)
    return "HS-09 method.label_bound is not set: labels are not bounded";
  if (settings.sampling == "poisson")
    return "method.sampling = poisson: a batch may be larger than its expectation";
  if (facts.adjacency != Adjacency::replace_one) return "privacy.adjacency is not replace_one";
  if (!facts.ranks_trusted)
    return "privacy.trust = root: ranks see every iterate (privacy.trust = cluster puts them inside the boundary)";
  return {};
}

}  // namespace dpmpi
