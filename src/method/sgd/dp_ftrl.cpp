// dp-ftrl: follow the regularised leader on clipped gradients whose prefix sums carry tree noise (Kairouz et al.
// 2021, "Practical and private (deep) learning without sampling or shuffling", Algorithm 1): privacy without secret
// sampling, from an order of the records that anybody may know.
//
// FTRL without constraints, x_{t+1} = x_1 - eta (g_1 + .. + g_t + noise_t), is gradient descent on the increments
// of the noisy prefix sums, and its momentum variant heavy-ball descent on them; so those go to the common
// optimizer.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "method/sgd/optimizer.hpp"
#include "objective/minimax/saddle.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

class DpFtrl : public Method {
 public:
  void declare(Options& options) override {
    options.add("batch", batch_, "records of a step", Range::closed(1, 0x1p31))
        .add("passes", passes_, "passes over the data; each starts a new tree", Range::closed(1, 0x1p31))
        .add("restarts", restarts_, "trees of a pass: each starts from the point where the last one ended",
             Range::closed(1, 0x1p31))
        .add("clip", clip_, "bound C on the norm of one record's gradient", Range::positive())
        .add("clipping", clipping_, "one bound for the whole gradient, or clip / sqrt(L) for each of L layers",
             {"flat", "per_layer"})
        .add("strategy", strategy_, "correlation of the noise of prefix sums",
             {"fenwick", "full_honaker", "sqrt_toeplitz", "banded"})
        .add("band", band_, "diagonals of strategy = banded", Range::at_least(1))
        .add("seed", seed_, "public seed of start point and shuffle", Range::at_least(0));
    optimizer_.declare(options);
  }

  void validate(std::vector<std::string>& problems) const override { optimizer_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override {
    return leaves(facts) * whole(restarts_) * whole(passes_);
  }

  // A record is part of one leaf of a pass.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    require_gradients(*facts.objective, "dp-ftrl");
    const std::uint64_t leaf = leaves(facts);
    return {{.name = "gradient",
             .dim = facts.objective->dim(),
             .sampling = Shuffled{whole(seed_), whole(batch_), whole(batch_), leaf, whole(restarts_)},
             .bound = {clip_, clipping_ == "flat" ? Clipping::flat : Clipping::per_layer},
             .slack = facts.objective->gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps(facts),
             .kind = RunningSum{.strategy = strategy(), .band = band(leaf)}}};
  }

  // B: records of a step, C: clip, z: noise of a node over the sensitivity of a leaf, sigma: its std in the sum.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& gradient = queries.at(0);
    const double passes = static_cast<double>(passes_), z = gradient.noise_multiplier;
    const Tree tree = gradient.as<RunningSum>()->tree(gradient);
    return {{"B", static_cast<double>(batch_)},
            {"leaves", static_cast<double>(leaves(facts))},
            {"restarts", static_cast<double>(restarts_)},
            {"passes", passes},
            {"C", clip_},
            {"z", z},
            {"sigma", gradient.noise_std},
            {"mean_prefix_variance", z > 0 ? mean_prefix_noise_variance(tree) : 0},
            {"mu", z > 0 ? std::sqrt(passes) * tree_mu(tree) : 0}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    x_.assign(objective.dim(), 0.0f);
    mean_.assign(objective.dim(), 0.0f);
    prefix_.assign(objective.dim(), 0.0f);
    objective.initialise(PublicStream(whole(seed_), "start point"), x_);
    optimizer_.start(objective.dim(), steps);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch batch = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, batch, clipped_gradients(*objective_, x_));
    const auto prefix = curator.release(std::move(total));

    if (t % RunningSum::leaves(gradient_) == 0) std::fill(prefix_.begin(), prefix_.end(), 0.0f);
    const auto per_record = static_cast<float>(1 / static_cast<double>(batch_));
    for (std::size_t j = 0; j < x_.size(); ++j) mean_[j] = per_record * (prefix[j] - prefix_[j]);
    std::copy(prefix.begin(), prefix.end(), prefix_.begin());
    if (objective_->l2 > 0) objective_->add_regularizer_gradient(x_, mean_);
    optimizer_.update(x_, mean_, 1, t);
  }

  std::span<const float> iterate() const override { return optimizer_.published(x_); }

  void archive(Archive& archive) override {
    archive.field("x", x_);
    archive.field("prefix", prefix_);
    optimizer_.archive(archive);
  }

 private:
  std::uint64_t leaves(const PublicFacts& facts) const {
    const std::uint64_t count = facts.data.records / (whole(batch_) * whole(restarts_));
    if (count == 0)
      throw ConfigError(fmt::format("method.batch * method.restarts = {} is larger than the data ({} records)",
                                    batch_ * restarts_, facts.data.records));
    return count;
  }
  Strategy strategy() const {
    for (const auto s : {Strategy::full_honaker, Strategy::sqrt_toeplitz, Strategy::banded})
      if (strategy_ == name(s)) return s;
    return Strategy::fenwick;
  }
  std::uint64_t band(std::uint64_t leaves) const {
    return strategy_ == "banded" ? std::min(whole(band_), leaves) : 0;
  }

  std::int64_t batch_ = 256, passes_ = 1, restarts_ = 1, band_ = 64, seed_ = 1;
  double clip_ = 1;
  std::string clipping_ = "flat", strategy_ = "full_honaker";
  Optimizer optimizer_;
  Objective* objective_ = nullptr;
  Query gradient_;
  AlignedVector<float> x_, mean_, prefix_;
};

const MethodRegistration dp_ftrl{{"dp-ftrl", "gradient descent with tree noise on prefix sums, no secret sampling",
                                  "Kairouz et al. 2021 (arXiv:2103.00039), Algorithm 1", make_method<DpFtrl>}};

}  // namespace
}  // namespace dpmpi
