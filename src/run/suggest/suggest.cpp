#include "run/suggest/suggest.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "data/load/held_out.hpp"
#include "data/load/load.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "run/config/automatic.hpp"
#include "run/plan/plan.hpp"
#include "run/suggest/feature_size.hpp"

namespace dpmpi {
namespace {

// Nothing, if the training data cannot be looked at. Collective.
std::optional<PublicNumbers> seen(const Communicator& comm, const RunConfig& config) {
  try {
    DatasetFacts data = inspect(comm, config.find_files().training);
    parts_of(config.data.test_share, data);
    return public_numbers(config, data, *make_objective(config, data));
  } catch (const Error&) {  // on all ranks alike
    return {};
  }
}

/// Of a linear model nothing is better than the origin to start at; a network would stay there.
bool is_network(const Objective& objective) {
  std::vector<float> w(objective.dim());
  objective.initialise(PublicStream(1, "start point"), w);
  return std::ranges::any_of(w, [](float x) { return x != 0; });
}

}  // namespace

double budget_of(const RunConfig& config, const DatasetFacts& data, double factor) {
  const double delta = delta_of(config, data);
  const bool has_epsilon = config.is_private() && config.privacy.epsilon > 0;
  return has_epsilon ? gdp_mu(factor * config.privacy.epsilon, delta) : std::numeric_limits<double>::infinity();
}

PublicNumbers public_numbers(const RunConfig& config, const DatasetFacts& data, const Objective& objective) {
  const double twice = config.privacy.which() == Adjacency::replace_one ? 2 : 1;
  return {.records = static_cast<double>(data.records),
          .size = feature_size(config.data, data).length,
          .sensitivity = twice * static_cast<double>(data.slots_of_unit),
          .labels = config.objective->label_kind(),
          .mu = budget_of(config, data),
          .noise_multiplier = config.is_private() ? config.privacy.noise_multiplier : 0,
          .full = config.value("method.sampling") == "full",
          .parameters = static_cast<double>(objective.dim()),
          .network = is_network(objective)};
}

FoundSettings found_settings(const RunConfig& config, const PublicNumbers& numbers,
                             const std::vector<std::string>& open) {
  // A setting that nobody gave has its default, and stays, too.
  const auto given = [&](const std::string& key) -> std::optional<std::string> {
    const std::string name = "method." + key;
    return std::ranges::find(open, name) == open.end() ? std::optional(config.value(name)) : std::nullopt;
  };
  return automatic_rule(config.method_name)->find(numbers, given);
}

void settle(const Communicator& comm, std::unique_ptr<RunConfig>& config, std::vector<std::string>& overrides) {
  if (config->automatic().empty()) return;
  const std::vector<std::string> open = config->automatic();
  const auto numbers = seen(comm, *config);
  if (!numbers) return;
  std::vector<std::string> found;
  for (const auto& [key, text, why] : found_settings(*config, *numbers, open).all)
    if (std::ranges::find(open, "method." + key) != open.end())
      found.push_back(fmt::format("method.{}={}", key, text));
  if (comm.is_root()) print_at(LogLevel::info, "auto: {}\n", fmt::join(found, " "));
  overrides.insert(overrides.end(), found.begin(), found.end());
  config = std::make_unique<RunConfig>(config->path(), overrides);
}

}  // namespace dpmpi
