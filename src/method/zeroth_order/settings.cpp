#include "method/zeroth_order/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

void validate_start(const std::vector<std::string>& start, std::vector<std::string>& problems) {
  for (const auto& text : start) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(std::abs(value) <= std::numeric_limits<float>::max()))
      problems.push_back(fmt::format("method.start: '{}' is not a number that float32 holds", text));
  }
}

void check_start(const std::vector<std::string>& start, const Objective& objective) {
  if (start.size() > objective.dim())
    throw ConfigError(
        fmt::format("method.start has {} numbers, the objective {} parameters", start.size(), objective.dim()));
}

void ZoSettings::declare(Options& options) {
  options.add("inner", inner, "steps T of an epoch", Range::closed(1, 0x1p31))
      .add("outer", outer, "epochs K of a pass over the data (0: as many as the data gives)", Range::at_least(0))
      .add("passes", passes, "passes over the data; each costs the whole budget of one", Range::closed(1, 0x1p31))
      .add("radius", radius, "smoothing radius delta", Range::closed(1e-20, 1e20))
      .add("step_radius", step_radius, "largest step D of the learner (0: delta / T)", Range::closed(0, 1e20))
      .add_words("step", fixed_step, "learner's step size: D / (root of the sum of squared releases), or constant",
                 {{"adaptive", false}, {"fixed", true}})
      .add("rate", rate, "step size eta of step = fixed (0: D / (G sqrt(T)), G from the bound)",
           Range::closed(0, 1e20))
      .add_words(
          "output", output,
          "which epoch's mean is the model: of a public uniform draw, of the smallest mean release, or the last",
          {{"uniform", OnlineToNonconvex::Output::uniform},
           {"stationarity", OnlineToNonconvex::Output::stationarity},
           {"last", OnlineToNonconvex::Output::last}})
      .add("lipschitz", lipschitz,
           "L: losses change by L |x - y| at most (a public guess is enough: estimates are clipped)",
           Range::closed(1e-20, 1e20))
      .add("gap", gap, "F*: guess of the loss at the start less the least (bound and method.auto only)",
           Range::closed(1e-20, 1e20))
      .add("start", start, "first coordinates of the start point (empty: the objective's)")
      .add("seed", seed, "public seed of start point, shuffle, directions, segments and output",
           Range::at_least(0));
}

void ZoSettings::validate(std::vector<std::string>& problems) const {
  validate_start(start, problems);
  if (!fixed_step && rate > 0) problems.emplace_back("method.rate belongs to step = fixed");
}

void ZoSettings::check(const Objective& objective, std::uint64_t T, std::uint64_t K) const {
  if (objective.saddle())
    throw ConfigError(
        "this objective is a min-max problem, which this method does not solve; use dp-sgda or private-diff");
  objective.refuse_copies("methods of losses alone");
  check_start(start, objective);
  if (const double steps = real(T) * real(K) * real(whole(passes)); steps >= 0x1p32)
    throw ConfigError(fmt::format(
        "{} steps of {} passes of {} epochs are {:.4g} steps, allowed: less than 2^32, for the streams "
        "of public random numbers count them in 32 bits; make method.passes or outer smaller, or the batches larger",
        T, passes, K, steps));
}

AlignedVector<float> ZoSettings::start_point(const Objective& objective) const {
  AlignedVector<float> x(objective.dim(), 0.0f);
  objective.initialise(PublicStream(whole(seed), "start point"), x);
  verify(start.size() <= x.size(), "check() has counted the numbers of method.start");
  for (std::size_t j = 0; j < start.size(); ++j) x[j] = std::strtof(start[j].c_str(), nullptr);
  return x;
}

OnlineToNonconvex::Settings ZoSettings::loop(std::uint64_t T, std::uint64_t K, double G) const {
  const double D = step_radius_for(T);
  const double eta = rate > 0 ? rate : D / (G * std::sqrt(static_cast<double>(T)));
  return {.inner = T,
          .outer = K,
          .step_radius = D,
          .rate = fixed_step ? eta : 0,
          .seed = whole(seed),
          .output = output};
}

void add_regularizer(const Objective& objective, std::span<const double> x, std::span<double> g) {
  if (objective.l2 == 0) return;
  for (const auto& group : objective.groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j) g[j] += objective.l2 * x[j];
  }
}

}  // namespace dpmpi
