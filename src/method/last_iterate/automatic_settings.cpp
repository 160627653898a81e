// Settings that zo-hidden finds by itself where every iterate is released: those of dp-sgd, seen through K
// directions (docs/theory/default_settings.md).
//
// A step moves by rate / d times the gradient on average, and K differences of a gradient of length g have the
// length g sqrt(K / d). So a clip of C sqrt(K / d) bounds gradients at C, and rate / d takes the place of the rate:
// the quotient of distance and noise is n mu again.

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "method/automatic.hpp"
#include "method/sgd/settings_rule.hpp"

namespace dpmpi {
namespace {

constexpr double most_directions = 64;     // a step computes and sends as many numbers
constexpr double rate_of_smoothness = 16;  // times d / M at most

struct Differences {
  double K = 1, steps = 1, clip = 1, rate = 1;
  SettledSgd gradient = {};  ///< batch and signal
  bool capped = false;
};

/// M over R^2: of the mean loss, of labels that are signs, classes or quantities.
double smoothness_of(LabelKind labels) {
  if (is_quantity(labels)) return 1;
  return labels == LabelKind::sign ? 0.25 : 0.5;
}

/// Batches for so many steps that are given, and steps for a batch.
SettledSgd batch_and_steps(const PublicNumbers& numbers, const GivenSetting& given) {
  SgdSettings of_gradient{.schedule = OptimizerSettings::Schedule::constant};
  if (const auto batch = given("batch")) of_gradient.batch = std::stoll(*batch);
  const SettledSgd found = settle_sgd(numbers, of_gradient);
  const auto steps = given("steps");
  if (!steps) return found;
  const double T = std::stod(*steps), n = numbers.records;
  if (!of_gradient.batch)
    of_gradient.batch = std::llround(std::clamp(two_digits(n * std::min(1.0, found.epochs / T)), 1.0, n));
  of_gradient.epochs = numbers.full ? T : T * static_cast<double>(*of_gradient.batch) / n;
  return settle_sgd(numbers, of_gradient);
}

Differences settle_differences(const PublicNumbers& numbers, const GivenSetting& given) {
  Differences all;
  const double d = numbers.parameters, R = numbers.size;
  const auto K = given("directions"), steps = given("steps"), clip = given("clip"), rate = given("rate");
  all.K = K ? std::stod(*K) : std::min(d, most_directions);
  all.gradient = batch_and_steps(numbers, given);
  all.steps = steps ? std::stod(*steps) : all.gradient.steps;
  const double seen = std::sqrt(std::min(1.0, all.K / d));  // of the length of a gradient
  // 0 takes the largest that a certified loss can give, or 1.
  all.clip = clip ? std::stod(*clip) : two_digits(0.5 * R * seen);
  SgdSettings of_gradient{.batch = all.gradient.batch,
                          .epochs = all.gradient.epochs,
                          .clip = (all.clip > 0 ? all.clip : 1) / seen,
                          .schedule = OptimizerSettings::Schedule::constant};
  const double by_noise = settle_sgd(numbers, of_gradient).rate;
  const double most = rate_of_smoothness / (smoothness_of(numbers.labels) * R * R);
  all.capped = !(by_noise < most);
  all.rate = rate ? std::stod(*rate) : std::max(two_digits(d * std::min(by_noise, most)), 1e-30);
  return all;
}

FoundSettings find_differences(const PublicNumbers& numbers, const GivenSetting& given) {
  const Differences all = settle_differences(numbers, given);
  const double share = numbers.full ? 1 : std::min(1.0, static_cast<double>(all.gradient.batch) / numbers.records);
  return {{{"directions", fmt::format("{:.0f}", all.K),
            fmt::format("of {:.0f} parameters: so many numbers a step", numbers.parameters)},
           {"batch", fmt::format("{}", all.gradient.batch),
            fmt::format("{:.2g} of the records a step: {:.0f} % of the budget's signal is left", share,
                        std::floor(100 * all.gradient.efficiency))},
           {"steps", fmt::format("{:.0f}", all.steps), "as many as batch and passes over the records give"},
           {"clip", fmt::format("{}", all.clip), "half the length of a record, as the directions see it"},
           {"rate", fmt::format("{}", all.rate),
            all.capped ? "sixteen times that of gradient descent: noise hardly matters"
                       : "n times the signal, over steps, clip and length of a record"}},
          noise_over_signal(numbers, all.gradient.signal)};
}

const AutomaticRegistration of_zo_hidden{
    {.name = "zo-hidden",
     .keys = {"directions", "batch", "steps", "clip", "rate"},
     .needed = {{"method.release", {"all"}, "method.release = all: hidden iterates bound the step", false},
                {"method.sampling", {"poisson", "full"}, "method.sampling = poisson or full"},
                {"method.law", {"stiefel", "sphere_iid"}, "directions of length 1"},
                {"method.clipping", {"joint"}, "method.clipping = joint"}},
     .find = find_differences}};

}  // namespace
}  // namespace dpmpi
