// dp-ftrl: follow the regularised leader on clipped gradients whose prefix sums carry tree noise (Kairouz et al.
// 2021, "Practical and private (deep) learning without sampling or shuffling", Algorithm 1): privacy without secret
// sampling, from an order of the records that anybody may know. Or with secret sampling: each step draws from one
// of several groups of records, which take turns (Choquette-Choo et al. 2023, arXiv:2306.08153).
//
// FTRL without constraints, x_{t+1} = x_1 - eta (g_1 + .. + g_t + noise_t), is gradient descent on the increments
// of the noisy prefix sums, and its momentum variant heavy-ball descent on them; so those go to the common
// optimizer.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/amplified_band.hpp"
#include "method/clipped_records.hpp"
#include "method/correlated_noise.hpp"
#include "method/method.hpp"
#include "method/schedule.hpp"
#include "method/sgd/following_clip.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

enum class FtrlSampling { shuffled, cyclic_poisson };

struct DpFtrlSettings final : MethodSettings {
  std::int64_t batch = 256, passes = 1, restarts = 1, groups = 0, seed = 1;
  FtrlSampling sampling = FtrlSampling::shuffled;
  FollowingClipSettings clip;
  CorrelatedNoiseSettings noise;
  OptimizerSettings optimizer;

  void declare(Options& options) override {
    options
        .add_words(
            "sampling", sampling,
            "which records take part in a step: a run of a public shuffle, or a secret Poisson sample of one of "
            "the groups, which take turns",
            {{"shuffled", FtrlSampling::shuffled}, {"cyclic_poisson", FtrlSampling::cyclic_poisson}})
        .add("groups", groups,
             "groups of sampling = cyclic_poisson; 0: as many as leave the least noise, method.band at most",
             Range::closed(0, 0x1p20))
        .add("batch", batch, "records of a step (of cyclic_poisson: expected)", Range::closed(1, 0x1p31))
        .add("passes", passes, "passes over the data (of cyclic_poisson: expected)", Range::closed(1, 0x1p31))
        .add("restarts", restarts, "trees of a pass: each starts from the point where the last one ended",
             Range::closed(1, 0x1p31));
    clip.declare(options);
    noise.declare(options);
    noise.declare_participation(options);
    options.add("seed", seed, "public seed of start point and shuffle", Range::at_least(0));
    optimizer.declare(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    clip.validate(problems);
    optimizer.validate(problems);
    if (!draws_secretly()) {
      if (groups > 0) problems.push_back("method.groups is for method.sampling = cyclic_poisson");
      return;
    }
    if (restarts > 1)
      problems.push_back("method.restarts is for method.sampling = shuffled: a cycle of groups goes on to the end");
    if (clip.follows())
      problems.push_back("method.clip_quantile has no analysis with method.sampling = cyclic_poisson");
  }
  bool draws_secretly() const { return sampling == FtrlSampling::cyclic_poisson; }
  std::string describe_releases() const override {
    return clip.follows() ? "the model, every iterate and every clip" : MethodSettings::describe_releases();
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class DpFtrlPlan final : public MethodPlan {
 public:
  DpFtrlPlan(const DpFtrlSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    require_gradients(*facts.objective, "dp-ftrl");
    settings.clip.require_norms(*facts.objective);
    if (settings.draws_secretly())
      take_turns();
    else
      shuffle();
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {{.name = "gradient",
             .dim = settings_.clip.coordinates(facts_.objective->dim()),
             .sampling = sampling_,
             .bound = settings_.clip.bound(),
             .slack = offered(facts_.objective->gradients()).gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps,
             .kind = running_}};
  }

  // B: records of a step, C: clip, z: noise of a node over the sensitivity of a leaf, sigma: its std in the sum,
  // eta: first rate, of gradients over their clip if it follows.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const double passes = static_cast<double>(settings_.passes), z = gradient.noise_multiplier;
    const Tree tree = gradient.as<RunningSum>()->tree(gradient);
    Derived all{{"B", static_cast<double>(settings_.batch)},
                {"leaves", static_cast<double>(leaves_)},
                {"restarts", static_cast<double>(settings_.restarts)},
                {"passes", passes}};
    const auto* turns = std::get_if<CyclicPoisson>(&sampling_);
    if (turns)
      all.insert(all.end(), {{"groups", real(turns->groups)}, {"band", real(running_.band)}, {"q", turns->rate}});
    if (running_.passes > 1) all.emplace_back("passes_of_a_tree", real(running_.passes));
    for (auto& quantity : settings_.clip.report_quantities(gradient)) all.push_back(std::move(quantity));
    all.emplace_back("mean_prefix_variance", prefix_variance(gradient));
    if (!turns) all.emplace_back("mu", z > 0 ? std::sqrt(passes / real(running_.passes)) * tree_mu(tree) : 0);
    all.emplace_back("eta", optimizer(gradient).rate);
    return all;
  }

  std::vector<NoiseAlternative> noise_alternatives() const override {
    return settings_.draws_secretly() ? band_alternatives(settings_.noise, whole(settings_.groups), cycles())
                                      : settings_.noise.alternatives(sums());
  }

  std::string contradiction(const std::vector<Measure>& earlier, const std::vector<Measure>& later,
                            std::uint64_t between) const override {
    return settings_.clip.contradiction(earlier, later, between);
  }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  // A record is part of one leaf of a pass.
  void shuffle() {
    const std::uint64_t batch = whole(settings_.batch), restarts = whole(settings_.restarts);
    leaves_ = facts_.data.records / (batch * restarts);
    if (leaves_ == 0)
      throw ConfigError(fmt::format("method.batch * method.restarts = {} is larger than n = {}", batch * restarts,
                                    facts_.data.records));
    steps = leaves_ * restarts * whole(settings_.passes);
    sampling_ = Shuffled{whole(settings_.seed), batch, batch, leaves_, restarts};
    running_ = settings_.noise.settled(sums());
    running_.adaptive = settings_.clip.follows();
    running_.votes = settings_.clip.votes();
  }
  // A record is drawn once a cycle at most. All steps are leaves of one sum.
  void take_turns() {
    steps = leaves_ = steps_of_epochs(static_cast<double>(settings_.passes), facts_.data.records,
                                      static_cast<double>(settings_.batch));
    const AmplifiedBand band = settled_band(settings_.noise, whole(settings_.groups), cycles());
    sampling_ = band.sampling;
    running_ = band.running;
  }
  CyclicRun cycles() const {
    return {.records = facts_.data.records,
            .steps = steps,
            .batch = whole(settings_.batch),
            .dim = facts_.objective->dim(),
            .adjacency = facts_.adjacency,
            .epsilon = facts_.epsilon,
            .delta = facts_.delta,
            .is_private = std::isfinite(facts_.rho)};
  }
  SumsOfRun sums() const {
    return {leaves_, whole(settings_.restarts), whole(settings_.passes),
            settings_.clip.coordinates(facts_.objective->dim())};
  }
  static double prefix_variance(const Query& gradient) {
    return gradient.is_private() ? mean_prefix_noise_variance(gradient.as<RunningSum>()->tree(gradient)) : 0;
  }
  // Every tree leaves the noise of a whole prefix in the iterate; if the clip follows, about that of a constant
  // one.
  OptimizerSettings optimizer(const Query& gradient) const {
    const double trees = real(steps) / real(RunningSum::leaves(gradient));
    const double noise = std::sqrt(trees * prefix_variance(gradient)) * gradient.noise_std;
    const double unit = settings_.clip.unit(settings_.clip.highest());
    return settings_.optimizer.settled({real(steps), settings_.clip.highest() / unit,
                                        noise / real(whole(settings_.batch)) / unit,
                                        facts_.objective->label_kind()});
  }

  DpFtrlSettings settings_;
  PublicFacts facts_;
  std::uint64_t leaves_ = 0;  ///< steps of a tree, or of a pass of one that continues
  SamplingRule sampling_;
  RunningSum running_;
};

class DpFtrl final : public Algorithm {
 public:
  DpFtrl(const DpFtrlSettings& settings, const OptimizerSettings& optimizer, Objective& objective,
         const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        batch_(static_cast<double>(settings.batch)),
        clip_(settings.clip, batch_),
        optimizer_(optimizer, objective.dim(), gradient.steps),
        x_(objective.dim()),
        mean_(objective.dim()),
        prefix_(gradient.dim) {
    objective.start_point(PublicStream(whole(settings.seed), "start point"), x_);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(objective_, x_), clip_.scale());
    const auto prefix = curator.release(std::move(total));

    if (t % RunningSum::leaves(gradient_) == 0) std::fill(prefix_.begin(), prefix_.end(), 0.0f);
    const auto per_record = static_cast<float>(1 / batch_);
    for (std::size_t j = 0; j < x_.size(); ++j) mean_[j] = per_record * (prefix[j] - prefix_[j]);
    const double votes = prefix.back() - prefix_.back();
    std::copy(prefix.begin(), prefix.end(), prefix_.begin());
    if (objective_.l2 > 0) objective_.add_regularizer_gradient(x_, mean_);
    optimizer_.update(x_, mean_, static_cast<float>(1 / clip_.unit()), t);
    clip_.follow(votes);
  }

  std::span<const float> iterate() override { return optimizer_.published(x_); }
  std::vector<Measure> measures() const override { return clip_.measures(); }
  std::span<const std::byte> replicated() override { return clip_.beside(iterate()); }
  SizesOverClip sizes_over_clip() override {
    return sizes_of_gradients(objective_, x_, {clip_.clip(), gradient_.bound.clipping});
  }

  void archive(Archive& archive) override {
    archive.field("x", x_);
    archive.field("prefix", prefix_);
    optimizer_.archive(archive);
    clip_.archive(archive);
  }

 private:
  Objective& objective_;
  Query gradient_;
  double batch_;
  FollowingClip clip_;
  Optimizer optimizer_;
  AlignedVector<float> x_, mean_, prefix_;
};

std::unique_ptr<const MethodPlan> DpFtrlSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<DpFtrlPlan>(*this, facts);
}
std::unique_ptr<Algorithm> DpFtrlPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const Query& gradient = queries.at(0);
  return std::make_unique<DpFtrl>(settings_, optimizer(gradient), objective, gradient);
}

const MethodRegistration dp_ftrl{{"dp-ftrl", "gradient descent with tree noise on prefix sums, no secret sampling",
                                  "Kairouz et al. 2021 (arXiv:2103.00039), Algorithm 1",
                                  make_method<DpFtrlSettings>}};

}  // namespace
}  // namespace dpmpi
