#include "method/amplified_band.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/buffer_search.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/promise/calibrate.hpp"

namespace dpmpi {

namespace {

using Choice = CorrelatedNoiseSettings::Choice;

constexpr std::uint64_t most_cyclic_steps = 1ULL << 20;  // that a band is searched for

struct Candidate {
  AmplifiedBand band;
  double noise = infinity;  ///< of a prefix, root mean square over the steps, over the clip
};

void refuse_what_is_not_banded(const CorrelatedNoiseSettings& settings) {
  if (settings.strategy != Choice::banded && settings.strategy != Choice::banded_blt &&
      settings.strategy != Choice::automatic)
    throw ConfigError(
        "method.sampling = cyclic_poisson is for noise whose rows see one step of a group at most, allowed: "
        "method.strategy = banded, banded_blt or auto");
}

void refuse_groups(std::uint64_t groups, const CyclicRun& run) {
  if (run.batch > run.records)
    throw ConfigError(fmt::format("method.batch = {} is larger than n = {}", run.batch, run.records));
  if (groups > run.records / run.batch)
    throw ConfigError(fmt::format(
        "method.groups = {}: a group of n = {} records is smaller than method.batch = {}, allowed: up to {} groups",
        groups, run.records, run.batch, run.records / run.batch));
  if (groups > run.steps)
    throw ConfigError(fmt::format("method.groups = {} is more than the {} steps, in which every group has its turn",
                                  groups, run.steps));
  if (run.steps > most_cyclic_steps)
    throw ConfigError(
        fmt::format("{} steps with method.sampling = cyclic_poisson, allowed: up to 2^20", run.steps));
}

RunningSum band_of(Choice choice, std::uint64_t band, std::uint64_t steps) {
  RunningSum sum;
  sum.band = band;
  sum.strategy = choice == Choice::banded || band == 1 ? Strategy::banded : Strategy::banded_blt;
  if (sum.strategy == Strategy::banded_blt) sum.buffers = best_band_buffer(steps, band);
  return sum;
}

/// Of an independent draw's deviation.
double noise_of_prefixes(const RunningSum& sum, std::uint64_t steps) {
  const Tree tree = tree_of(sum, steps);
  return std::sqrt(squared_sensitivity(tree) * mean_prefix_noise_variance(tree));
}

/// Of the strategies that the settings allow, the one of less noise: groups cost both the same.
RunningSum best_band(const CorrelatedNoiseSettings& settings, std::uint64_t groups, const CyclicRun& run) {
  const std::uint64_t band = std::min(groups, whole(settings.band));
  if (settings.strategy != Choice::automatic) return band_of(settings.strategy, band, run.steps);
  const RunningSum root = band_of(Choice::banded, band, run.steps);
  const RunningSum buffered = band_of(Choice::banded_blt, band, run.steps);
  return noise_of_prefixes(buffered, run.steps) < noise_of_prefixes(root, run.steps) ? buffered : root;
}

AmplifiedBand band_for(const CorrelatedNoiseSettings& settings, std::uint64_t groups, const CyclicRun& run) {
  const double rate = std::min(1.0, real(groups) * real(run.batch) / real(run.records));
  return {{groups, rate}, best_band(settings, groups, run)};
}

/// The multiplier that the promise asks for, by Renyi divergences, which are quick and rank alike; infinity if
/// there is none.
double multiplier(const AmplifiedBand& band, const CyclicRun& run) {
  const auto events = [&](double z) {
    return std::vector<Event>{
        {CyclicPoissonGaussian{run.steps, band.sampling.groups, band.running.band, band.sampling.rate, z}, 1}};
  };
  try {
    return calibrate_noise(events, {run.epsilon, run.delta, run.adjacency}, "rdp").value;
  } catch (const PrivacyError&) {
    return infinity;
  }
}

Candidate candidate(const CorrelatedNoiseSettings& settings, std::uint64_t groups, const CyclicRun& run) {
  Candidate found{band_for(settings, groups, run)};
  if (noise_can_be_kept(tree_of(found.band.running, run.steps), run.dim))
    found.noise = multiplier(found.band, run) * noise_of_prefixes(found.band.running, run.steps);
  return found;
}

// 1, 2, 3, 4, 6, 8, 12, ...: the least noise is wide.
std::vector<std::uint64_t> groups_tried(const CorrelatedNoiseSettings& settings, const CyclicRun& run) {
  const std::uint64_t most = std::min({whole(settings.band), run.records / run.batch, run.steps});
  std::vector<std::uint64_t> groups;
  for (std::uint64_t power = 1; power <= most; power *= 2)
    for (const std::uint64_t b : {power, power + power / 2})
      if (b <= most && (groups.empty() || b > groups.back())) groups.push_back(b);
  return groups;
}

std::vector<Candidate> candidates(const CorrelatedNoiseSettings& settings, const CyclicRun& run) {
  std::vector<Candidate> all;
  for (const std::uint64_t groups : groups_tried(settings, run)) all.push_back(candidate(settings, groups, run));
  return all;
}

std::string words(const AmplifiedBand& band) {
  return fmt::format("{}, band {}, {} group{}", name(band.running.strategy), band.running.band,
                     band.sampling.groups, band.sampling.groups == 1 ? "" : "s");
}

}  // namespace

AmplifiedBand settled_band(const CorrelatedNoiseSettings& settings, std::uint64_t groups, const CyclicRun& run) {
  refuse_what_is_not_banded(settings);
  refuse_groups(groups, run);
  if (groups == 0 && !run.is_private) groups = 1;  // nothing to hide
  if (groups > 0) return band_for(settings, groups, run);
  if (run.epsilon == 0)
    throw ConfigError(
        "method.groups = 0 takes as many groups as leave least noise at privacy.epsilon, which is not given: set one of "
        "the two");
  const std::vector<Candidate> all = candidates(settings, run);
  return std::ranges::min_element(all, {}, &Candidate::noise)->band;
}

std::vector<NoiseAlternative> band_alternatives(const CorrelatedNoiseSettings& settings, std::uint64_t groups,
                                                const CyclicRun& run) {
  if (!run.is_private || run.epsilon == 0) return {};
  const AmplifiedBand chosen = settled_band(settings, groups, run);
  const double mu = gdp_mu(run.epsilon, run.delta);
  std::vector<Candidate> all = candidates(settings, run);
  const auto same = [&](const Candidate& c) { return c.band.sampling.groups == chosen.sampling.groups; };
  if (std::ranges::none_of(all, same)) all.push_back(candidate(settings, chosen.sampling.groups, run));
  std::vector<NoiseAlternative> alternatives;
  for (const Candidate& c : all)
    alternatives.push_back({words(c.band), c.noise * mu, rows_kept(tree_of(c.band.running, run.steps)), same(c)});
  return alternatives;
}

}  // namespace dpmpi
