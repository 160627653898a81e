// ucb-bo: Bayesian optimisation with the Gaussian mechanism, in few dimensions. Each step takes the public point
// with the smallest lower confidence bound of a Gaussian process that is given the noisy means so far (GP-UCB,
// Srinivas et al. 2010), and releases the noisy mean loss there. The process and the choice are post-processing, so
// T steps cost what T Gaussian releases cost.

#include <cmath>
#include <memory>
#include <numbers>

#include "method/black_box/box_search.hpp"
#include "method/black_box/loss_surrogate.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

constexpr double failure = 0.1;  // of the confidence bounds of the theorem

class UcbBo final : public Method {
 public:
  void declare(Options& options) override {
    box_.declare(options);
    options.add("steps", steps_, "evaluations T", Range::closed(1, 500))
        .add("candidates", candidates_, "public random points to choose from", Range::closed(1, 20000))
        .add("kernel", kernel_, "covariance of the process", {"matern52", "rbf"})
        .add("lengthscale", lengthscale_, "of the covariance, in units of the box's side", Range::positive())
        .add("prior_std", prior_std_, "deviation of the mean loss over the box (0: C / 4)", Range::non_negative())
        .add("beta", beta_,
             "square of the bound's width in deviations (0: that of the theorem, which grows with t)",
             Range::non_negative())
        .add("seed", seed_, "public seed of the points", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override { box_.validate(problems); }

  std::uint64_t steps(const PublicFacts&) const override { return static_cast<std::uint64_t>(steps_); }

  // noise_multiplier is that of the whole run, 1 / mu.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const double parts = std::sqrt(static_cast<double>(steps_));
    return {box_.query(facts, 1, steps(facts), noise_multiplier * parts)};
  }

  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const double z = query.noise_multiplier / std::sqrt(static_cast<double>(steps_));
    return {{"T", static_cast<double>(steps_)}, {"C", box_.clip}, {"mu", z > 0 ? 1 / z : 0}, {"s", noise(query)}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    query_ = queries.at(0);
    losses_ = std::make_unique<ClippedLosses>(objective, 1, box_.clip);
    const auto count = static_cast<std::size_t>(candidates_);
    std::vector<double> points(count * objective.dim());
    for (std::size_t j = 0; j < count; ++j)
      BoxSearch::draw(static_cast<std::uint64_t>(seed_), j,
                      std::span(points).subspan(j * objective.dim(), objective.dim()));
    const SurrogatePrior prior{.kernel = kernel_ == "rbf" ? SurrogateKernel::rbf : SurrogateKernel::matern52,
                               .lengthscale = lengthscale_,
                               .deviation = prior_std_ > 0 ? prior_std_ : box_.clip / 4,
                               .noise = noise(query_)};
    surrogate_ = LossSurrogate(prior, objective.dim(), std::move(points));
    best_.assign(objective.dim(), 0.0F);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const std::uint32_t next = surrogate_.lowest(std::sqrt(beta(t)));
    const auto point = losses_->point(0);
    box_.place(surrogate_.point(next), point);
    const Batch batch = curator.draw(query_, t);
    const double noisy = curator.release_exact(curator.sum(query_, batch, losses_->sum()))[0];
    observed_.push_back(next);
    values_.push_back(box_.mean_loss(*objective_, noisy, query_.records, point) - box_.clip / 2);
    surrogate_.observe(next, values_.back());
    choose_model();
  }

  std::string released() const override { return "the model, every evaluated point and its noisy mean loss"; }
  std::span<const float> iterate() const override { return best_; }
  void archive(Archive& archive) override {
    archive.field("observed", observed_);
    archive.field("values", values_);
    if (!archive.reading() || observed_.empty()) return;
    for (std::size_t i = 0; i < observed_.size(); ++i) surrogate_.observe(observed_[i], values_.at(i));
    choose_model();
  }

 private:
  static double noise(const Query& query) { return query.noise_std / static_cast<double>(query.records); }

  // 2 log(|D| t^2 pi^2 / (6 failure)) at t = 1, 2, ...
  double beta(std::uint64_t t) const {
    if (beta_ > 0) return beta_;
    const auto count = static_cast<double>(t + 1);
    constexpr double pi = std::numbers::pi;
    return 2 * portable_log(static_cast<double>(candidates_) * count * count * pi * pi / (6 * failure));
  }

  // The model is the evaluated point with the smallest posterior mean: noise makes the smallest value optimistic.
  void choose_model() {
    std::uint32_t best = observed_.front();
    for (const std::uint32_t i : observed_)
      if (surrogate_.mean(i) < surrogate_.mean(best)) best = i;
    box_.place(surrogate_.point(best), best_);
  }

  BoxSearch box_;
  std::int64_t steps_ = 40, candidates_ = 1000, seed_ = 1;
  std::string kernel_ = "matern52";
  double lengthscale_ = 0.3, prior_std_ = 0, beta_ = 4;

  Objective* objective_ = nullptr;
  Query query_;
  std::unique_ptr<ClippedLosses> losses_;
  LossSurrogate surrogate_;
  std::vector<std::uint32_t> observed_;
  std::vector<double> values_;
  AlignedVector<float> best_;
};

const MethodRegistration ucb_bo{{"ucb-bo", "Bayesian optimisation on noisy mean losses, in few dimensions",
                                 "Srinivas et al. 2010 (GP-UCB), Gaussian mechanism", make_method<UcbBo>}};

}  // namespace
}  // namespace dpmpi
