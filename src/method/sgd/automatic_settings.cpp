// Settings that dp-sgd finds by itself, as texts of its options.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "method/automatic.hpp"
#include "method/sgd/settings_rule.hpp"

namespace dpmpi {
namespace {

using RateSchedule = OptimizerSettings::Schedule;

struct NamedSchedule {
  std::string name;
  RateSchedule schedule;
};
const std::vector<NamedSchedule>& named_schedules() {
  static const std::vector<NamedSchedule> all{
      {"constant", RateSchedule::constant}, {"linear", RateSchedule::linear}, {"cosine", RateSchedule::cosine}};
  return all;
}

SgdSettings given_to_sgd(const GivenSetting& text_of) {
  SgdSettings given;
  if (const auto text = text_of("batch")) given.batch = std::stoll(*text);
  if (const auto text = text_of("epochs")) given.epochs = std::stod(*text);
  if (const auto text = text_of("clip")) given.clip = std::stod(*text);
  if (const auto text = text_of("rate")) given.rate = std::stod(*text);
  if (const auto text = text_of("momentum")) given.momentum = std::stod(*text);
  if (const auto text = text_of("schedule"))
    given.schedule = std::ranges::find(named_schedules(), *text, &NamedSchedule::name)->schedule;
  return given;
}

std::string why_rate(const PublicNumbers& numbers, const SettledSgd& settled) {
  if (!settled.capped) return "n times the signal, over steps, clip and length of a record";
  return numbers.network ? "as large as steps of a network may be: noise hardly matters"
                         : "as large as steps may be: noise hardly matters";
}

FoundSettings find_sgd(const PublicNumbers& numbers, const GivenSetting& given) {
  const SettledSgd all = settle_sgd(numbers, given_to_sgd(given));
  const double share = numbers.full ? 1 : std::min(1.0, static_cast<double>(all.batch) / numbers.records);
  const std::string schedule = std::ranges::find(named_schedules(), all.schedule, &NamedSchedule::schedule)->name;
  return {
      {{"batch", fmt::format("{}", all.batch),
        fmt::format("{:.2g} of the records a step: {:.0f} % of the budget's signal is left", share,
                    std::floor(100 * all.efficiency))},
       {"epochs", fmt::format("{}", all.epochs), fmt::format("{:.0f} steps", all.steps)},
       {"clip", fmt::format("{}", all.clip),
        fmt::format("{} the length of a record, {:.3g}", numbers.network ? "a tenth of" : "half", numbers.size)},
       {"rate", fmt::format("{}", all.rate), why_rate(numbers, all)},
       {"momentum", fmt::format("{}", all.momentum), "signal and noise would grow alike"},
       {"schedule", schedule, "the last steps are small, so their noise is"}},
      noise_over_signal(numbers, all.signal)};
}

const AutomaticRegistration of_dp_sgd{
    {.name = "dp-sgd",
     .keys = {"batch", "epochs", "clip", "rate", "momentum", "schedule"},
     .needed = {{"method.optimizer", {"sgd"}, "method.optimizer = sgd"},
                {"method.sampling", {"poisson", "full"}, "method.sampling = poisson or full"},
                {"method.steps", {"0"}, "method.epochs in place of method.steps"},
                {"method.final_rate", {"0"}, "method.final_rate = 0"},
                {"method.clip_quantile", {"0"}, "method.clip_quantile = 0: rates are per clip where it moves"}},
     .networks = true,
     .find = find_sgd}};

}  // namespace
}  // namespace dpmpi
