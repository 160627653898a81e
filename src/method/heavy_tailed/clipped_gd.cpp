// clipped-gd: full-batch gradient descent on clipped per-record gradients with Gaussian noise, the practical method
// for records whose gradients have heavy tails (Asi, Liu and Tian 2024, Algorithm 1, on all records at once).

#include <cmath>

#include <fmt/format.h>

#include "method/heavy_tailed/advice.hpp"
#include "method/heavy_tailed/proximal_descent.hpp"
#include "method/method.hpp"
#include "method/require.hpp"
#include "method/schedule.hpp"
#include "method/sgd/clip_rule.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

class ClippedGd final : public Method {
 public:
  void declare(Options& options) override {
    options.add("steps", steps_, "number of steps T", Range::at_least(1))
        .add("sampling", sampling_, "all records in every step, or a secret Poisson sample", {"full", "poisson"})
        .add("batch", batch_, "expected batch size of Poisson samples (the public normaliser of the mean)",
             Range::at_least(1))
        .add("seed", seed_, "public seed of the start point", Range::at_least(0));
    clip_.declare(options);
    descent_.declare(options);
  }

  void validate(std::vector<std::string>& problems) const override {
    clip_.validate(problems);
    descent_.validate(problems);
  }

  std::uint64_t steps(const PublicFacts&) const override { return static_cast<std::uint64_t>(steps_); }

  // The choice of the clip uses the records of the training again, so that the squares of the two mu add up.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    check(facts);
    std::vector<QuerySpec> all{{.name = "gradient",
                                .dim = facts.objective->dim(),
                                .sampling = rule(facts.data),
                                .bound = {clip_.largest()},
                                .slack = facts.objective->gradient_slack(),
                                .noise_multiplier = noise_multiplier,
                                .steps = steps(facts),
                                .kind = Sum{clip_.smallest_scale()}}};
    if (clip_.is_private()) all.push_back(clip_.query(training(facts.data, noise_multiplier)));
    return all;
  }

  // T: steps, m: the public divisor, q: the share of the records in a step, mu: of both releases (for q < 1 about),
  // sigma: noise std of the mean, C: clip.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const auto spent = training(facts.data, gradient.noise_multiplier);
    const double m = expected_batch(gradient.sampling, gradient.records), sigma = gradient.noise_std / m;
    Derived all{{"T", spent.steps}, {"m", m}, {"q", spent.share}, {"mu", clip_.total_mu(spent)}};
    if (!clip_.is_private()) {
      all.insert(all.end(), {{"C", clip_.largest()}, {"sigma", sigma}, {"clip", "public constant"}});
      return all;
    }
    all.insert(all.end(), {{"sigma / C", sigma / clip_.largest()},
                           {"clip", "private choice"},
                           {"mu_q", ClipRule::Training{1, 1, queries.at(1).noise_multiplier}.mu()},
                           {"target", clip_.target(facts, spent)},
                           {"target_error", clip_.target_error(facts, spent)}});
    return all;
  }

  std::string notes(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const auto spent = training(facts.data, queries.at(0).noise_multiplier);
    return descent_advice(facts, clip_.total_mu(spent)) + clip_.notes(facts, spent);
  }

  std::string released() const override {
    return clip_.is_private() ? "the model, every iterate and the choice of the clip" : Method::released();
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    if (clip_.is_private()) choice_ = queries.at(1);
    divisor_ = expected_batch(gradient_.sampling, gradient_.records);
    PublicFacts facts{{.records = gradient_.records}, &objective, gradient_.adjacency};
    clip_.start(clip_.target(facts, training(facts.data, gradient_.noise_multiplier)));
    std::vector<float> start(objective.dim());
    objective.initialise(PublicStream(static_cast<std::uint64_t>(seed_), "start point"), start);
    descent_.start(start, steps);
  }

  void step(Curator& curator, std::uint64_t t) override {
    if (t == 0) clip_.choose(curator, choice_, *objective_, descent_.point());
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(*objective_, descent_.point()), clip_.scale());
    const auto noisy = curator.release(std::move(total));
    descent_.update(*objective_, noisy, 1 / divisor_, t);
  }

  std::span<const float> iterate() const override { return descent_.published(); }
  std::span<const std::byte> replicated() const override { return std::as_bytes(descent_.point()); }
  void archive(Archive& archive) override {
    clip_.archive(archive);
    descent_.archive(archive);
  }

 private:
  void check(const PublicFacts& facts) const {
    std::vector<std::string> problems;
    check_gradients(*facts.objective, "clipped-gd", problems);
    if (facts.objective->has_gradients()) clip_.check(*facts.objective, problems);
    if (sampling_ == "poisson" && static_cast<std::uint64_t>(batch_) > facts.data.records)
      problems.push_back(fmt::format("method.batch = {} must be at most {}, the records of data.train", batch_,
                                     facts.data.records));
    refuse(problems);
  }

  SamplingRule rule(const DatasetFacts& data) const { return sampling_rule(sampling_, batch_, data.records); }

  ClipRule::Training training(const DatasetFacts& data, double noise_multiplier) const {
    const double share = expected_batch(rule(data), data.records) / static_cast<double>(data.records);
    return {static_cast<double>(steps_), share, noise_multiplier};
  }

  std::int64_t steps_ = 60, batch_ = 1024, seed_ = 1;
  std::string sampling_ = "full";
  ClipRule clip_;
  ProximalDescent descent_;

  Objective* objective_ = nullptr;
  Query gradient_, choice_;
  double divisor_ = 1;
};

const MethodRegistration clipped_gd{{"clipped-gd", "full-batch descent on clipped gradients, for heavy-tailed data",
                                     "Asi, Liu and Tian 2024 (arXiv:2406.02789), Algorithm 1",
                                     make_method<ClippedGd>}};

}  // namespace
}  // namespace dpmpi
