#include "method/sgd/following_clip.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/portable_exp.hpp"
#include "privacy/curator/votes.hpp"

namespace dpmpi {

void FollowingClipSettings::declare(Options& options) {
  options
      .add("clip", start, "bound C on the norm of one record's gradient; with clip_quantile, of the first step",
           Range::positive())
      .add(
          "clip_quantile", quantile,
          "share of records whose gradients are to be within the clip, which then follows their norms (0: it stays)",
          {0, 1, false, true})
      .add("clip_rate", rate,
           "how fast the clip follows: a step changes its logarithm by this times the error of that share, at most",
           {0, 1, true, false})
      .add("clip_range", range, "the clip stays between method.clip over this and method.clip times this",
           Range::closed(1, 1e4))
      .add("clip_share", share, "share of the squared sensitivity that counting the records within the clip takes",
           {1e-6, 0.5, false, false})
      .add_words("clipping", clipping, "one bound for the whole gradient, or clip / sqrt(L) for each of L layers",
                 {{"flat", Clipping::flat}, {"per_layer", Clipping::per_layer}});
}

void FollowingClipSettings::validate(std::vector<std::string>& problems) const {
  if (follows() && clipping != Clipping::flat)
    problems.emplace_back(
        "method.clip_quantile moves one clip, and method.clipping = per_layer has one for each layer: it must be flat");
}

void FollowingClipSettings::require_norms(const Objective& objective) const {
  if (follows() && !objective.norms())
    throw ConfigError(fmt::format(
        "method.clip_quantile = {} goes by the norms of gradients, which this objective.name does not know: it must be "
        "0",
        quantile));
}

L2Bound FollowingClipSettings::bound() const {
  return {follows() ? highest() / std::sqrt(1 - share) : start, clipping};
}

Derived FollowingClipSettings::report_quantities(const Query& gradient) const {
  const double z = gradient.noise_multiplier, sigma = gradient.noise_std;
  if (!follows()) return {{"C", start}, {"z", z}, {"sigma", sigma}};
  return {
      {"C", "follows the norms"}, {"C_1", start}, {"gamma", quantile}, {"z", z}, {"sigma / C", sigma / highest()}};
}

double FollowingClipSettings::next_scale(double scale, double within) const {
  return std::clamp(scale * portable_exp(rate * (quantile - within)), smallest_scale(), 1.0);
}

std::string FollowingClipSettings::contradiction(const std::vector<Measure>& earlier,
                                                 const std::vector<Measure>& later, std::uint64_t steps) const {
  if (!follows()) return {};
  const auto value = [](const std::vector<Measure>& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &Measure::name);
    return found == all.end() ? std::nan("") : found->value;
  };
  constexpr double rounding = 1e-9;
  const double before = earlier.empty() ? start : value(earlier, "clip"), clip = value(later, "clip"),
               within = value(later, "clip_within");
  if (!(before > 0 && clip > 0 && within >= 0 && within <= 1))
    return "lacks a method.clip above 0, or a method.clip_within in [0, 1]";
  const double after = highest() * next_scale(before / highest(), within);
  if (steps == 1 && !(std::abs(clip - after) <= rounding * after))
    return fmt::format("method.clip is {:.6g}, but {:.6g} follows from the last one and method.clip_within", clip,
                       after);
  const double farthest = rate * std::max(quantile, 1 - quantile) * static_cast<double>(steps) + rounding;
  if (clip < start / range * (1 - rounding) || clip > highest() * (1 + rounding) ||
      std::abs(std::log(clip / before)) > farthest)
    return fmt::format("method.clip is {:.6g}, to where {} steps from {:.6g} do not lead", clip, steps, before);
  return {};
}

// A vote is + or - the size, so that the share is 1/2 + votes / (2 size B). Noise may take it out of [0, 1].
void FollowingClip::follow(double votes) {
  if (!settings_.follows()) return;
  const L2Bound joint{settings_.bound().clip * scale_};
  within_ = std::clamp(0.5 + votes / (2 * vote_size(joint, settings_.share) * batch_), 0.0, 1.0);
  scale_ = settings_.next_scale(scale_, within_);
}

std::vector<Measure> FollowingClip::measures() const {
  if (!settings_.follows()) return {};
  return {{"clip", clip()}, {"clip_within", within_}};
}

std::span<const std::byte> FollowingClip::beside(std::span<const float> iterate) {
  const auto bytes = std::as_bytes(iterate);
  if (!settings_.follows()) return bytes;
  both_.resize(bytes.size() + sizeof scale_);
  std::ranges::copy(bytes, both_.begin());
  std::memcpy(both_.data() + bytes.size(), &scale_, sizeof scale_);
  return both_;
}

void FollowingClip::archive(Archive& archive) {
  if (!settings_.follows()) return;  // so that checkpoints of other runs are what they were
  archive.field("clip.scale", scale_);
  archive.field("clip.within", within_);
}

}  // namespace dpmpi
