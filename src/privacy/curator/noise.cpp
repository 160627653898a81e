// The noise of the curator's releases: where it is drawn, and how it joins the sums. Root only. Functions are
// handed on by reference, so that a step allocates nothing.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/numbers/discrete_gaussian.hpp"
#include "core/numbers/random.hpp"
#include "core/secrecy.hpp"
#include "privacy/curator/query_state.hpp"

namespace dpmpi {

// Discrete Gaussian: exact on the lattice, coordinate after coordinate from one reader, because a draw uses a
// varying number of words. Gaussian: rounding is post-processing of the continuous draw, because the sum is on the
// lattice too.
void Curator::add_noise(QueryState& s, std::uint64_t step, double clip_scale) {
  const Stopwatch watch(timing_.noise);
  const InPhase phase(Phase::noise);
  const Query& query = s.query.at(step);
  const double noise_scale = query.sensitivity_scale(clip_scale) * query.noise_scale(step);
  if (query.noise == Noise::discrete_gaussian) {
    const double finer = query.lattice.quantum() * s.sum.lattice().scale();
    const double quanta = std::ceil(static_cast<double>(query.noise_quanta) * noise_scale * finer);
    const DiscreteGaussianSampler sampler(static_cast<std::uint64_t>(quanta));
    SecretReader bits(*noise_, step, query.site);
    const auto add = [&](std::size_t, std::span<std::int64_t> total) {
      for (auto& value : total) value += sampler(bits);
    };
    s.sum.finish(std::cref(add));
    return;
  }
  const double scale = query.noise_std * noise_scale * s.sum.lattice().scale();
  alignas(64) std::array<double, 1024> normal;
  const auto add = [&](std::size_t first, std::span<std::int64_t> total) {
    verify(total.size() <= normal.size(), "the noise of a piece of the sum");
    noise_->normals(step, query.site, first, std::span(normal).first(total.size()));
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += nearest_point(scale * normal[i]);
  };
  s.sum.finish(std::cref(add));
  wipe(normal);
}

// The noise of the prefix that ends at `step`, in units of a node's deviation. A node is drawn at the step that
// ends it, by its level; PrefixNoise keeps it as long as prefixes need it.
std::span<const double> Curator::next_prefix_noise(QueryState& s, std::uint64_t step, double leaf_scale) {
  const std::uint64_t width = round_up(s.query.dim, 8);
  const auto draw = [&](std::uint32_t level, std::span<double> out) {
    noise_->normals(step, s.query.site, level * width, out);
  };
  return s.prefix->next(leaf_scale, std::cref(draw));
}

// R_t = R_{t-1} + leaf_t + (n_t - n_{t-1}): the newest release, the present sum, and the change of the noise. All
// are integers, so R_t is exactly the sum of the leaves plus n_t, and no sum without noise ever exists.
void Curator::go_on_with_running_sum(QueryState& s, std::uint64_t step, double clip_scale) {
  const Stopwatch watch(timing_.noise);
  const RunningSum& rule = *s.query.running;
  if (step % rule.leaves == 0) {
    std::fill(s.running.begin(), s.running.end(), 0);
    std::fill(s.noise_before.begin(), s.noise_before.end(), 0);
    if (s.prefix) s.prefix->restart();
  }
  std::span<const double> noise;
  if (s.prefix) {
    verify(s.prefix->leaf() == step % rule.leaves, "the leaves of a running sum come in order");
    const double clip = s.query.clip_at(step) / s.query.bound.clip * clip_scale;
    noise = next_prefix_noise(s, step, rule.adaptive ? s.query.sensitivity_scale(clip) : 1);
  }
  const double scale = s.query.noise_std * s.query.lattice.scale();
  const auto go_on = [&](std::size_t first, std::span<std::int64_t> total) {
    for (std::size_t i = 0; i < total.size(); ++i) {
      const std::size_t j = first + i;
      const auto n = noise.empty() ? 0 : nearest_point(scale * noise[j]);
      total[i] += s.running[j] + (n - s.noise_before[j]);
      s.noise_before[j] = n;
    }
  };
  s.sum.finish(std::cref(go_on));
}

void Curator::archive(Archive& archive) {
  for (auto& s : sites_) {
    if (!s->query.running) continue;
    if (s->prefix) s->leaf_scales.assign(s->prefix->scales().begin(), s->prefix->scales().end());
    archive.field(s->query.name + ".running", s->running);
    archive.field(s->query.name + ".leaf_scales", s->leaf_scales);
  }
}

// The same draws again: the noise of a run is a function of the key and the steps.
void Curator::replay_noise(QueryState& s, std::uint64_t step) {
  const std::uint64_t leaf = step % s.query.running->leaves;  // leaves of the present run that are done
  if (leaf == 0) return;                                      // the next step starts a run
  verify(s.leaf_scales.size() == leaf && s.running.size() == s.query.dim, "a checkpoint of a running sum");
  s.prefix->restart();
  std::span<const double> noise;
  for (std::uint64_t i = 0; i < leaf; ++i) noise = next_prefix_noise(s, step - leaf + i, s.leaf_scales[i]);
  const double scale = s.query.noise_std * s.query.lattice.scale();
  for (std::size_t j = 0; j < noise.size(); ++j) s.noise_before[j] = nearest_point(scale * noise[j]);
}

}  // namespace dpmpi
