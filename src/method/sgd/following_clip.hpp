#pragma once
// A clip that follows a quantile of the gradients' norms while the run goes (Andrew et al. 2021, arXiv:1905.03871).
// Every release counts in one more coordinate how many records are within its clip (privacy/curator/votes.hpp), and
// the next clip is a function of that count: post-processing.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// What a config says of a clip that stays, or that follows.
struct FollowingClipSettings {
  double start = 1;     ///< method.clip
  double quantile = 0;  ///< 0: the clip stays
  double rate = 0.2, range = 100, share = 0.01;
  Clipping clipping = Clipping::flat;

  void declare(Options& options);
  bool follows() const { return quantile > 0; }
  /// Appends what is wrong between these and other options.
  void validate(std::vector<std::string>& problems) const;
  /// Throws ConfigError if the objective cannot tell the norms that votes need.
  void require_norms(const Objective& objective) const;

  /// The largest clip; the smallest is this times smallest_scale().
  double highest() const { return follows() ? start * range : start; }
  double smallest_scale() const { return follows() ? 1 / (range * range) : 1; }
  double start_scale() const { return follows() ? 1 / range : 1; }
  /// Share of the squared bound that votes take.
  double votes() const { return follows() ? share : 0; }
  /// Coordinates of a release of `dim` gradients.
  std::size_t coordinates(std::size_t dim) const { return follows() ? dim + 1 : dim; }
  /// The bound of a gradient, and its vote if there are any, at the largest clip.
  L2Bound bound() const;
  /// The unit of length of the steps: the present clip, if it follows; else 1.
  double unit(double clip) const { return follows() ? clip : 1; }
  /// What plans list of the clip and of its noise: C, z, sigma.
  Derived report_quantities(const Query& gradient) const;
  /// As MethodPlan::contradiction: the clip of FollowingClip::measures(), computed again where the looks are one
  /// step apart, and else as far as it can have come.
  std::string contradiction(const std::vector<Measure>& earlier, const std::vector<Measure>& later,
                            std::uint64_t steps) const;
  /// The clip after one of which the share `within` was within it, over the largest.
  double next_scale(double scale, double within) const;
};

/// The clip of a run, the same on all ranks: a function of what was released.
class FollowingClip {
 public:
  /// `batch`: expected.
  FollowingClip(const FollowingClipSettings& settings, double batch)
      : settings_(settings), batch_(batch), scale_(settings.start_scale()) {}

  double clip() const { return settings_.highest() * scale_; }
  /// For Curator::sum.
  double scale() const { return scale_; }
  /// What a step divides released gradients by: FollowingClipSettings::unit.
  double unit() const { return settings_.unit(clip()); }
  /// After a release that was summed at scale(): `votes` is the noisy sum of votes of its step.
  void follow(double votes);
  /// Where the clip follows: it, and the noisy share of records that were within the last one.
  std::vector<Measure> measures() const;
  /// The iterate, and the clip if it follows. Valid until the next call.
  std::span<const std::byte> beside(std::span<const float> iterate);
  void archive(Archive& archive);

 private:
  FollowingClipSettings settings_;
  double batch_, scale_;
  double within_ = 0;
  std::vector<std::byte> both_;
};

}  // namespace dpmpi
