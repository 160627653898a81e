#include "method/black_box/box_search.hpp"

#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

void BoxSearch::declare(Options& options) {
  options.add("box_lo", low, "lower end of the box in every coordinate", Range::closed(-1e6, 1e6))
      .add("box_hi", high, "upper end of the box in every coordinate", Range::closed(-1e6, 1e6))
      .add("clip", clip, "C: losses are clipped to [0, C], a public constant", Range::positive());
}

void BoxSearch::validate(std::vector<std::string>& problems) const {
  if (!(low < high))
    problems.push_back(fmt::format("method.box_lo = {} is not below method.box_hi = {}", low, high));
}

void BoxSearch::draw(std::uint64_t seed, std::uint64_t number, std::span<double> shares) {
  const PublicStream stream(seed, "candidate", number);
  for (std::size_t k = 0; k < shares.size(); ++k) shares[k] = stream.uniform(k);
}

void BoxSearch::place(std::span<const double> shares, std::span<float> point) const {
  for (std::size_t k = 0; k < point.size(); ++k) point[k] = static_cast<float>(low + (high - low) * shares[k]);
}

BoxSearchPlan::BoxSearchPlan(const BoxSearch& box, const PublicFacts& facts, std::size_t points,
                             std::uint64_t count)
    : clip_(box.clip) {
  if (facts.objective->saddle())
    throw ConfigError(
        "this objective is a min-max problem, whose value is no mean of losses of single records; use dp-sgda or private-diff");
  facts.objective->refuse_copies("searches among losses");
  steps = count;
  losses_ = {.name = "losses",
             .dim = points,
             .sampling = FullBatch{},
             .bound = ClippedLosses::bound(points, box.clip),
             .slack = ClippedLosses::slack(),
             .steps = steps,
             .kind = ExactSum{},
             .effort = static_cast<double>(points) / 3};
}

// A step has 1 / sqrt(steps) of the sensitivity of all as one vector.
std::vector<QuerySpec> BoxSearchPlan::queries(double noise_multiplier) const {
  QuerySpec losses = losses_;
  losses.noise_multiplier = noise_multiplier * std::sqrt(real(steps));
  return {losses};
}

// mu is that of all steps together; 0: without noise.
Derived BoxSearchPlan::quantities(const char* count, const Query& losses) const {
  const double z = losses.noise_multiplier / std::sqrt(real(losses.steps));
  return {{count, real(losses.dim * steps)}, {"C", clip_}, {"mu", z > 0 ? 1 / z : 0}, {"s", mean_noise(losses)}};
}

double mean_noise(const Query& losses) { return losses.noise_std / real(losses.records); }

NoisyLosses::NoisyLosses(const BoxSearch& box, Objective& objective, const Query& losses)
    : objective_(objective),
      query_(losses),
      losses_(objective, losses.dim, box.clip),
      clip_(box.clip),
      means_(losses.dim) {}

std::span<const double> NoisyLosses::measure(Curator& curator, std::uint64_t t) {
  const Batch batch = curator.draw(query_, t);
  const auto noisy = curator.release_exact(curator.sum(query_, batch, losses_.sum()));
  for (std::size_t j = 0; j < means_.size(); ++j)
    means_[j] = clip_ / 2 + noisy[j] / real(query_.records) + objective_.regularizer(point(j));
  return means_;
}

}  // namespace dpmpi
