// ucb-bo: Bayesian optimisation with the Gaussian mechanism, in few dimensions. Each step takes the public point
// with the smallest lower confidence bound of a Gaussian process that is given the noisy means so far (GP-UCB,
// Srinivas et al. 2010), and releases the noisy mean loss there. The process and the choice are post-processing, so
// T steps cost what T Gaussian releases cost.

#include <cmath>
#include <memory>
#include <numbers>

#include "core/numbers/real.hpp"
#include "method/black_box/box_search.hpp"
#include "method/black_box/loss_surrogate.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

constexpr double failure = 0.1;  // of the confidence bounds of the theorem

struct UcbBoSettings final : MethodSettings {
  BoxSearch box;
  std::int64_t steps = 40, candidates = 1000, seed = 1;
  SurrogateKernel kernel = SurrogateKernel::matern52;
  double lengthscale = 0.3, prior_std = 0, beta = 4;

  void declare(Options& options) override {
    box.declare(options);
    options.add("steps", steps, "evaluations T", Range::closed(1, 500))
        .add("candidates", candidates, "public random points to choose from", Range::closed(1, 20000))
        .add_words("kernel", kernel, "covariance of the process",
                   {{"matern52", SurrogateKernel::matern52}, {"rbf", SurrogateKernel::rbf}})
        .add("lengthscale", lengthscale, "of the covariance, in units of the box's side", Range::positive())
        .add("prior_std", prior_std, "deviation of the mean loss over the box (0: C / 4)", Range::non_negative())
        .add("beta", beta, "square of the bound's width in deviations (0: that of the theorem, which grows with t)",
             Range::non_negative())
        .add("seed", seed, "public seed of the points", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override { box.validate(problems); }
  std::string describe_releases() const override {
    return "the model, every evaluated point and its noisy mean loss";
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class UcbBoPlan final : public BoxSearchPlan {
 public:
  UcbBoPlan(const UcbBoSettings& settings, const PublicFacts& facts)
      : BoxSearchPlan(settings.box, facts, 1, whole(settings.steps)), settings_(settings) {}

  Derived report_quantities(const std::vector<Query>& queries) const override {
    return quantities("T", queries.at(0));
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  UcbBoSettings settings_;
};

class UcbBo final : public Algorithm {
 public:
  UcbBo(const UcbBoSettings& settings, Objective& objective, const Query& losses)
      : settings_(settings),
        losses_(settings.box, objective, losses),
        surrogate_(prior(settings, mean_noise(losses)), objective.dim(), candidates(settings, objective.dim())),
        best_(objective.dim()) {}

  void step(Curator& curator, std::uint64_t t) override {
    const std::uint32_t next = surrogate_.lowest(std::sqrt(beta(t)));
    settings_.box.place(surrogate_.point(next), losses_.point(0));
    const double mean = losses_.measure(curator, t)[0];
    observed_.push_back(next);
    values_.push_back(mean - settings_.box.clip / 2);
    surrogate_.observe(next, values_.back());
    choose_model();
  }

  std::span<const float> iterate() override { return best_; }
  void archive(Archive& archive) override {
    archive.field("observed", observed_);
    archive.field("values", values_);
    if (!archive.reading() || observed_.empty()) return;
    for (std::size_t i = 0; i < observed_.size(); ++i) surrogate_.observe(observed_[i], values_.at(i));
    choose_model();
  }

 private:
  static SurrogatePrior prior(const UcbBoSettings& settings, double noise) {
    return {.kernel = settings.kernel,
            .lengthscale = settings.lengthscale,
            .deviation = settings.prior_std > 0 ? settings.prior_std : settings.box.clip / 4,
            .noise = noise};
  }
  static std::vector<double> candidates(const UcbBoSettings& settings, std::size_t dim) {
    std::vector<double> points(whole(settings.candidates) * dim);
    for (std::size_t j = 0; j * dim < points.size(); ++j)
      BoxSearch::draw(whole(settings.seed), j, std::span(points).subspan(j * dim, dim));
    return points;
  }

  // 2 log(|D| t^2 pi^2 / (6 failure)) at t = 1, 2, ...
  double beta(std::uint64_t t) const {
    if (settings_.beta > 0) return settings_.beta;
    const double count = real(t + 1);
    constexpr double pi = std::numbers::pi;
    return 2 * portable_log(real(surrogate_.size()) * count * count * pi * pi / (6 * failure));
  }

  // The model is the evaluated point with the smallest posterior mean: noise makes the smallest value optimistic.
  void choose_model() {
    std::uint32_t best = observed_.front();
    for (const std::uint32_t i : observed_)
      if (surrogate_.mean(i) < surrogate_.mean(best)) best = i;
    settings_.box.place(surrogate_.point(best), best_);
  }

  UcbBoSettings settings_;
  NoisyLosses losses_;
  LossSurrogate surrogate_;
  std::vector<std::uint32_t> observed_;
  std::vector<double> values_;
  AlignedVector<float> best_;
};

std::unique_ptr<const MethodPlan> UcbBoSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<UcbBoPlan>(*this, facts);
}
std::unique_ptr<Algorithm> UcbBoPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<UcbBo>(settings_, objective, queries.at(0));
}

const MethodRegistration ucb_bo{{"ucb-bo", "Bayesian optimisation on noisy mean losses, in few dimensions",
                                 "Srinivas et al. 2010 (GP-UCB), Gaussian mechanism", make_method<UcbBoSettings>}};

}  // namespace
}  // namespace dpmpi
