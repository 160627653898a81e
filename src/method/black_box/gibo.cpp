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

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/black_box/box_descent.hpp"
#include "method/black_box/design.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/settings.hpp"

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

class GiboPlan final : public MethodPlan {
 public:
  GiboPlan(const GiboSettings& settings, const PublicFacts& facts)
      : settings_(settings), setup_(settings.setup(facts.objective->dim())) {
    facts.objective->refuse_copies("methods of losses alone");
    const std::size_t dim = facts.objective->dim();
    const std::uint64_t n = facts.data.records;
    steps = whole(settings.steps);
    gradient_ = {.name = "gradient",
                 .dim = dim,
                 .sampling = rule(n),
                 .bound = {settings.clip},
                 .slack = LossTable::slack(dim),
                 .steps = steps,
                 .kind = ExactSum{},
                 .effort = static_cast<double>(setup_.selection.most),
                 .root = root_work(dim)};
    assumptions = {
        "the loss of a record depends on that record, the parameters and public data alone, on no other record"};
    // However many each step takes: that follows from what was released before.
    most_points = steps * static_cast<std::uint64_t>(setup_.selection.most);
    // The root: the factor, its copy while it grows, and covariances with all points.
    const double points = setup_.most_known;
    footprint = {
        LossTable::bytes(n, points), 8 * points * (3 * points + 4 * real(dim)),
        fmt::format(
            "losses of {} records at up to {} points and the covariances of these (method.memory = window:K "
            "keeps K of them; method.b, b_max and steps make fewer)",
            n, points)};
  }

  // noise_multiplier is that of the whole run, 1 / mu: T releases of sqrt(T) / mu are mu-GDP, exactly.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    QuerySpec gradient = gradient_;
    gradient.noise_multiplier = noise_multiplier * std::sqrt(real(steps));
    return {gradient};
  }

  // mu: of the whole run; s: noise std of the mean; Delta: its sensitivity; B: clip; tau: tolerance of the trace;
  // eta: step size.
  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const double n = real(query.records), z = query.noise_multiplier, T = real(query.steps);
    return {{"T", T},
            {"B", query.bound.clip},
            {"mu", z > 0 ? std::sqrt(T) / z : 0},
            {"s", query.noise_std / n},
            {"Delta", query.sensitivity / n},
            {"tau", setup_.selection.tolerance},
            {"b_max", static_cast<double>(setup_.selection.most)},
            {"eta", eta(query)}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  // If the config sets none: losses change over a length-scale. AdaGrad's first step moves every coordinate by eta.
  // In gd a step moves theta by one length-scale at most, and the noise of the run a coordinate by a fifth of it.
  double eta(const Query& query) const {
    if (settings_.eta > 0) return settings_.eta;
    const double scale = setup_.covariance.lengths().minCoeff(), n = real(query.records), T = real(query.steps);
    if (settings_.step == BoxDescent::Rule::adagrad) return 0.3 * scale;
    return scale * std::min(1 / settings_.clip, 0.2 * n / (query.noise_std * std::sqrt(T)));
  }

  // Coins of records need numbers of records, the same on any number of ranks: those of a shuffle of all.
  SamplingRule rule(std::uint64_t records) const {
    if (setup_.losses.noise != LossRule::Noise::per_record) return FullBatch{};
    return Shuffled{.seed = 1, .first = records, .batch = records, .leaves = 1, .runs = 1};
  }

  // Solves with the factor and extends it, then every record's product with W: of N points, means over a run in
  // which N grows.
  RootWork root_work(std::size_t dim) const {
    const double N = setup_.most_known, d = static_cast<double>(dim),
                 b = static_cast<double>(setup_.selection.most);
    return {.alone = N * N * (2 * d + b) / 3, .afterwards = N * d};
  }

  GiboSettings settings_;
  GiboSetup setup_;
  QuerySpec gradient_;  // without noise
};

class Gibo final : public Algorithm {
 public:
  Gibo(const GiboSettings& settings, double eta, const GiboSetup& setup, Objective& objective, const Query& query)
      : objective_(objective),
        query_(query),
        descent_(settings.step, eta, setup.selection.box,
                 setup.start.size() > 0 ? setup.start : first_point(objective, whole(settings.seed))),
        design_(setup),
        table_(objective, setup.losses),
        gradient_(objective.dim()) {}

  void step(Curator& curator, std::uint64_t t) override {
    design_.extend(curator, descent_.point(), t);
    design_.weigh(curator);
    const Batch batch = curator.draw(query_, t);
    const Kernel kernel =
        table_.kernel(design_.points(), design_.forgotten(), [&] { return design_.share_map(curator); });
    const auto noisy = curator.release_exact(curator.sum(query_, batch, kernel));
    gradient_.assign(noisy.begin(), noisy.end());
    design_.turn_back(curator, gradient_);
    for (double& g : gradient_) g /= real(query_.records);
    const VectorXd& theta = descent_.point();
    add_regularizer(objective_, {theta.data(), gradient_.size()}, gradient_);
    descent_.update(gradient_);
    table_.forget_first(design_.forget());
  }

  std::span<const float> iterate() override { return descent_.published(); }
  // Each point was one evaluation of every record, and one model trained where points are hyper-parameters. The
  // trace is of points and covariance alone: the losses do not enter.
  std::vector<Measure> measures() const override {
    return {{"evaluations", real(design_.forgotten() + design_.count())}, {"posterior_trace", design_.trace()}};
  }
  std::span<const std::byte> replicated() override {
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
  static VectorXd first_point(const Objective& objective, std::uint64_t seed) {
    std::vector<float> start(objective.dim());
    objective.initialise(PublicStream(seed, "start point"), start);
    return Eigen::Map<const Eigen::VectorXf>(start.data(), static_cast<Index>(start.size())).cast<double>();
  }

  Objective& objective_;
  Query query_;
  BoxDescent descent_;
  GiboDesign design_;
  LossTable table_;
  std::vector<double> gradient_, replica_;
};

std::unique_ptr<Algorithm> GiboPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const Query& query = queries.at(0);
  return std::make_unique<Gibo>(settings_, eta(query), setup_, objective, query);
}

const MethodRegistration gibo{{"gibo", "Bayesian optimisation: descent on gradients estimated from losses alone",
                               "Sopa, Marusic, Avella-Medina and Cunningham, corrected: docs/methods/gibo.md",
                               make_method<GiboSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> GiboSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<GiboPlan>(*this, facts);
}

}  // namespace dpmpi
