// clipped-gd: full-batch gradient descent on clipped per-record gradients with Gaussian noise, the practical method
// for records whose gradients have heavy tails (Asi, Liu and Tian 2024, Algorithm 1, on all records at once).

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/options.hpp"
#include "method/heavy_tailed/proximal_descent.hpp"
#include "method/method.hpp"
#include "method/require.hpp"
#include "method/schedule.hpp"
#include "method/sgd/clip_rule.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

struct ClippedGdSettings final : MethodSettings {
  std::int64_t steps = 60, batch = 1024, seed = 1;
  std::string sampling = "full";
  ClipRule clip;
  ProximalSettings descent;

  void declare(Options& options) override {
    options.add("steps", steps, "number of steps T", Range::at_least(1))
        .add("sampling", sampling, "all records in every step, or a secret Poisson sample", {"full", "poisson"})
        .add("batch", batch, "expected batch size of Poisson samples (the public normaliser of the mean)",
             Range::at_least(1))
        .add("seed", seed, "public seed of the start point", Range::at_least(0));
    clip.declare(options);
    descent.declare(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    clip.validate(problems);
    descent.validate(problems);
  }
  std::string describe_releases() const override {
    return clip.is_private()            ? "the model, every iterate and the choice of the clip"
           : clip.following().follows() ? "the model, every iterate and every clip"
                                        : MethodSettings::describe_releases();
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class ClippedGdPlan final : public MethodPlan {
 public:
  ClippedGdPlan(const ClippedGdSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    check();
    steps = whole(settings.steps);
    rule_ = sampling_rule(settings.sampling, settings.batch, facts.data.records);
  }

  // The choice of the clip uses the records of the training again, so that the squares of the two mu add up.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    const ClipRule& clip = settings_.clip;
    std::vector<QuerySpec> all{{.name = "gradient",
                                .dim = clip.following().coordinates(facts_.objective->dim()),
                                .sampling = rule_,
                                .bound = bound(),
                                .slack = offered(facts_.objective->gradients()).gradient_slack(),
                                .noise_multiplier = noise_multiplier,
                                .steps = steps,
                                .kind = Sum{clip.smallest_scale(), clip.following().votes()}}};
    if (clip.is_private()) all.push_back(clip.query(training(noise_multiplier)));
    return all;
  }

  // T: steps, m: the public divisor, q: the share of the records in a step, mu: of both releases (for q < 1 about),
  // sigma: noise std of the mean, C: clip.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const ClipRule& clip = settings_.clip;
    const Query& gradient = queries.at(0);
    const auto spent = training(gradient.noise_multiplier);
    const double m = expected_batch(gradient.sampling, gradient.records), sigma = gradient.noise_std / m;
    Derived all{{"T", spent.steps}, {"m", m}, {"q", spent.share}, {"mu", clip.total_mu(spent)}};
    if (clip.following().follows()) {
      for (auto& quantity : clip.following().report_quantities(gradient)) all.push_back(std::move(quantity));
      return all;
    }
    if (!clip.is_private()) {
      all.insert(all.end(), {{"C", clip.largest()}, {"sigma", sigma}, {"clip", "public constant"}});
      return all;
    }
    all.insert(all.end(), {{"sigma / C", sigma / clip.largest()},
                           {"clip", "private choice"},
                           {"mu_q", ClipRule::Training{1, 1, queries.at(1).noise_multiplier}.mu()},
                           {"target", clip.target(facts_, spent)},
                           {"target_error", clip.target_error(facts_, spent)}});
    return all;
  }

  std::string notes(const std::vector<Query>& queries) const override {
    const auto spent = training(queries.at(0).noise_multiplier);
    return descent_advice(facts_, settings_.clip.total_mu(spent)) + settings_.clip.notes(facts_, spent);
  }

  std::string contradiction(const std::vector<Measure>& earlier, const std::vector<Measure>& later,
                            std::uint64_t between) const override {
    return settings_.clip.following().contradiction(earlier, later, between);
  }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  // With votes, of gradient and vote together.
  L2Bound bound() const {
    const ClipRule& clip = settings_.clip;
    return clip.is_private() ? L2Bound{clip.largest()} : clip.following().bound();
  }

  void check() const {
    Problems problems;
    check_gradients(*facts_.objective, "clipped-gd", problems);
    if (facts_.objective->gradients()) settings_.clip.check(*facts_.objective, problems);
    if (settings_.sampling == "poisson" && whole(settings_.batch) > facts_.data.records)
      problems.push_back(
          fmt::format("method.batch = {} must be at most n = {}", settings_.batch, facts_.data.records));
    refuse(problems);
  }

  ClipRule::Training training(double noise_multiplier) const {
    const std::uint64_t n = facts_.data.records;
    return {real(steps), expected_batch(rule_, n) / real(n), noise_multiplier};
  }

  ClippedGdSettings settings_;
  PublicFacts facts_;
  SamplingRule rule_;
};

class ClippedGd final : public Algorithm {
 public:
  ClippedGd(const ClippedGdSettings& settings, Objective& objective, const std::vector<Query>& queries,
            double clipped_at_first)
      : objective_(objective),
        gradient_(queries.at(0)),
        choice_(settings.clip.is_private() ? queries.at(1) : Query{}),
        divisor_(expected_batch(gradient_.sampling, gradient_.records)),
        clip_(settings.clip, clipped_at_first),
        following_(settings.clip.following(), divisor_),
        follows_(settings.clip.following().follows()),
        descent_(settings.descent, start_point(objective, whole(settings.seed)), gradient_.steps) {}

  void step(Curator& curator, std::uint64_t t) override {
    if (t == 0) clip_.choose(curator, choice_, objective_, descent_.point());
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(objective_, descent_.point()), scale());
    const auto noisy = curator.release(std::move(total));
    descent_.update(objective_, noisy.first(objective_.dim()), 1 / divisor_, t, following_.unit());
    following_.follow(noisy.back());
  }

  std::span<const float> iterate() override { return descent_.published(); }
  SizesOverClip sizes_over_clip() override {
    if (!clip_.known()) return {};
    const double clip = follows_ ? following_.clip() : gradient_.bound.clip * clip_.scale();
    return sizes_of_gradients(objective_, descent_.point(), {clip});
  }
  std::vector<Measure> measures() const override { return following_.measures(); }
  std::span<const std::byte> replicated() override { return following_.beside(descent_.point()); }
  void archive(Archive& archive) override {
    clip_.archive(archive);
    descent_.archive(archive);
    following_.archive(archive);
  }

 private:
  double scale() const { return follows_ ? following_.scale() : clip_.scale(); }

  Objective& objective_;
  Query gradient_, choice_;
  double divisor_;
  ChosenClip clip_;
  FollowingClip following_;
  bool follows_;
  ProximalDescent descent_;
};

std::unique_ptr<const MethodPlan> ClippedGdSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<ClippedGdPlan>(*this, facts);
}
std::unique_ptr<Algorithm> ClippedGdPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const double clipped_at_first = settings_.clip.target(facts_, training(queries.at(0).noise_multiplier));
  return std::make_unique<ClippedGd>(settings_, objective, queries, clipped_at_first);
}

const MethodRegistration clipped_gd{{"clipped-gd", "full-batch descent on clipped gradients, for heavy-tailed data",
                                     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithm 1",
                                     make_method<ClippedGdSettings>}};

}  // namespace
}  // namespace dpmpi
