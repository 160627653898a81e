// dp-sgd: stochastic gradient descent with per-record clipping and Gaussian noise (Abadi et al. 2016, Algorithm 1).

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/method.hpp"
#include "method/schedule.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

class DpSgd final : public Method {
 public:
  void declare(Options& options) override {
    options.add("batch", batch_, "expected batch size (the public normaliser of the mean)", Range::at_least(1))
        .add("epochs", epochs_, "passes over the data (expected); or give method.steps", Range::positive())
        .add("steps", steps_, "number of steps (0: from method.epochs)", Range::closed(0, most_steps))
        .add("sampling", sampling_, "which records take part in a step", {"poisson", "wor", "full", "cyclic"})
        .add("clip", clip_, "bound C on the norm of one record's gradient", Range::positive())
        .add("clipping", clipping_, "one bound for the whole gradient, or clip / sqrt(L) for each of L layers",
             {"flat", "per_layer"})
        .add("seed", seed_, "public seed of the start point", Range::at_least(0));
    optimizer_.declare(options);
  }

  void validate(std::vector<std::string>& problems) const override { optimizer_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override {
    if (steps_ > 0) return static_cast<std::uint64_t>(steps_);
    const double batch = expected_batch(rule(facts.data), facts.data.records);
    return steps_of_epochs(epochs_, facts.data.records, batch);
  }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    require_gradients(*facts.objective, "dp-sgd");
    return {{.name = "gradient",
             .dim = facts.objective->dim(),
             .sampling = rule(facts.data),
             .bound = {clip_, clipping_ == "flat" ? Clipping::flat : Clipping::per_layer},
             .slack = facts.objective->gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps(facts)}};
  }

  // B: expected batch, q: sampling rate, C: clip, z: noise multiplier, sigma: noise std of the sum.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const auto n = static_cast<double>(facts.data.records);
    const double batch = expected_batch(gradient.sampling, gradient.records);
    return {{"B", batch},
            {"q", batch / n},
            {"C", clip_},
            {"z", gradient.noise_multiplier},
            {"sigma", gradient.noise_std},
            {"epochs", static_cast<double>(gradient.steps) * batch / n},
            {"steps", static_cast<double>(gradient.steps)}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    expected_batch_ = expected_batch(gradient_.sampling, gradient_.records);
    x_.assign(objective.dim(), 0.0f);
    mean_.assign(objective.dim(), 0.0f);
    objective.initialise(PublicStream(static_cast<std::uint64_t>(seed_), "start point"), x_);
    optimizer_.start(objective.dim(), steps);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(*objective_, x_));
    const auto noisy = curator.release(std::move(total));

    const auto per_record = static_cast<float>(1 / expected_batch_);
    if (objective_->l2 > 0) {  // the public part of the objective joins after the release
      for (std::size_t j = 0; j < x_.size(); ++j) mean_[j] = per_record * noisy[j];
      objective_->add_regularizer_gradient(x_, mean_);
      optimizer_.update(x_, mean_, 1, t);
    } else {
      optimizer_.update(x_, noisy, per_record, t);
    }
  }

  std::span<const float> iterate() const override { return optimizer_.published(x_); }

  void archive(Archive& archive) override {
    archive.field("x", x_);
    optimizer_.archive(archive);
  }

 private:
  SamplingRule rule(const DatasetFacts& data) const { return sampling_rule(sampling_, batch_, data.records); }

  std::int64_t batch_ = 256, steps_ = 0, seed_ = 1;
  double epochs_ = 10, clip_ = 1;
  std::string sampling_ = "poisson", clipping_ = "flat";
  Optimizer optimizer_;

  Objective* objective_ = nullptr;
  Query gradient_;
  double expected_batch_ = 1;
  AlignedVector<float> x_, mean_;
};

const MethodRegistration dp_sgd{{"dp-sgd", "SGD or Adam on clipped, noised per-record gradients",
                                 "Abadi et al. 2016 (arXiv:1607.00133), Algorithm 1", make_method<DpSgd>}};

}  // namespace
}  // namespace dpmpi
