#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/kinds/fit.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/round_up.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {

namespace {

// The noise of a row over the sensitivity of a step and the longest column of the strategy.
Mechanism cyclic_run(const Query& q, const CyclicPoisson& rule, const Tree& tree) {
  const Real column = std::sqrt(static_cast<Real>(squared_sensitivity(tree)));
  const double z = round_down(q.noise_multiplier / column * (1 - 0x1p-60L));
  return CyclicPoissonGaussian{q.steps, rule.groups, tree.band, rule.rate, z};
}

// What the event of cyclic samples takes for granted.
void check_cyclic(const Query& q, const RunningSum& sum, const CyclicPoisson& rule) {
  verify(is_banded(sum.strategy) && sum.band >= 1 && sum.band <= rule.groups, "a row sees one step of a group");
  verify(rule.rate > 0 && rule.rate <= 1, "a rate of Poisson samples");
  verify(sum.passes == 1 && sum.first_clip == 1 && !sum.adaptive, "the steps of cyclic samples are alike");
  if (q.slots_of_unit > 1)
    throw PrivacyError(
        "data.person_sampling = records: a person's records would be in several groups of method.sampling = "
        "cyclic_poisson, which has no analysis, allowed: persons");
}

}  // namespace

std::uint64_t RunningSum::leaves(const Query& q) {
  const auto* order = std::get_if<Shuffled>(&q.sampling);
  return order ? order->leaves * q.as<RunningSum>()->passes : q.steps;
}

Tree RunningSum::tree(const Query& q) const {
  Tree tree{strategy, leaves(q), q.noise_multiplier, is_banded(strategy) ? band : 0, adaptive ? 1 : first_clip};
  if (has_buffers(strategy)) tree.buffers = buffers;
  if (passes > 1) tree.participations = passes, tree.separation = std::get<Shuffled>(q.sampling).leaves;
  return tree;
}

namespace {

// Records in a sum, each as often as it may be: in every pass, or in every round of its group.
std::uint64_t most_terms(const Query& q) {
  if (const auto* rule = std::get_if<CyclicPoisson>(&q.sampling))
    return q.records * CyclicPoissonGaussian{q.steps, rule->groups}.rounds();
  const auto& order = std::get<Shuffled>(q.sampling);
  return std::min(q.records, largest_batch(q.sampling, q.records) * order.leaves) * q.as<RunningSum>()->passes;
}

}  // namespace

void RunningSum::declare(Query& q) const {
  verify(first_clip > 0 && (!adaptive || first_clip <= 1), "the clip of the first leaf");
  const auto* cyclic = std::get_if<CyclicPoisson>(&q.sampling);
  const auto* order = std::get_if<Shuffled>(&q.sampling);
  if (cyclic) check_cyclic(q, *this, *cyclic);
  verify(passes == 1 || (passes > 1 && order->runs == 1 && !order->reshuffle), "the passes of a running sum");
  check_gaussian(q, "correlated noise");
  check_votes(q);
  const double clip = q.bound.clip, first = clip * first_clip;
  declare_sum(q, most_terms(q), std::min(clip, first), std::max(clip, first));
  // A record is part of one leaf a pass, which shifts a few nodes of a tree or all later rows of a matrix. A run of
  // one leaf has only the first; with adaptive noise that, too, gets the noise of its own size.
  const auto T = static_cast<double>(leaves(q));
  const bool matrix = strategy == Strategy::sqrt_toeplitz || is_banded(strategy) || has_buffers(strategy);
  q.shift.values = cyclic ? real(band) : matrix ? T : 1 + std::log2(T);
  q.shift.size = leaves(q) == 1 && !adaptive ? first_clip : std::max(1.0, first_clip);
  if (!q.is_private()) return;
  check({tree(q), 1}, "query " + q.name);
  // Several leaves shift a value by no more than they shift all.
  if (passes > 1) q.shift.size = std::min(real(passes), std::sqrt(squared_sensitivity(tree(q))));
  check_kept_noise(tree(q), q.dim);
}

Events RunningSum::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  if (const auto* rule = std::get_if<CyclicPoisson>(&q.sampling))
    return events_of_rounds(cyclic_run(q, *rule, tree(q)), q.steps, first, last);
  return events_of_rounds(tree(q), std::get<Shuffled>(q.sampling).steps_per_pass() * passes, first, last);
}

std::vector<std::string> RunningSum::describe(const Query& q) const {
  const double noise = q.is_private() ? q.noise_std * std::sqrt(mean_prefix_noise_variance(tree(q))) : 0;
  const std::string diagonals = is_banded(strategy) ? fmt::format(", band {}", band) : "";
  std::vector<std::string> lines{
      describe_clip(q), fmt::format("sums of {} leaves, {}{}: noise of a prefix {:.3g} on average", leaves(q),
                                    name(strategy), diagonals, noise)};
  if (votes == 0) return lines;
  lines.insert(lines.begin(),
               "clips up to the largest, and noise of a node for the largest of its leaves; of that:");
  lines.push_back(describe_votes(q));
  return lines;
}

}  // namespace dpmpi
