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
// here. And its proof covers evaluations without noise only; see docs/privacy.md, "Posterior gradients".
//
// Root alone chooses points and forms W: their bits depend on library functions and eigenvectors.

#include <cmath>
#include <memory>
#include <utility>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/log.hpp"
#include "dpmpi/method/box_descent.hpp"
#include "dpmpi/method/gibo_options.hpp"
#include "dpmpi/method/method.hpp"
#include "dpmpi/method/zo_options.hpp"

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class Gibo : public Method {
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
             .noise_multiplier = is_private() ? noise_multiplier * std::sqrt(real(options_.T())) : 0,
             .steps = options_.T(),
             .effort = static_cast<double>(options_.most(dim)),
             .exact = true}};
  }

  std::vector<std::string> assumptions(const PublicFacts&) const override {
    return {
        "the loss of a record depends on that record, the parameters and public data alone, on no other record"};
  }

  // mu: of the whole run; s: noise std of the mean; Delta: its sensitivity; B: clip; tau: tolerance of the trace.
  Derived derived(const PublicFacts&, const std::vector<Query>& queries) const override {
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
    selection_ = std::make_unique<PointSelection>(options_.selection(dim));
    posterior_ = std::make_unique<GradientPosterior>(options_.covariance(dim), options_.noise_variance(),
                                                     options_.center == "per_sample");
    table_ = std::make_unique<LossTable>(objective, options_.losses());
    points_.clear(), batches_.clear(), forgotten_ = 0;
    gradient_.assign(dim, 0.0);
  }

  void step(Curator& curator, std::uint64_t t) override {
    curator.share(design_, [&](std::vector<double>& values) { design(t, values); });
    take_design();
    const Batch batch = curator.draw(query_, t);
    const auto noisy =
        curator.release_exact(curator.sum(query_, batch, table_->kernel(points_, forgotten_, weights_)));
    for (std::size_t j = 0; j < noisy.size(); ++j) gradient_[j] = noisy[j] / real(query_.records);
    const VectorXd& theta = descent_.point();
    add_regularizer(*objective_, {theta.data(), gradient_.size()}, gradient_);
    descent_.update(gradient_);
    forget();
  }

  std::span<const float> iterate() const override { return descent_.published(); }
  // Of points and covariance alone: the losses do not enter.
  std::vector<Measure> measures() const override { return {{"posterior_trace", posterior_->trace()}}; }
  std::span<const std::byte> replicated() const override {
    replica_.assign(points_.begin(), points_.end());
    replica_.insert(replica_.end(), descent_.point().begin(), descent_.point().end());
    return std::as_bytes(std::span(replica_));
  }

  // The table of losses is private, and follows from records and points: the next step fills it again.
  void archive(Archive& archive) override {
    descent_.archive(archive);
    archive.field("gibo.points", points_);
    archive.field("gibo.batches", batches_);
    archive.field("gibo.forgotten", forgotten_);
  }

 private:
  static double real(std::uint64_t n) { return static_cast<double>(n); }
  std::size_t count() const { return points_.size() / gradient_.size(); }

  // Coins of records need numbers of records, the same on any number of ranks: those of a shuffle of all.
  SamplingRule rule(std::uint64_t records) const {
    if (options_.losses().noise != LossRule::Noise::per_record) return FullBatch{};
    return Shuffled{.seed = 1, .first = records, .batch = records, .leaves = 1, .runs = 1};
  }

  // Root: the new points, then W^T, a row a point.
  void design(std::uint64_t t, std::vector<double>& values) {
    const auto dim = static_cast<Index>(gradient_.size());
    posterior_->restore(Eigen::Map<const MatrixXd>(points_.data(), dim, static_cast<Index>(count())), batches_);
    posterior_->move_to(descent_.point());
    const MatrixXd more = selection_->choose(*posterior_, t);
    posterior_->append(more);
    posterior_->move_to(descent_.point());
    const MatrixXd W = posterior_->weights();
    if (options_.batch == "adaptive" && !warned_ && posterior_->trace() > options_.trace_tol) {
      warn("step {}: {} points leave a trace of {:.3g}, above method.trace_tol = {} (method.b_max, or the box)", t,
           more.cols(), posterior_->trace(), options_.trace_tol);
      warned_ = true;
    }
    values.assign(more.data(), more.data() + more.size());
    values.insert(values.end(), W.data(), W.data() + W.size());
  }

  // What was shared is b new points and d numbers a point, new or old.
  void take_design() {
    const std::size_t dim = gradient_.size(), b = (design_.size() / dim - count()) / 2;
    const auto begin = design_.begin(), end = begin + static_cast<std::ptrdiff_t>(b * dim);
    points_.insert(points_.end(), begin, end);
    weights_.assign(end, design_.end());
    batches_.push_back(b);
    verify(b > 0 && weights_.size() == points_.size(), "a design and its weights");
  }

  void forget() {
    const std::size_t most = options_.window();
    if (count() <= most) return;
    const std::size_t old = count() - most;
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(old * gradient_.size()));
    batches_.assign(most > 0 ? 1 : 0, most);
    forgotten_ += old;
    table_->forget_first(old);
  }

  GiboOptions options_;
  mutable std::size_t checked_ = 0;  // dimension for which the settings are known to fit
  Objective* objective_ = nullptr;
  Query query_;
  BoxDescent descent_;
  std::unique_ptr<PointSelection> selection_;
  std::unique_ptr<GradientPosterior> posterior_;  // root
  std::unique_ptr<LossTable> table_;
  std::vector<double> points_;          // all that are remembered, d numbers each
  std::vector<std::uint64_t> batches_;  // how they came: the bits of the Cholesky factor follow from it
  std::uint64_t forgotten_ = 0;
  std::vector<double> design_, weights_, gradient_;
  mutable std::vector<double> replica_;
  bool warned_ = false;
};

class GiboNoiseless final : public Gibo {
 public:
  bool is_private() const override { return false; }
};

template <class M>
std::unique_ptr<Method> make() {
  return std::make_unique<M>();
}

const MethodRegistration gibo{{"gibo", "Bayesian optimisation: descent on gradients estimated from losses alone",
                               "Sopa, Marusic, Avella-Medina and Cunningham, corrected: docs/methods/gibo.md",
                               make<Gibo>}};
const MethodRegistration gibo_noiseless{{"gibo-noiseless", "gibo without noise: NOT PRIVATE, a baseline",
                                         "Mueller, von Rohr and Trimpe 2021, with clipped records",
                                         make<GiboNoiseless>}};

}  // namespace
}  // namespace dpmpi
