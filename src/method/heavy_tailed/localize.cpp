// ht-localize: population localization (Asi, Liu and Tian 2024, Algorithms 2 and 3). Phases of growing
// regularisation around the last phase's point, each solved by clipped descent (Algorithm 1) on folds of fresh
// records, of which the one nearest to a majority is taken; for strongly convex risks, rounds of such phases within
// shrinking balls (Corollary 3). Corrected: regularisers and shares by the repaired Proposition 2, aggregation
// without a radius, a bound for any number of steps. What is wrong in the paper: docs/theory/heavy_tailed_plans.md.

#include <algorithm>

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/aggregate.hpp"
#include "method/heavy_tailed/localize_schedule.hpp"
#include "method/heavy_tailed/proximal_descent.hpp"
#include "method/require.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

class HtLocalizePlan final : public MethodPlan {
 public:
  HtLocalizePlan(const HtLocalizeSettings& settings, const PublicFacts& facts)
      : settings_(settings), facts_(facts) {
    Problems problems;
    check_gradients(*facts.objective, "ht-localize", problems);
    refuse(problems);
    schedule_ = plan_folds(settings, facts);
    folds_ = schedule_.rule(whole(settings.seed));
    steps = folds_.uses();
  }

  // A record is in one fold, and every fold has the whole budget: all releases are one Gaussian event.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {{.name = "gradient",
             .dim = facts_.objective->dim(),
             .sampling = folds_,
             .bound = {folds_.parts[0].clip},
             .slack = offered(facts_.objective->gradients()).gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps}};
  }

  // J: folds, bound: of the excess risk; of phase i: m the records of a fold, C clip, T steps, sigma the noise of a
  // mean gradient, R and D the radii of the balls around its start and its round's.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    Derived all{{"J", real(schedule_.folds)}};
    if (schedule_.bound > 0) all.emplace_back("bound", schedule_.bound);
    for (std::size_t i = 0; i < schedule_.phases.size(); ++i) {
      const FoldedPhase& phase = schedule_.phases[i];
      const Query& fold = queries.at(0).parts.at(i * schedule_.folds);
      const double m = real(phase.fold_records);
      const auto add = [&](const char* symbol, double value) {
        all.emplace_back(fmt::format("{}_{}", symbol, i + 1), value);
      };
      add("m", m), add("lambda", phase.lambda), add("C", fold.bound.clip), add("T", real(fold.steps));
      add("sigma", fold.noise_std / m), add("R", phase.reach), add("D", phase.domain);
    }
    return all;
  }

  std::string notes(const std::vector<Query>& queries) const override {
    return pass_advice(facts_, 1 / queries.at(0).noise_multiplier) + phase_lines(report_quantities(queries)) +
           (schedule_.folds > 1
                ? "the bound holds if a majority of the folds of every phase succeed\n"
                : "one fold a phase: the error may exceed its bound with a constant probability; folds = 0 "
                  "takes as many as fail_prob needs\n");
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  HtLocalizeSettings settings_;
  PublicFacts facts_;
  FoldedSchedule schedule_;
  Disjoint folds_;
};

class HtLocalize final : public Algorithm {
 public:
  HtLocalize(const HtLocalizeSettings& settings, const FoldedSchedule& schedule, const Disjoint& folds,
             Objective& objective, const Query& gradient)
      : objective_(objective),
        schedule_(schedule),
        folds_(folds),
        gradient_(gradient),
        rate_(settings.rate),
        x_(start_point(objective, whole(settings.seed))),
        origin_(x_.begin(), x_.end()),
        descent_(descent_of(schedule.phase_of(0))) {}

  void step(Curator& curator, std::uint64_t t) override {
    const std::size_t fold = folds_.part_of(t);
    const std::uint64_t s = t - folds_.first_release(fold);
    if (s == 0) begin_fold(fold);
    const Batch batch = curator.draw(gradient_, t);
    const auto noisy =
        curator.release(curator.sum(gradient_, batch, clipped_gradients(objective_, descent_.point())));
    descent_.update(objective_, noisy, 1 / real(schedule_.phase_of(fold).fold_records), s);
    next_ = t + 1;
    if (s + 1 == folds_.parts[fold].uses) end_fold(fold);
  }

  /// x_i after phase i; x_0 before.
  std::span<const float> iterate() override { return x_; }
  SizesOverClip sizes_over_clip() override {
    const std::uint64_t release = std::min(next_, folds_.uses() - 1);
    return sizes_of_gradients(objective_, x_, {gradient_.clip_at(release)});
  }
  std::span<const std::byte> replicated() override { return std::as_bytes(descent_.point()); }

  void archive(Archive& archive) override {
    archive.field("release", next_);
    archive.field("x", x_);
    archive.field("round", origin_);
    archive.field("points", points_);
    if (archive.reading() && next_ < folds_.uses()) begin_fold(folds_.part_of(next_));
    descent_.archive(archive);
  }

 private:
  ProximalDescent descent_of(const FoldedPhase& phase) const {
    const ProximalSettings settings{phase.lambda, rate_, phase.reach, ProximalSettings::Average::weighted};
    return {settings, x_, phase.solver.settings.steps, {origin_, phase.domain}};
  }

  void begin_fold(std::size_t fold) {
    const FoldedPhase& phase = schedule_.phase_of(fold);
    if (phase.begins_round) origin_.assign(x_.begin(), x_.end());
    descent_ = descent_of(phase);
  }

  void end_fold(std::size_t fold) {
    const auto point = descent_.published();
    points_.insert(points_.end(), point.begin(), point.end());
    if ((fold + 1) % schedule_.folds != 0) return;
    const std::size_t best = aggregate(points_, x_.size()).index;
    std::copy_n(points_.begin() + static_cast<std::ptrdiff_t>(best * x_.size()), x_.size(), x_.begin());
    points_.clear();
  }

  Objective& objective_;
  FoldedSchedule schedule_;
  Disjoint folds_;
  Query gradient_;
  double rate_;
  std::uint64_t next_ = 0;  // release
  AlignedVector<float> x_;
  std::vector<double> points_;  // of the present phase's folds that are done
  std::vector<double> origin_;  // start of the round
  ProximalDescent descent_;
};

std::unique_ptr<Algorithm> HtLocalizePlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<HtLocalize>(settings_, schedule_, folds_, objective, queries.at(0));
}

const MethodRegistration ht_localize{
    {"ht-localize", "phases of clipped descent on fresh records, for heavy-tailed data",
     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithms 1 to 3, corrected", make_method<HtLocalizeSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> HtLocalizeSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<HtLocalizePlan>(*this, facts);
}

}  // namespace dpmpi
