// dp-sgd: stochastic gradient descent with per-record clipping and Gaussian noise (Abadi et al. 2016, Algorithm 1).

#include <cmath>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/method.hpp"
#include "method/schedule.hpp"
#include "method/sgd/following_clip.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

struct DpSgdSettings final : MethodSettings {
  std::int64_t batch = 256, steps = 0, seed = 1;
  double epochs = 10;
  std::string sampling = "poisson";
  FollowingClipSettings clip;
  OptimizerSettings optimizer;

  void declare(Options& options) override {
    options.add("batch", batch, "expected batch size (the public normaliser of the mean)", Range::at_least(1))
        .add("epochs", epochs, "passes over the data (expected); or give method.steps", Range::positive())
        .add("steps", steps, "number of steps (0: from method.epochs)", Range::closed(0, most_steps))
        .add("sampling", sampling, "which records take part in a step",
             {"poisson", "balls_in_bins", "wor", "full", "cyclic"});
    clip.declare(options);
    options.add("seed", seed, "public seed of the start point", Range::at_least(0));
    optimizer.declare(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    clip.validate(problems);
    optimizer.validate(problems);
  }
  std::string describe_releases() const override {
    return clip.follows() ? "the model, every iterate and every clip" : MethodSettings::describe_releases();
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class DpSgdPlan final : public MethodPlan {
 public:
  DpSgdPlan(const DpSgdSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    require_gradients(*facts.objective, "dp-sgd");
    settings.clip.require_norms(*facts.objective);
    const std::uint64_t n = facts.data.records;
    rule_ = sampling_rule(settings.sampling, settings.batch, n);
    steps =
        settings.steps > 0 ? whole(settings.steps) : steps_of_epochs(settings.epochs, n, expected_batch(rule_, n));
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {{.name = "gradient",
             .dim = settings_.clip.coordinates(facts_.objective->dim()),
             .sampling = rule_,
             .bound = settings_.clip.bound(),
             .slack = offered(facts_.objective->gradients()).gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps,
             .kind = Sum{settings_.clip.smallest_scale(), settings_.clip.votes()}}};
  }

  // B: expected batch, q: sampling rate, C: clip, z: noise multiplier, sigma: noise std of the sum, eta: first
  // rate, of gradients over their clip if it follows.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const auto n = static_cast<double>(facts_.data.records);
    const double batch = expected_batch(gradient.sampling, gradient.records);
    Derived all{{"B", batch}, {"q", batch / n}};
    for (auto& quantity : settings_.clip.report_quantities(gradient)) all.push_back(std::move(quantity));
    all.insert(all.end(), {{"epochs", static_cast<double>(gradient.steps) * batch / n},
                           {"steps", static_cast<double>(gradient.steps)},
                           {"eta", optimizer(gradient).rate}});
    return all;
  }

  std::string contradiction(const std::vector<Measure>& earlier, const std::vector<Measure>& later,
                            std::uint64_t between) const override {
    return settings_.clip.contradiction(earlier, later, between);
  }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  OptimizerSettings optimizer(const Query& gradient) const {
    const double T = real(gradient.steps), batch = expected_batch(gradient.sampling, gradient.records);
    const double unit = settings_.clip.unit(settings_.clip.highest()), noise = gradient.noise_std / batch / unit;
    return settings_.optimizer.settled(
        {T, settings_.clip.highest() / unit, std::sqrt(T) * noise, facts_.objective->label_kind(), noise});
  }

  DpSgdSettings settings_;
  PublicFacts facts_;
  SamplingRule rule_;
};

class DpSgd final : public Algorithm {
 public:
  DpSgd(const DpSgdSettings& settings, const OptimizerSettings& optimizer, Objective& objective,
        const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        expected_batch_(expected_batch(gradient.sampling, gradient.records)),
        clip_(settings.clip, expected_batch_),
        optimizer_(optimizer, objective.dim(), gradient.steps),
        x_(objective.dim()),
        mean_(objective.dim()) {
    objective.start_point(PublicStream(whole(settings.seed), "start point"), x_);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(objective_, x_), clip_.scale());
    const auto noisy = curator.release(std::move(total));

    const double unit = clip_.unit();
    if (objective_.l2 > 0) {  // the public part of the objective joins after the release
      const auto per_record = static_cast<float>(1 / expected_batch_);
      for (std::size_t j = 0; j < x_.size(); ++j) mean_[j] = per_record * noisy[j];
      objective_.add_regularizer_gradient(x_, mean_);
      optimizer_.update(x_, mean_, static_cast<float>(1 / unit), t);
    } else {
      optimizer_.update(x_, noisy, static_cast<float>(1 / (expected_batch_ * unit)), t);
    }
    clip_.follow(noisy.back());
  }

  std::span<const float> iterate() override { return optimizer_.published(x_); }
  std::vector<Measure> measures() const override { return clip_.measures(); }
  std::span<const std::byte> replicated() override { return clip_.beside(iterate()); }
  SizesOverClip sizes_over_clip() override {
    return sizes_of_gradients(objective_, x_, {clip_.clip(), gradient_.bound.clipping});
  }

  void archive(Archive& archive) override {
    archive.field("x", x_);
    optimizer_.archive(archive);
    clip_.archive(archive);
  }

 private:
  Objective& objective_;
  Query gradient_;
  double expected_batch_;
  FollowingClip clip_;
  Optimizer optimizer_;
  AlignedVector<float> x_, mean_;
};

std::unique_ptr<const MethodPlan> DpSgdSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<DpSgdPlan>(*this, facts);
}
std::unique_ptr<Algorithm> DpSgdPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const Query& gradient = queries.at(0);
  return std::make_unique<DpSgd>(settings_, optimizer(gradient), objective, gradient);
}

const MethodRegistration dp_sgd{
    {"dp-sgd", "SGD or Adam on clipped, noised per-record gradients; settings may be auto (dpmpi suggest)",
     "Abadi et al. 2016 (arXiv:1607.00133), Algorithm 1", make_method<DpSgdSettings>}};

}  // namespace
}  // namespace dpmpi
