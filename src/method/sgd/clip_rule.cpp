#include "method/sgd/clip_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "core/console/log.hpp"

namespace dpmpi {
namespace {

/// As many records as a rule may clip: half of them.
double most(const PublicFacts& facts) { return static_cast<double>(facts.data.records) / 2; }

}  // namespace

void ClipRule::declare(Options& options) {
  options
      .add_words(
          "clip_rule", rule_,
          "the bound C on the norm of one record's gradient: such that about clip_records sqrt(d / rho) records "
          "are clipped, or half of them, both by a private choice before the first step; or the constant method.clip",
          {{"count", Rule::count}, {"median", Rule::median}, {"fixed", Rule::fixed}})
      .add(
          "clip", clip_,
          "the constant of clip_rule = fixed, which must not come from the data; with clip_quantile, of the first step",
          Range::non_negative())
      .add("clip_quantile", quantile_,
           "with clip_rule = fixed: share of records whose gradients are to be within the clip, which then follows "
           "their norms (0: it stays)",
           {0, 1, false, true})
      .add("clip_rate", rate_,
           "how fast the clip follows: a step changes its logarithm by this times the error of that share, at most",
           {0, 1, true, false})
      .add("clip_range", range_, "the clip stays between method.clip over this and method.clip times this",
           Range::closed(1, 1e4))
      .add(
          "clip_lowest", lowest_,
          "smallest clip that a private choice can make, a public constant; the largest is 1.25^48 = 44842 times that",
          Range::closed(1e-20, 1e20))
      .add("clip_records", records_, "kappa of clip_rule = count", Range::positive())
      .add("clip_share", share_,
           "share of mu^2 that a private choice spends, or counting the records within a clip that follows",
           {1e-9, 1, false, true});
}

FollowingClipSettings ClipRule::following() const { return {clip_, quantile_, rate_, range_, share_}; }

void ClipRule::validate(std::vector<std::string>& problems) const {
  if (!is_private() && clip_ == 0)
    problems.emplace_back(
        "method.clip = 0 with method.clip_rule = fixed: it must be above 0, a constant that does not come from the data");
  if (is_private() && clip_ > 0)
    problems.push_back(fmt::format(
        "method.clip = {} is the constant of method.clip_rule = fixed, and {} chooses privately: it must be 0",
        clip_, name()));
  if (is_private() && quantile_ > 0)
    problems.push_back(fmt::format(
        "method.clip_quantile moves the clip from step to step, and method.clip_rule = {} chooses one before the first: "
        "set method.clip_rule = fixed, and method.clip to where it begins",
        name()));
  if (quantile_ > 0 && !(share_ >= 1e-6 && share_ < 0.5))
    problems.push_back(fmt::format(
        "method.clip_share = {}: with method.clip_quantile it must be at least 1e-06 and below 0.5", share_));
}

double ClipRule::Training::mu() const { return share * std::sqrt(steps) / noise_multiplier; }

void ClipRule::check(const Objective& objective, std::vector<std::string>& problems) const {
  if (!objective.norms() && quantile_ > 0)
    problems.push_back(fmt::format(
        "method.clip_quantile = {} goes by the norms of gradients, which this objective.name does not know: it must be 0",
        quantile_));
  if (is_private() && !objective.norms())
    problems.push_back(fmt::format(
        "method.clip_rule = {} goes by the norms of gradients, which this objective.name does not know: "
        "it must be fixed, with a public method.clip above 0",
        name()));
}

QuerySpec ClipRule::query(const Training& training) const {
  const double spent_on_training = (1 - share_) / share_;  // over what the choice spends
  return grid().query(std::sqrt(spent_on_training) / training.mu());
}

double ClipRule::total_mu(const Training& training) const {
  return training.mu() / std::sqrt(is_private() ? 1 - share_ : 1);
}

double ClipRule::target(const PublicFacts& facts, const Training& training) const {
  if (is_median()) return most(facts);
  const double noise = facts.adjacency == Adjacency::replace_one ? 1 : 0.5;
  const auto dim = static_cast<double>(facts.objective->dim());
  return std::min(most(facts), noise * records_ * std::sqrt(2 * dim) / total_mu(training));
}

double ClipRule::target_error(const PublicFacts& facts, const Training& training) const {
  const double change = facts.adjacency == Adjacency::replace_one ? std::numbers::sqrt2 : 1;
  return std::sqrt(static_cast<double>(ClipGrid::bins)) * change / (std::sqrt(share_) * total_mu(training));
}

std::string ClipRule::notes(const PublicFacts& facts, const Training& training) const {
  const double count = target(facts, training);
  if (quantile_ > 0) return "";
  if (!is_private())
    return fmt::format("a public clip is near the best where about {:.4g} records are beyond it\n", count);
  const double error = target_error(facts, training);
  std::string text = fmt::format(
      "the clip is chosen such that {:.4g} records, with an error of deviation {:.3g} at most, are clipped at first\n",
      count, error);
  if (count < 3 * error)
    text += fmt::format("that is less than three deviations: {}set a public clip\n",
                        count < most(facts) ? "raise method.clip_records, or " : "");
  if (is_median())
    text +=
        "clipping half of the records has a bias that more records do not reduce, unless the data are symmetric\n";
  return text;
}

void ChosenClip::choose(Curator& curator, const Query& query, Objective& objective, std::span<const float> w) {
  if (!rule_.is_private()) return;
  const ClipGrid clips = rule_.grid();
  const Batch everyone = curator.draw(query, 0);
  const auto counts = curator.release_exact(curator.sum(query, everyone, clips.counts(objective, w)));
  std::vector<double> chosen;
  curator.broadcast_from_root(chosen, [&](std::vector<double>& values) {
    values.assign(1, clips.choose(counts, target_));
    print_at(LogLevel::info, "the clip, chosen privately: {:.4g}\n", values[0]);
    // By true counts all records are at or above clip(0): only noise can choose it.
    if (values[0] <= clips.clip(1))
      warn("the clip is the smallest of the grid: method.clip_lowest may be too large");
    if (values[0] == clips.highest())
      warn("the clip is the largest of the grid: method.clip_lowest may be too small");
  });
  clip_ = chosen[0];
}

}  // namespace dpmpi
