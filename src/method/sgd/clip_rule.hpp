#pragma once
// How a method comes to its clip: a public constant, from which it may follow the norms, or a private choice from
// the norms of the first gradients.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "method/method.hpp"
#include "method/sgd/following_clip.hpp"
#include "privacy/curator/clip_selection.hpp"

namespace dpmpi {

/// What a config says of the clip.
class ClipRule {
 public:
  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  /// The clip is chosen by a release of its own. There is no way to a clip from un-noised data.
  bool is_private() const { return rule_ != Rule::fixed; }
  bool is_median() const { return rule_ == Rule::median; }
  /// The clip, or the largest one that can be chosen: the bound of the gradient query.
  double largest() const { return is_private() ? grid().highest() : following().highest(); }
  /// The smallest one over it.
  double smallest_scale() const { return is_private() ? grid().clip(0) / largest() : following().smallest_scale(); }
  /// What follows the norms from the constant on; of a private choice nothing does.
  FollowingClipSettings following() const;

  /// What the rule goes by: the gradient query's T releases, its share q of the records in a step and its noise
  /// multiplier z. In terms of Gaussian differential privacy these have mu = q sqrt(T) / z (for q < 1 about).
  struct Training {
    double steps = 1, share = 1, noise_multiplier = 1;
    double mu() const;
  };
  /// Appends a problem if the rule needs norms that the objective does not have.
  void check(const Objective& objective, std::vector<std::string>& problems) const;
  /// The release that chooses the clip; clip_share of the sum of the squared mu is its own.
  QuerySpec query(const Training& training) const;
  /// mu of both releases together.
  double total_mu(const Training& training) const;
  /// How many records are to be clipped at the first step: clip_records sqrt(d / rho), rho = mu^2 / 2, for the
  /// noise of replace_one; half as many under add_remove, where the noise is half as large; at most n / 2.
  double target(const PublicFacts& facts, const Training& training) const;
  /// Deviation of the number of records beyond a clip in the middle of the grid, from the noise alone: at most.
  double target_error(const PublicFacts& facts, const Training& training) const;

  /// What plans say about the choice.
  std::string notes(const PublicFacts& facts, const Training& training) const;

  /// The clips that a private choice is made from.
  ClipGrid grid() const { return ClipGrid(lowest_); }

 private:
  enum class Rule { count, median, fixed };
  const char* name() const { return is_median() ? "median" : is_private() ? "count" : "fixed"; }

  Rule rule_ = Rule::count;
  double clip_ = 0, lowest_ = 0.01, records_ = 32, share_ = 0.05;
  double quantile_ = 0, rate_ = 0.2, range_ = 100;
};

/// The clip of a run: the largest one until it is chosen.
class ChosenClip {
 public:
  /// `target`: how many records are to be clipped at the first step.
  ChosenClip(const ClipRule& rule, double target) : rule_(rule), target_(target), clip_(rule.largest()) {}

  /// Step 0: chooses the clip by the norms at w. Collective. Without a private rule nothing happens.
  void choose(Curator& curator, const Query& query, Objective& objective, std::span<const float> w);
  /// False: it is to be chosen yet.
  bool known() const { return !rule_.is_private() || clip_ < rule_.largest(); }
  /// The clip over the rule's largest(), for Curator::sum.
  double scale() const { return clip_ / rule_.largest(); }
  void archive(Archive& archive) { archive.field("clip", clip_); }

 private:
  ClipRule rule_;
  double target_, clip_;
};

}  // namespace dpmpi
