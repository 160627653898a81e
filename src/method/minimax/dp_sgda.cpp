// dp-sgda: stochastic gradient descent ascent on clipped, noised gradients of both sides of a min-max problem (Yang
// et al. 2022), and dptd, the same along momentum averages of both noisy gradients (Zhao et al. 2023, from temporal
// differences).
//
// Both gradients are sums over one batch, so they are one query: contributions (clip(g_x, C_1), lambda clip(g_y,
// C_2)) under one noise deviation sigma. To account for two separately sampled queries would under-report. The
// printed practical noise lacks its clip radius, and its loop makes one update more than it counts.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/method.hpp"
#include "method/minimax/options.hpp"
#include "method/minimax/saddle_iterate.hpp"

namespace dpmpi {
namespace {

class DpSgda : public Method {
 public:
  void declare(Options& options) override {
    options_.declare(options);
    options.add("dual_share", dual_share_, "share of the noise budget that the dual gets", Range::open(0, 1));
  }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override { return options_.rounds(facts.data); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const SaddleObjective& f = saddle(facts.objective, "dp-sgda");
    options_.require_dual_rate(f);
    std::vector<QuerySpec> all;
    if (options_.private_prior()) all.push_back(options_.prior_query(facts, noise_multiplier));
    const bool joint = f.primal_is_private();
    all.push_back({.name = joint ? "gradients" : "dual",
                   .dim = joint ? f.dim() : f.dual_dim(),
                   .sampling = options_.rule(facts.data),
                   .bound = {joint ? clips(f).norm() : options_.dual_bound(f)},
                   .slack = joint ? f.saddle_gradient_slack() : f.dual_gradient_slack(),
                   .noise_multiplier = noise_multiplier,
                   .steps = steps(facts)});
    return all;
  }

  // z_x and z_y: noise of the two sides over their own clips; 1 / z^2 = 1 / z_x^2 + 1 / z_y^2.
  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const SaddleObjective& f = saddle(facts.objective, "dp-sgda");
    const Query& query = queries.back();
    const auto n = static_cast<double>(facts.data.records);
    const double batch = expected_batch(query.sampling, query.records), z = query.noise_multiplier;
    const SaddleClip c = clips(f);
    const bool joint = f.primal_is_private();
    return {{"B", batch},
            {"q", batch / n},
            {"R", static_cast<double>(query.steps)},
            {"C_1", joint ? c.primal : 0},
            {"C_2", c.dual},
            {"lambda", c.weight},
            {"z", z},
            {"z_x", joint ? z * c.norm() / c.primal : 0},
            {"z_y", joint ? z * c.norm() / (c.weight * c.dual) : z},
            {"sigma", query.noise_std},
            {"epochs", static_cast<double>(query.steps) * batch / n}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    f_ = &dynamic_cast<SaddleObjective&>(objective);
    clips_ = clips(*f_);
    query_ = queries.back();
    prior_.start(options_, queries.front());
    iterate_.start(*f_, options_, steps);
    g_.assign(f_->dim(), 0.0);
  }

  void step(Curator& curator, std::uint64_t t) override {
    prior_.release(curator, *f_, t);
    const auto w = iterate_.point();
    const auto gx = std::span(g_).first(f_->primal_dim()), gy = std::span(g_).subspan(f_->primal_dim());
    std::fill(g_.begin(), g_.end(), 0.0);

    const Batch batch = curator.draw(query_, t);
    const double per_record = 1 / expected_batch(query_.sampling, query_.records);
    if (f_->primal_is_private()) {
      const auto noisy = curator.release(curator.sum(query_, batch, clipped_saddle_gradients(*f_, w, clips_)));
      for (std::size_t j = 0; j < g_.size(); ++j) g_[j] = per_record * noisy[j];
      for (double& g : gy) g /= clips_.weight;
    } else {
      const auto noisy = curator.release(curator.sum(query_, batch, clipped_dual_gradients(*f_, w)));
      for (std::size_t j = 0; j < gy.size(); ++j) gy[j] = per_record * noisy[j];
    }
    iterate_.add_public_primal(t, gx);
    iterate_.add_public_dual(t, gy);
    smooth(g_);

    iterate_.descend(gx, t);  // both at (x_t, y_t)
    iterate_.ascend(gy, options_.dual_rate_at(*f_, t, 0));
    iterate_.end_round(t);
  }

  std::span<const float> iterate() const override { return iterate_.published(); }

  void archive(Archive& archive) override {
    prior_.archive(archive, *f_);
    iterate_.archive(archive);
  }

 private:
  virtual void smooth(std::span<double> /*gradient*/) {}

  // lambda: of the joint norm sqrt(C_1^2 + (lambda C_2)^2), squared, the dual has its share.
  SaddleClip clips(const SaddleObjective& f) const {
    const double dual = options_.dual_bound(f), share = dual_share_;
    return {options_.clip, dual, options_.clip / dual * std::sqrt(share / (1 - share))};
  }

  SaddleOptions options_;
  double dual_share_ = 0.1;
  SaddleObjective* f_ = nullptr;
  SaddleClip clips_;
  Query query_;
  ReleasedPrior prior_;
  SaddleIterate iterate_;
  std::vector<double> g_;
};

// m <- (1 - b) m + b g of both noisy gradients; steps go along m. The paper has it for temporal differences only
// and gives no pseudo-code; this is our reading.
class Dptd final : public DpSgda {
 public:
  void declare(Options& options) override {
    DpSgda::declare(options);
    options.add("mixing", mixing_, "weight b of the newest gradient in the momentum average", {0, 1, true, false});
  }
  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    DpSgda::start(objective, queries, steps);
    average_.assign(objective.dim(), 0.0);
  }
  void archive(Archive& archive) override {
    DpSgda::archive(archive);
    archive.field("average", average_);
  }

 private:
  void smooth(std::span<double> gradient) override {
    for (std::size_t j = 0; j < gradient.size(); ++j)
      gradient[j] = average_[j] = (1 - mixing_) * average_[j] + mixing_ * gradient[j];
  }
  double mixing_ = 0.1;
  std::vector<double> average_;
};

const MethodRegistration dp_sgda{{"dp-sgda", "min-max: descent ascent on clipped, noised gradients of both sides",
                                  "Yang et al. 2022 (arXiv:2201.09046), one joint query a step",
                                  make_method<DpSgda>}};
const MethodRegistration dptd{{"dptd", "min-max: dp-sgda with momentum on both sides",
                               "Zhao et al. 2023, accounted like dp-sgda", make_method<Dptd>}};

}  // namespace
}  // namespace dpmpi
