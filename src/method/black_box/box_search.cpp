#include "method/black_box/box_search.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/minimax/saddle.hpp"

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

QuerySpec BoxSearch::query(const PublicFacts& facts, std::size_t points, std::uint64_t steps,
                           double noise_multiplier) const {
  if (dynamic_cast<const SaddleObjective*>(facts.objective))
    throw ConfigError(
        "this objective is a min-max problem, whose value is no mean of losses of single records; use dp-sgda or private-diff");
  return {.name = "losses",
          .dim = points,
          .sampling = FullBatch{},
          .bound = ClippedLosses::bound(points, clip),
          .slack = ClippedLosses::slack(),
          .noise_multiplier = noise_multiplier,
          .steps = steps,
          .kind = ExactSum{},
          .effort = static_cast<double>(points) / 3};
}

double BoxSearch::mean_loss(const Objective& objective, double noisy_sum, std::uint64_t records,
                            std::span<const float> point) const {
  return clip / 2 + noisy_sum / static_cast<double>(records) + objective.regularizer(point);
}

void BestPoint::offer(double score, std::span<const float> point) {
  if (!(score < score_)) return;
  score_ = score;
  std::ranges::copy(point, point_.begin());
}

void BestPoint::archive(Archive& archive) {
  archive.field("score", score_);
  archive.field("point", point_);
}

}  // namespace dpmpi
