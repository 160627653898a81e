#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/kinds/fit.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {

std::uint64_t RunningSum::leaves(const Query& q) {
  return std::get<Shuffled>(q.sampling).leaves * q.as<RunningSum>()->passes;
}

Tree RunningSum::tree(const Query& q) const {
  Tree tree{strategy, leaves(q), q.noise_multiplier, strategy == Strategy::banded ? band : 0,
            adaptive ? 1 : first_clip};
  if (has_buffers(strategy)) tree.buffers = buffers;
  if (passes > 1) tree.participations = passes, tree.separation = std::get<Shuffled>(q.sampling).leaves;
  return tree;
}

void RunningSum::declare(Query& q) const {
  verify(first_clip > 0 && (!adaptive || first_clip <= 1), "the clip of the first leaf");
  const auto& order = std::get<Shuffled>(q.sampling);
  verify(passes == 1 || (passes > 1 && order.runs == 1 && !order.reshuffle), "the passes of a running sum");
  check_gaussian(q, "correlated noise");
  check_votes(q);
  const double clip = q.bound.clip, first = clip * first_clip;
  declare_sum(q, std::min(q.records, largest_batch(q.sampling, q.records) * order.leaves) * passes,
              std::min(clip, first), std::max(clip, first));
  // A record is part of one leaf a pass, which shifts a few nodes of a tree or all later rows of a matrix. A run of
  // one leaf has only the first; with adaptive noise that, too, gets the noise of its own size.
  const auto T = static_cast<double>(leaves(q));
  const bool matrix = strategy == Strategy::sqrt_toeplitz || strategy == Strategy::banded || has_buffers(strategy);
  q.shift.values = matrix ? T : 1 + std::log2(T);
  q.shift.size = leaves(q) == 1 && !adaptive ? first_clip : std::max(1.0, first_clip);
  if (!q.is_private()) return;
  check({tree(q), 1}, "query " + q.name);
  // Several leaves shift a value by no more than they shift all.
  if (passes > 1) q.shift.size = std::min(real(passes), std::sqrt(squared_sensitivity(tree(q))));
  check_kept_noise(tree(q), q.dim);
}

Events RunningSum::events(const Query& q, std::uint64_t first, std::uint64_t last) const {
  return events_of_rounds(tree(q), std::get<Shuffled>(q.sampling).steps_per_pass() * passes, first, last);
}

std::vector<std::string> RunningSum::describe(const Query& q) const {
  const double noise = q.is_private() ? q.noise_std * std::sqrt(mean_prefix_noise_variance(tree(q))) : 0;
  std::vector<std::string> lines{
      describe_clip(q),
      fmt::format("sums of {} leaves, {}: noise of a prefix {:.3g} on average", leaves(q), name(strategy), noise)};
  if (votes == 0) return lines;
  lines.insert(lines.begin(),
               "clips up to the largest, and noise of a node for the largest of its leaves; of that:");
  lines.push_back(describe_votes(q));
  return lines;
}

}  // namespace dpmpi
