#include "dpmpi/objective/auc.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/objective/mlp_difference.hpp"
#include "dpmpi/objective/mlp_pass.hpp"

namespace dpmpi {
namespace {

class Auc final : public SaddleObjective {
 public:
  explicit Auc(AucSettings settings)
      : settings_(std::move(settings)),
        shape_(settings_.scorer),
        loss_(settings_.prior, settings_.output),
        pass_(shape_),
        gradient_(shape_, pass_, loss_) {}

  std::size_t dim() const override { return shape_.dim() + 3; }
  std::size_t primal_dim() const override { return shape_.dim() + 2; }
  LabelKind label_kind() const override { return LabelKind::sign; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override;
  double flops_per_record() const override { return network_flops(shape_); }
  std::size_t micro_batch_rows() const override { return MlpPass::rows_at_once; }
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  void prepare(std::span<const float> w) override;
  void prepare_pair(std::span<const float> w, std::span<const float> v) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  float decision_threshold() const override { return (tail_[0] + tail_[1]) / 2; }

  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;
  std::optional<double> dual_bound() const override { return surrogate().dual_bound(); }
  std::optional<double> dual_curvature() const override { return surrogate().curvature(); }
  std::optional<SmoothConstants> smooth_constants() const override;

  bool has_prior() const override { return true; }
  void set_prior(double p) override;
  void add_positives(const Rows& rows, LatticeAccumulator& sum) override;

  NumericSlack primal_gradient_slack() const override { return gradient_.slack(); }
  NumericSlack dual_gradient_slack() const override { return {}; }  // clamped in double, and rounded by itself
  NumericSlack saddle_gradient_slack() const override { return gradient_.slack(); }
  NumericSlack primal_difference_slack() const override { return MlpDifference::slack(micro_batch_rows()); }

 private:
  const AucSurrogate& surrogate() const { return loss_.surrogate(); }
  double clipped_dual(const Rows& rows, std::size_t row, double clip) const;

  AucSettings settings_;
  const MlpShape& shape_;
  AucLoss loss_;
  MlpPass pass_;
  MlpClippedGradient gradient_;
  std::unique_ptr<MlpDifference> difference_;
  std::span<const float> tail_;  ///< a, b, alpha
};

// Centres and alpha are offsets like biases, which regularisation leaves alone.
std::vector<ParameterGroup> Auc::groups() const {
  std::vector<ParameterGroup> all = network_groups(shape_);
  std::size_t offset = shape_.dim();
  for (const char* name : {"a.bias", "b.bias", "alpha.bias"}) all.push_back({name, offset++, 1, 1});
  return all;
}

void Auc::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  initialise_network(shape_, stream, w.first(shape_.dim()));
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(shape_.dim()), w.end(), 0.0F);
}

void Auc::prepare(std::span<const float> w) {
  verify(w.size() == dim(), "a point has dim() coordinates");
  tail_ = w.subspan(shape_.dim());
  pass_.network().load(w);
  gradient_.prepare(tail_);
}

void Auc::prepare_pair(std::span<const float> w, std::span<const float> v) {
  verify(w.size() == dim() && v.size() == dim(), "a point has dim() coordinates");
  if (!difference_) difference_ = std::make_unique<MlpDifference>(shape_, loss_);
  difference_->prepare(w, v);
}

void Auc::losses(const Rows& rows, std::span<double> out) {
  const AucPoint at = AucLoss::point(tail_);
  for_each_part(rows, MlpPass::rows_at_once, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      out[first + r] = surrogate().value(loss_.score(pass_.outputs(r)[0]), label(part, r), at);
  });
}

void Auc::scores(const Rows& rows, std::span<float> out) {
  for_each_part(rows, MlpPass::rows_at_once, [&](const Rows& part, std::size_t first) {
    pass_.forward(part);
    for (std::size_t r = 0; r < part.size(); ++r)
      out[first + r] = static_cast<float>(loss_.score(pass_.outputs(r)[0]));
  });
}

void Auc::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { gradient_.add(part, bound, sum); });
}

/// The private part of dF/dalpha of a row of the present pass, within [-clip, clip]; 0 if it is not finite.
double Auc::clipped_dual(const Rows& rows, std::size_t row, double clip) const {
  const double c = surrogate().private_dual(loss_.score(pass_.outputs(row)[0]), label(rows, row));
  return std::isfinite(c) ? std::clamp(c, -clip, clip) : 0.0;
}

void Auc::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    pass_.forward(part);
    sum.begin(part.size());
    for (std::size_t r = 0; r < part.size(); ++r) {
      const double c = clipped_dual(part, r, bound.clip);
      sum.add(0, std::span(&c, 1));
    }
  });
}

// The dual part needs no more than the outputs, which the pass of the gradient leaves behind. The slack is that of
// the gradient: relative to the joint bound neither block's is larger, and the product with the weight rounds to
// 2^-53.
void Auc::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                       LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    gradient_.add(part, {.clip = scale * clip.primal}, sum);
    for (std::size_t r = 0; r < part.size(); ++r) {
      if (!gradient_.kept(r)) continue;
      const double c = clip.weight * clipped_dual(part, r, scale * clip.dual);
      sum.add(primal_dim(), std::span(&c, 1));
    }
  });
}

void Auc::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(difference_ != nullptr, "prepare_pair comes before differences");
  for_each_part(rows, std::min(MlpDifference::rows_at_once(), sum.rows_at_once()),
                [&](const Rows& part, std::size_t) { difference_->add(part, bound, sum); });
}

void Auc::add_public_dual(std::span<const float> w, std::uint64_t /*step*/, std::span<double> gradient) const {
  gradient[0] += surrogate().public_dual(w.back());
}

void Auc::project_dual(std::span<float> y) const {
  y[0] = std::clamp(y[0], static_cast<float>(settings_.alpha_min), static_cast<float>(settings_.alpha_max));
}

// The Hessian of a linear score's F is 2 q u u^T by (weights, centre), u = (x, -1), and its gradient moves by 2 q
// |x| with alpha, where q = 1-p for positive records and p for negative ones.
std::optional<SmoothConstants> Auc::smooth_constants() const {
  if (shape_.layers() > 1 || settings_.output != ScoreMap::identity || settings_.feature_bound == 0) return {};
  const double q = surrogate().dual_bound(), R = settings_.feature_bound;
  return SmoothConstants{.l_xx = q * (R * R + 1), .l_xy = q * R};
}

void Auc::set_prior(double p) {
  verify(p > 0 && p < 1, "a prior lies in (0, 1)");
  loss_.set_prior(p);
}

void Auc::add_positives(const Rows& rows, LatticeAccumulator& sum) {
  for_each_part(rows, std::min(MlpPass::rows_at_once, sum.rows_at_once()), [&](const Rows& part, std::size_t) {
    sum.begin(part.size());
    for (std::size_t r = 0; r < part.size(); ++r) {
      const double positive = label(part, r) > 0 ? 1 : 0;
      sum.add(0, std::span(&positive, 1));
    }
  });
}

class AucBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    options.add("prior", prior_, "share of positive records, a public constant that is never taken from the data",
                Range::closed(0, 1));
    options.add("scorer", scorer_, "linear, or multilayer perceptron", {"linear", "mlp"});
    options.add("hidden", hidden_, "units of the hidden layers (scorer = mlp)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    options.add("output", output_, "score h of the scorer's output", {"sigmoid", "identity"});
    options.add("alpha_min", alpha_min_, "smallest value of the dual variable");
    options.add("alpha_max", alpha_max_, "largest value of the dual variable");
    options.add("feature_bound", feature_bound_,
                "public bound on a record's norm, its constant included, for smoothness constants (0: not known)",
                Range::non_negative());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    AucSettings settings{.scorer = {.units = {facts.features},
                                    .input_bias = facts.bias,
                                    .activation = activation_named(activation_)},
                         .output = output_ == "sigmoid" ? ScoreMap::sigmoid : ScoreMap::identity,
                         .prior = prior_,
                         .feature_bound = feature_bound_,
                         .alpha_min = alpha_min_,
                         .alpha_max = alpha_max_};
    if (scorer_ == "mlp")
      for (const std::int64_t units : hidden_) settings.scorer.units.push_back(static_cast<std::size_t>(units));
    settings.scorer.units.push_back(1);
    return make_auc(std::move(settings));
  }
  LabelKind label_kind() const override { return LabelKind::sign; }

 private:
  double prior_ = 0, feature_bound_ = 0, alpha_min_ = 0, alpha_max_ = 2;
  std::string scorer_ = "linear", activation_ = "tanh", output_ = "sigmoid";
  std::vector<std::int64_t> hidden_ = {256, 128};
};

const ObjectiveRegistration auc{
    {"auc", "square surrogate of the area under the ROC curve, min-max form",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<AucBuilder>(); }}};

}  // namespace

std::unique_ptr<SaddleObjective> make_auc(AucSettings settings) {
  if (!(settings.prior > 0 && settings.prior < 1))
    throw ConfigError(
        "objective.prior is required: the share of positive records as a public constant in (0, 1); the "
        "data's own share is not public");
  if (!(settings.alpha_min < settings.alpha_max))
    throw ConfigError("objective.alpha_min must be less than objective.alpha_max");
  check_units(settings.scorer);
  return std::make_unique<Auc>(std::move(settings));
}

}  // namespace dpmpi
