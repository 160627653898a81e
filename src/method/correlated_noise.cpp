#include "method/correlated_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/buffer_search.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {

namespace {

using Choice = CorrelatedNoiseSettings::Choice;
using Participation = CorrelatedNoiseSettings::Participation;

// But for banded_blt: where samples are not secret, blt has less noise.
constexpr Choice all_choices[] = {Choice::fenwick, Choice::full_honaker,   Choice::sqrt_toeplitz, Choice::banded,
                                  Choice::blt,     Choice::normalized_blt, Choice::lambda,        Choice::identity};

std::string_view name_of(Choice choice) {
  constexpr std::string_view names[] = {"fenwick",        "full_honaker", "sqrt_toeplitz", "banded",   "blt",
                                        "normalized_blt", "banded_blt",   "lambda",        "identity", "auto"};
  return names[static_cast<std::size_t>(choice)];
}

// Events say what several participations cost for Toeplitz matrices, up to these sizes.
bool may_continue(Choice choice, const SumsOfRun& run) {
  if (choice == Choice::fenwick || choice == Choice::full_honaker || choice == Choice::normalized_blt ||
      run.sums > 1)
    return false;
  const bool buffered = choice != Choice::sqrt_toeplitz && choice != Choice::banded;
  return buffered ? run.passes <= 1ULL << 20 && run.leaves * run.passes <= 1ULL << 40
                  : run.passes <= 256 && run.leaves * run.passes <= 1ULL << 20;
}

// Of strategies that the settings do not name.
bool may_be_tried(Choice choice, std::uint64_t leaves) {
  return choice != Choice::normalized_blt || leaves <= 1ULL << 20;
}

bool fits(const RunningSum& rule, const SumsOfRun& run) {
  return noise_can_be_kept(tree_of(rule, run.leaves), run.dim);
}

std::string words(Choice choice, const RunningSum& rule, const SumsOfRun& run) {
  std::string text(name_of(choice));
  if (choice == Choice::banded) text += fmt::format(", band {}", rule.band);
  if (choice == Choice::blt || choice == Choice::normalized_blt)
    text += fmt::format(", {} buffer{}", rule.buffers.count, rule.buffers.count == 1 ? "" : "s");
  if (choice == Choice::lambda) text += fmt::format(" {:.4g}", rule.buffers.decay[0]);
  return text + (run.passes == 1 ? "" : rule.passes > 1 ? ", continue" : ", restart");
}

}  // namespace

void CorrelatedNoiseSettings::declare(Options& options) {
  options
      .add_words("strategy", strategy, "correlation of the noise of prefix sums; auto: the least noise that fits",
                 {{"fenwick", Choice::fenwick},
                  {"full_honaker", Choice::full_honaker},
                  {"sqrt_toeplitz", Choice::sqrt_toeplitz},
                  {"banded", Choice::banded},
                  {"blt", Choice::blt},
                  {"normalized_blt", Choice::normalized_blt},
                  {"banded_blt", Choice::banded_blt},
                  {"lambda", Choice::lambda},
                  {"identity", Choice::identity},
                  {"auto", Choice::automatic}})
      .add("band", band, "diagonals of strategy = banded and banded_blt, at most", Range::at_least(1))
      .add("buffers", buffers, "buffers of strategy = blt and normalized_blt, at most", Range::closed(1, 5))
      .add("lambda", lambda, "share of the step before that strategy = lambda takes off; 0: the best",
           Range{0, 0.999, false, false});
}

void CorrelatedNoiseSettings::declare_participation(Options& options) {
  options.add_words(
      "participation", participation,
      "restart the noise with every pass, or continue it over all passes, or auto: whichever leaves less noise",
      {{"restart", Participation::restart},
       {"continue", Participation::continue_},
       {"auto", Participation::automatic}});
}

Tree tree_of(const RunningSum& rule, std::uint64_t leaves_of_pass) {
  Tree tree{rule.strategy, leaves_of_pass * rule.passes, 1, is_banded(rule.strategy) ? rule.band : 0};
  tree.buffers = rule.buffers;
  if (rule.passes > 1) tree.participations = rule.passes, tree.separation = leaves_of_pass;
  return tree;
}

// mu^2 is the sum over the events, of which a run has one for every pass or one for all.
double noise_of_run(const RunningSum& rule, const SumsOfRun& run) {
  const Tree tree = tree_of(rule, run.leaves);
  const double events = real(run.passes) / real(rule.passes), ended = (events * real(run.sums) - 1) / 2;
  double variance = mean_prefix_noise_variance(tree);
  if (ended > 0) variance += ended * prefix_noise_variance(tree, tree.leaves);
  return std::sqrt(events * squared_sensitivity(tree) * variance);
}

RunningSum CorrelatedNoiseSettings::rule(Choice choice, std::uint64_t passes, const SumsOfRun& run) const {
  const std::uint64_t leaves = run.leaves * passes;
  const Participations participations{passes, run.leaves};
  RunningSum rule;
  rule.passes = passes;
  switch (choice) {
    case Choice::fenwick:
      break;
    case Choice::full_honaker:
      rule.strategy = Strategy::full_honaker;
      break;
    case Choice::sqrt_toeplitz:
      rule.strategy = Strategy::sqrt_toeplitz;
      break;
    case Choice::banded:
      rule.strategy = Strategy::banded;
      rule.band = std::min(whole(band), leaves);
      break;
    case Choice::blt:
      rule.strategy = Strategy::blt;
      rule.buffers = best_buffers(whole(buffers), leaves, participations);
      break;
    case Choice::normalized_blt:
      rule.strategy = Strategy::normalized_blt;
      rule.buffers = best_buffers(whole(buffers), leaves, participations);
      break;
    case Choice::lambda:
      rule.strategy = Strategy::blt;
      rule.buffers = lambda_buffer(lambda > 0 ? lambda : best_lambda(leaves, participations));
      break;
    case Choice::identity:
      rule.strategy = Strategy::blt;
      break;
    case Choice::banded_blt:
    case Choice::automatic:
      throw BugError("a strategy");
  }
  return rule;
}

// Passes of a run of the noise, as the config allows them.
std::vector<std::uint64_t> CorrelatedNoiseSettings::lengths(Choice choice, const SumsOfRun& run) const {
  std::vector<std::uint64_t> lengths;
  if (participation != Participation::continue_ || run.passes == 1) lengths.push_back(1);
  if (participation != Participation::restart && run.passes > 1 && may_continue(choice, run))
    lengths.push_back(run.passes);
  return lengths;
}

RunningSum CorrelatedNoiseSettings::settled(const SumsOfRun& run) const {
  if (strategy == Choice::banded_blt)
    throw ConfigError(
        "method.strategy = banded_blt is for the secret samples of dp-ftrl with method.sampling = cyclic_poisson; "
        "without them blt has less noise");
  std::vector<RunningSum> candidates;
  for (const Choice choice : all_choices)
    for (const std::uint64_t passes : lengths(choice, run))
      if (strategy == choice || (strategy == Choice::automatic && may_be_tried(choice, run.leaves * passes)))
        candidates.push_back(rule(choice, passes, run));
  if (candidates.empty() && run.sums > 1)
    throw ConfigError(fmt::format(
        "method.participation = continue is one sum over all passes, and method.restarts = {} begins anew "
        "within each: set method.restarts = 1, or method.participation = restart",
        run.sums));
  if (candidates.empty())
    throw ConfigError(fmt::format(
        "method.participation = continue does not go with method.strategy = {} with {} leaves and {} passes, allowed: "
        "blt, lambda, identity or auto, or sqrt_toeplitz and banded with up to 256 passes and 2^20 steps",
        name_of(strategy), run.leaves, run.passes));
  if (candidates.size() == 1) return candidates[0];  // which the query refuses if it does not fit
  const auto noise = [&](const RunningSum& r) { return fits(r, run) ? noise_of_run(r, run) : infinity; };
  return *std::ranges::min_element(candidates, {}, noise);
}

std::vector<NoiseAlternative> CorrelatedNoiseSettings::alternatives(const SumsOfRun& run) const {
  CorrelatedNoiseSettings any = *this;
  any.participation = Participation::automatic;
  const RunningSum chosen = settled(run);
  std::vector<NoiseAlternative> all;
  for (const Choice choice : all_choices)
    for (const std::uint64_t passes : any.lengths(choice, run)) {
      if (!may_be_tried(choice, run.leaves * passes)) continue;
      const RunningSum candidate = rule(choice, passes, run);
      const Tree tree = tree_of(candidate, run.leaves);
      const bool kept = noise_can_be_kept(tree, run.dim);
      const bool taken = tree == tree_of(chosen, run.leaves);
      all.push_back({words(choice, candidate, run) + (kept ? "" : " (above 4 GB)"), noise_of_run(candidate, run),
                     rows_kept(tree), taken});
    }
  return all;
}

}  // namespace dpmpi
