// dp-sgda: stochastic gradient descent ascent on clipped, noised gradients of both sides of a min-max problem (Yang
// et al. 2022), and dptd, the same along momentum averages of both noisy gradients (Zhao et al. 2023, from temporal
// differences).
//
// Both gradients are sums over one batch, so they are one query: contributions (clip(g_x, C_1), lambda clip(g_y,
// C_2)) under one noise deviation sigma. To account for two separately sampled queries would under-report. The
// printed practical noise lacks its clip radius, and its loop makes one update more than it counts.

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/method.hpp"
#include "method/minimax/released_prior.hpp"
#include "method/minimax/saddle_iterate.hpp"
#include "method/minimax/settings.hpp"

namespace dpmpi {
namespace {

struct DpSgdaSettings : MethodSettings {
  SaddleSettings common;
  double dual_share = 0.1;
  std::optional<double> mixing = {};  ///< b of dptd

  void declare(Options& options) override {
    common.declare(options);
    options.add("dual_share", dual_share, "share of the noise budget that the dual gets", Range::open(0, 1));
  }
  void validate(std::vector<std::string>& problems) const override { common.validate(problems); }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

struct DptdSettings final : DpSgdaSettings {
  DptdSettings() { mixing = 0.1; }
  void declare(Options& options) override {
    DpSgdaSettings::declare(options);
    options.add("mixing", *mixing, "weight b of the newest gradient in the momentum average", {0, 1, true, false});
  }
};

class DpSgdaPlan final : public MethodPlan {
 public:
  DpSgdaPlan(const DpSgdaSettings& settings, const PublicFacts& facts)
      : settings_(settings), f_(saddle(facts.objective, "dp-sgda")), records_(facts.data.records) {
    settings.common.check(f_);
    // lambda: of the joint norm sqrt(C_1^2 + (lambda C_2)^2), squared, the dual has its share.
    const double clip = settings.common.clip, dual = settings.common.dual_bound(f_), share = settings.dual_share;
    clips_ = {clip, dual, clip / dual * std::sqrt(share / (1 - share))};
    rule_ = settings.common.rule(facts.data);
    steps = settings.common.rounds(facts.data);
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    std::vector<QuerySpec> all;
    if (settings_.common.private_prior) all.push_back(prior_query(settings_.common, steps, noise_multiplier));
    const bool joint = f_.primal() != nullptr;
    all.push_back({.name = joint ? "gradients" : "dual",
                   .dim = joint ? f_.dim() : f_.dual_dim(),
                   .sampling = rule_,
                   .bound = {joint ? clips_.norm() : clips_.dual},
                   .slack = joint ? f_.primal()->saddle_gradient_slack() : f_.dual_gradient_slack(),
                   .noise_multiplier = noise_multiplier,
                   .steps = steps});
    return all;
  }

  // z_x and z_y: noise of the two sides over their own clips; 1 / z^2 = 1 / z_x^2 + 1 / z_y^2.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& query = of_gradients(queries);
    const double n = real(records_), z = query.noise_multiplier;
    const double batch = expected_batch(query.sampling, query.records);
    const bool joint = f_.primal() != nullptr;
    return {{"B", batch},
            {"q", batch / n},
            {"R", real(query.steps)},
            {"C_1", joint ? clips_.primal : 0},
            {"C_2", clips_.dual},
            {"lambda", clips_.weight},
            {"z", z},
            {"z_x", joint ? z * clips_.norm() / clips_.primal : 0},
            {"z_y", joint ? z * clips_.norm() / (clips_.weight * clips_.dual) : z},
            {"sigma", query.noise_std},
            {"epochs", real(query.steps) * batch / n},
            {"eta_x", descent(query).rate}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  const Query& of_gradients(const std::vector<Query>& queries) const {
    return queries.at(settings_.common.private_prior ? 1 : 0);
  }

  // A mixing of 1 / b gradients keeps their mean, and shares the noise of each among steps. A primal without
  // records has no noise.
  OptimizerSettings descent(const Query& query) const {
    const double R = real(query.steps), batch = expected_batch(query.sampling, query.records);
    PublicSteps run{R, settings_.common.clip, std::sqrt(R) * query.noise_std / batch, f_.label_kind()};
    if (!settings_.mixing) run.step_noise = f_.primal() ? query.noise_std / batch : 0;
    return settings_.common.descent.settled(run);
  }

  DpSgdaSettings settings_;
  const SaddleObjective& f_;
  std::uint64_t records_;
  SaddleClip clips_;
  SamplingRule rule_;
};

class DpSgda final : public Algorithm {
 public:
  DpSgda(const DpSgdaSettings& settings, const SaddleClip& clips, SaddleObjective& f, const Query& query,
         const std::optional<Query>& prior)
      : f_(f),
        clips_(clips),
        query_(query),
        mixing_(settings.mixing),
        prior_(settings.common, prior),
        iterate_(f, settings.common, query.steps),
        g_(f.dim()),
        average_(settings.mixing ? f.dim() : 0) {}

  void step(Curator& curator, std::uint64_t t) override {
    prior_.release(curator, f_, t);
    const auto w = iterate_.point();
    const auto gx = std::span(g_).first(f_.primal_dim()), gy = std::span(g_).subspan(f_.primal_dim());
    std::fill(g_.begin(), g_.end(), 0.0);

    const Batch batch = curator.draw(query_, t);
    const double per_record = 1 / expected_batch(query_.sampling, query_.records);
    if (f_.primal()) {
      const auto noisy = curator.release(curator.sum(query_, batch, clipped_saddle_gradients(f_, w, clips_)));
      for (std::size_t j = 0; j < g_.size(); ++j) g_[j] = per_record * noisy[j];
      for (double& g : gy) g /= clips_.weight;
    } else {
      const auto noisy = curator.release(curator.sum(query_, batch, clipped_dual_gradients(f_, w)));
      for (std::size_t j = 0; j < gy.size(); ++j) gy[j] = per_record * noisy[j];
    }
    iterate_.add_public_primal(t, gx);
    iterate_.add_public_dual(t, gy);
    if (mixing_) average(*mixing_);

    iterate_.descend(gx, t);  // both at (x_t, y_t)
    iterate_.ascend(gy, iterate_.dual_rate_at(t, 0));
    iterate_.end_round(t);
  }

  std::span<const float> iterate() override { return iterate_.published(); }
  /// Of the primal gradients, where the problem has any: what bounds those of the dual follows from it.
  SizesOverClip sizes_over_clip() override {
    const auto w = iterate_.point();
    if (!f_.primal())
      return sizes_of_kernel(clipped_dual_gradients(f_, w), f_.dual_dim(), query_.bound,
                             {{0, f_.dual_dim(), clips_.dual}});
    return sizes_of_kernel(clipped_saddle_gradients(f_, w, clips_), f_.dim(), query_.bound,
                           {{0, f_.primal_dim(), clips_.primal}});
  }

  void archive(Archive& archive) override {
    prior_.archive(archive, f_);
    iterate_.archive(archive);
    if (mixing_) archive.field("average", average_);
  }

 private:
  // m <- (1 - b) m + b g of both noisy gradients; steps go along m. The paper has it for temporal differences only
  // and gives no pseudo-code; this is our reading.
  void average(double b) {
    for (std::size_t j = 0; j < g_.size(); ++j) g_[j] = average_[j] = (1 - b) * average_[j] + b * g_[j];
  }

  SaddleObjective& f_;
  SaddleClip clips_;
  Query query_;
  std::optional<double> mixing_;
  ReleasedPrior prior_;
  SaddleIterate iterate_;
  std::vector<double> g_, average_;
};

std::unique_ptr<const MethodPlan> DpSgdaSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<DpSgdaPlan>(*this, facts);
}
std::unique_ptr<Algorithm> DpSgdaPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  std::optional<Query> prior;
  if (settings_.common.private_prior) prior = queries.front();
  DpSgdaSettings settings = settings_;
  const Query& gradients = of_gradients(queries);
  settings.common.descent = descent(gradients);
  return std::make_unique<DpSgda>(settings, clips_, offered(objective.saddle()), gradients, prior);
}

const MethodRegistration dp_sgda{{"dp-sgda", "min-max: descent ascent on clipped, noised gradients of both sides",
                                  "Yang et al. 2022 (arXiv:2201.09046), one joint query a step",
                                  make_method<DpSgdaSettings>}};
const MethodRegistration dptd{{"dptd", "min-max: dp-sgda with momentum on both sides",
                               "Zhao et al. 2023, accounted like dp-sgda", make_method<DptdSettings>}};

}  // namespace
}  // namespace dpmpi
