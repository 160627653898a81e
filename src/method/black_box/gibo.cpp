// gibo: descent on gradients that are estimated from losses alone, by Gaussian processes (Sopa, Marusic,
// Avella-Medina and Cunningham, "Scalable Differentially Private Bayesian Optimization"). It reads
//
//   for t = 0 .. T-1:
//     Z = the fewest points that bring the trace of the posterior covariance of
//         the gradient at theta below the tolerance
//     every record i:  y_i = its losses at all points so far,  g_i = W y_i
//     theta = Pi(theta - eta (1/n) (sum of clip(g_i) + noise))
//
// where W is the same for all records.
//
// All that depends on records passes through the clipped sum: Z, W and the number of points follow from released
// iterates and public settings. So a step is one Gaussian release of sensitivity 2 B however many losses it looks
// at. Two things differ from the source. Its rule for the number of points compares the acquisition, which is
// never above 0, with the tolerance, and would always take one point; its proofs mean the posterior's trace, as
// here. And its proof covers evaluations without noise only; see docs/theory/posterior_gradients.md, "Posterior
// gradients". Without noise (privacy.noise = none) it is the method of Mueller, von Rohr and Trimpe 2021, with
// clipped records.

#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/black_box/box_descent.hpp"
#include "method/black_box/design.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/options.hpp"

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

class Gibo final : public Method {
 public:
  void declare(Options& options) override { options_.declare(options); }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }

  std::uint64_t steps(const PublicFacts&) const override { return options_.T(); }

  // noise_multiplier is that of the whole run, 1 / mu: T releases of sqrt(T) / mu are mu-GDP, exactly.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const std::size_t dim = facts.objective->dim();
    if (checked_ != dim) options_.check(dim), checked_ = dim;
    return {{.name = "gradient",
             .dim = dim,
             .sampling = rule(facts.data.records),
             .bound = {options_.clip},
             .slack = LossTable::slack(dim),
             .noise_multiplier = noise_multiplier * std::sqrt(real(options_.T())),
             .steps = options_.T(),
             .kind = ExactSum{},
             .effort = static_cast<double>(options_.most(dim)),
             .root = root_work(dim)}};
  }

  std::vector<std::string> assumptions(const PublicFacts&) const override {
    return {
        "the loss of a record depends on that record, the parameters and public data alone, on no other record"};
  }

  // However many each step takes: that follows from what was released before.
  std::optional<std::uint64_t> most_points(const PublicFacts& facts) const override {
    return options_.T() * static_cast<std::uint64_t>(options_.most(facts.objective->dim()));
  }

  // mu: of the whole run; s: noise std of the mean; Delta: its sensitivity; B: clip; tau: tolerance of the trace.
  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const double n = real(query.records), z = query.noise_multiplier, T = real(query.steps);
    return {{"T", T},
            {"B", query.bound.clip},
            {"mu", z > 0 ? std::sqrt(T) / z : 0},
            {"s", query.noise_std / n},
            {"Delta", query.sensitivity / n},
            {"tau", options_.trace_tol},
            {"b_max", static_cast<double>(options_.most(query.dim))}};
  }

  // The root: the factor, its copy while it grows, and covariances with all points.
  Footprint footprint(const PublicFacts& facts) const override {
    const std::size_t dim = facts.objective->dim();
    const double points = options_.most_known(dim);
    return {LossTable::bytes(facts.data.records, points), 8 * points * (3 * points + 4 * real(dim)),
            fmt::format(
                "losses of {} records at up to {} points and the covariances of these (method.memory = window:K "
                "keeps K of them; method.b, b_max and steps make fewer)",
                facts.data.records, points)};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    query_ = queries.at(0);
    const std::size_t dim = objective.dim();
    VectorXd theta = options_.start(dim);
    if (theta.size() == 0) {
      std::vector<float> start(dim);
      objective.initialise(PublicStream(static_cast<std::uint64_t>(options_.seed), "start point"), start);
      theta = Eigen::Map<const Eigen::VectorXf>(start.data(), static_cast<Index>(dim)).cast<double>();
    }
    const auto step = options_.step == "gd" ? BoxDescent::Rule::gd : BoxDescent::Rule::adagrad;
    descent_.start(step, options_.eta, options_.box(dim), theta);
    design_.start(options_, dim);
    table_ = std::make_unique<LossTable>(objective, options_.losses());
    gradient_.assign(dim, 0.0);
  }

  void step(Curator& curator, std::uint64_t t) override {
    design_.extend(curator, descent_.point(), t);
    design_.weigh(curator);
    const Batch batch = curator.draw(query_, t);
    const Kernel kernel =
        table_->kernel(design_.points(), design_.forgotten(), [&] { return design_.share_map(curator); });
    const auto noisy = curator.release_exact(curator.sum(query_, batch, kernel));
    gradient_.assign(noisy.begin(), noisy.end());
    design_.turn_back(curator, gradient_);
    for (double& g : gradient_) g /= real(query_.records);
    const VectorXd& theta = descent_.point();
    add_regularizer(*objective_, {theta.data(), gradient_.size()}, gradient_);
    descent_.update(gradient_);
    table_->forget_first(design_.forget());
  }

  std::span<const float> iterate() const override { return descent_.published(); }
  // Each point was one evaluation of every record, and one model trained where points are hyper-parameters. The
  // trace is of points and covariance alone: the losses do not enter.
  std::vector<Measure> measures() const override {
    return {{"evaluations", real(design_.forgotten() + design_.count())}, {"posterior_trace", design_.trace()}};
  }
  std::span<const std::byte> replicated() const override {
    replica_.assign(design_.points().begin(), design_.points().end());
    replica_.insert(replica_.end(), descent_.point().begin(), descent_.point().end());
    return std::as_bytes(std::span(replica_));
  }

  // The table of losses is private, and follows from records and points: the next step fills it again.
  void archive(Archive& archive) override {
    descent_.archive(archive);
    design_.archive(archive);
  }

 private:
  // Solves with the factor and extends it, then every record's product with W: of N points, means over a run in
  // which N grows.
  RootWork root_work(std::size_t dim) const {
    const double N = options_.most_known(dim), d = static_cast<double>(dim),
                 b = static_cast<double>(options_.most(dim));
    return {.alone = N * N * (2 * d + b) / 3, .afterwards = N * d};
  }

  // Coins of records need numbers of records, the same on any number of ranks: those of a shuffle of all.
  SamplingRule rule(std::uint64_t records) const {
    if (options_.losses().noise != LossRule::Noise::per_record) return FullBatch{};
    return Shuffled{.seed = 1, .first = records, .batch = records, .leaves = 1, .runs = 1};
  }

  GiboOptions options_;
  mutable std::size_t checked_ = 0;  // dimension for which the settings are known to fit
  Objective* objective_ = nullptr;
  Query query_;
  BoxDescent descent_;
  GiboDesign design_;
  std::unique_ptr<LossTable> table_;
  std::vector<double> gradient_;
  mutable std::vector<double> replica_;
};

const MethodRegistration gibo{{"gibo", "Bayesian optimisation: descent on gradients estimated from losses alone",
                               "Sopa, Marusic, Avella-Medina and Cunningham, corrected: docs/methods/gibo.md",
                               make_method<Gibo>}};

}  // namespace
}  // namespace dpmpi
