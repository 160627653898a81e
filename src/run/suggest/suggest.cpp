#include "run/suggest/suggest.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/load/held_out.hpp"
#include "data/load/load.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "run/config/automatic.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {
namespace {

using RateSchedule = OptimizerSettings::Schedule;

struct NamedSchedule {
  std::string name;
  RateSchedule schedule;
};
const std::vector<NamedSchedule>& schedules() {
  static const std::vector<NamedSchedule> all{
      {"constant", RateSchedule::constant}, {"linear", RateSchedule::linear}, {"cosine", RateSchedule::cosine}};
  return all;
}

std::string name_of(RateSchedule schedule) {
  return std::ranges::find(schedules(), schedule, &NamedSchedule::schedule)->name;
}

// Nothing, if the training data cannot be looked at. Collective.
std::optional<DatasetFacts> seen(const Communicator& comm, const RunConfig& config) {
  try {
    DatasetFacts data = inspect(comm, config.find_files().training);
    parts_of(config.data.test_share, data);
    return data;
  } catch (const Error&) {  // on all ranks alike
    return {};
  }
}

}  // namespace

double budget_of(const RunConfig& config, const DatasetFacts& data, double factor) {
  const double delta = delta_of(config, data);
  const bool has_epsilon = config.is_private() && config.privacy.epsilon > 0;
  return has_epsilon ? gdp_mu(factor * config.privacy.epsilon, delta) : std::numeric_limits<double>::infinity();
}

SuggestionFacts suggestion_facts(const RunConfig& config, const DatasetFacts& data) {
  SuggestionFacts facts;
  facts.size = feature_size(config.data, data);
  const double twice = config.privacy.which() == Adjacency::replace_one ? 2 : 1;
  facts.sgd = {.records = static_cast<double>(data.records),
               .size = facts.size.length,
               .sensitivity = twice * static_cast<double>(data.slots_of_unit),
               .labels = config.objective->label_kind(),
               .mu = budget_of(config, data),
               .noise_multiplier = config.is_private() ? config.privacy.noise_multiplier : 0,
               .full = config.value("method.sampling") == "full"};
  return facts;
}

// A setting that nobody gave has its default, and stays, too.
SgdSettings fixed_settings(const RunConfig& config, const std::vector<std::string>& open) {
  SgdSettings fixed;
  const auto text_of = [&](const char* name) -> std::optional<std::string> {
    return std::ranges::find(open, name) == open.end() ? std::optional(config.value(name)) : std::nullopt;
  };
  if (const auto text = text_of("method.batch")) fixed.batch = std::stoll(*text);
  if (const auto text = text_of("method.epochs")) fixed.epochs = std::stod(*text);
  if (const auto text = text_of("method.clip")) fixed.clip = std::stod(*text);
  if (const auto text = text_of("method.rate")) fixed.rate = std::stod(*text);
  if (const auto text = text_of("method.momentum")) fixed.momentum = std::stod(*text);
  if (const auto text = text_of("method.schedule"))
    fixed.schedule = std::ranges::find(schedules(), *text, &NamedSchedule::name)->schedule;
  return fixed;
}

std::vector<std::pair<std::string, std::string>> texts_of(const SettledSgd& settled) {
  return {{"method.batch", fmt::format("{}", settled.batch)},
          {"method.epochs", fmt::format("{}", settled.epochs)},
          {"method.clip", fmt::format("{}", settled.clip)},
          {"method.rate", fmt::format("{}", settled.rate)},
          {"method.momentum", fmt::format("{}", settled.momentum)},
          {"method.schedule", name_of(settled.schedule)}};
}

void settle(const Communicator& comm, std::unique_ptr<RunConfig>& config, std::vector<std::string>& overrides) {
  if (config->automatic().empty()) return;
  const std::vector<std::string> open = config->automatic();
  const auto data = seen(comm, *config);
  if (!data) return;
  const SuggestionFacts facts = suggestion_facts(*config, *data);
  std::vector<std::string> found;
  for (const auto& [name, text] : texts_of(settle_sgd(facts.sgd, fixed_settings(*config, open))))
    if (std::ranges::find(open, name) != open.end()) found.push_back(fmt::format("{}={}", name, text));
  if (comm.is_root()) print_at(LogLevel::info, "auto: {}\n", fmt::join(found, " "));
  overrides.insert(overrides.end(), found.begin(), found.end());
  config = std::make_unique<RunConfig>(config->path(), overrides);
}

}  // namespace dpmpi
