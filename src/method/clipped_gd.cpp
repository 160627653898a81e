// clipped-gd: full-batch gradient descent on clipped per-record gradients with Gaussian noise, the practical method
// for records whose gradients have heavy tails (Asi, Liu and Tian 2024, Algorithm 1, on all records at once).

#include <cmath>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/method/method.hpp"
#include "dpmpi/method/proximal_descent.hpp"
#include "dpmpi/objective/saddle.hpp"

namespace dpmpi {
namespace {

class ClippedGd final : public Method {
 public:
  void declare(Options& options) override {
    options.add("steps", steps_, "number of steps T", Range::at_least(1))
        .add("clip", clip_, "public bound C on the norm of one record's gradient", Range::positive())
        .add("sampling", sampling_, "all records in every step, or a secret Poisson sample", {"full", "poisson"})
        .add("batch", batch_, "expected batch size of Poisson samples (the public normaliser of the mean)",
             Range::at_least(1))
        .add("seed", seed_, "public seed of the start point", Range::at_least(0));
    descent_.declare(options);
  }

  void validate(std::vector<std::string>& problems) const override { descent_.validate(problems); }

  std::uint64_t steps(const PublicFacts&) const override { return static_cast<std::uint64_t>(steps_); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    require_gradients(*facts.objective, "clipped-gd");
    return {{.name = "gradient",
             .dim = facts.objective->dim(),
             .sampling = rule(facts.data),
             .bound = {clip_},
             .slack = facts.objective->gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps(facts)}};
  }

  // T: steps, C: clip, m: the public divisor, mu: of full batches, sigma: noise std of the mean.
  Derived derived(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const double m = expected_batch(gradient.sampling, gradient.records);
    return {{"T", static_cast<double>(gradient.steps)},
            {"C", clip_},
            {"m", m},
            {"q", m / static_cast<double>(facts.data.records)},
            {"sigma", gradient.noise_std / m}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    divisor_ = expected_batch(gradient_.sampling, gradient_.records);
    mean_.assign(objective.dim(), 0.0f);
    objective.initialise(PublicStream(static_cast<std::uint64_t>(seed_), "start point"), mean_);
    descent_.start(mean_, steps);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch batch = curator.draw(gradient_, t);
    const auto noisy =
        curator.release(curator.sum(gradient_, batch, clipped_gradients(*objective_, descent_.point())));
    descent(noisy, t);
  }

  std::span<const float> iterate() const override { return descent_.published(); }
  std::span<const std::byte> replicated() const override { return std::as_bytes(descent_.point()); }
  void archive(Archive& archive) override { descent_.archive(archive); }

 private:
  SamplingRule rule(const DatasetFacts& data) const {
    const auto batch = static_cast<std::uint64_t>(batch_);
    if (sampling_ == "full") return FullBatch{};
    if (batch > data.records)
      throw ConfigError(fmt::format("method.batch = {} is larger than the data ({} records)", batch, data.records));
    return Poisson{static_cast<double>(batch) / static_cast<double>(data.records)};
  }

  // The public part of the objective (objective.l2) joins after the release; the regulariser is the descent's.
  void descent(std::span<const float> noisy, std::uint64_t t) {
    if (objective_->l2 == 0) return descent_.update(noisy, 1 / divisor_, t);
    const auto per_record = static_cast<float>(1 / divisor_);
    for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] = per_record * noisy[j];
    objective_->add_regularizer_gradient(descent_.point(), mean_);
    descent_.update(mean_, 1, t);
  }

  std::int64_t steps_ = 60, batch_ = 1024, seed_ = 1;
  double clip_ = 1;
  std::string sampling_ = "full";
  ProximalDescent descent_;

  Objective* objective_ = nullptr;
  Query gradient_;
  double divisor_ = 1;
  AlignedVector<float> mean_;
};

const MethodRegistration clipped_gd{{"clipped-gd", "full-batch descent on clipped gradients, for heavy-tailed data",
                                     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithm 1",
                                     [] { return std::unique_ptr<Method>(std::make_unique<ClippedGd>()); }}};

}  // namespace
}  // namespace dpmpi
