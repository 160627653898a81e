#include "objective/minimax/auc.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/layers/augment_option.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/minimax/mean_weight.hpp"
#include "objective/minimax/network_saddle.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

class Auc final : public NetworkSaddle, public ClassPrior {
 public:
  explicit Auc(AucSettings settings)
      : NetworkSaddle(
            settings.layers ? layered(*settings.layers, settings.augmentation) : perceptron(settings.scorer),
            std::make_unique<AucLoss>(settings.prior, settings.output), 3),
        settings_(std::move(settings)),
        loss_(static_cast<AucLoss&>(loss())) {}

  LabelKind label_kind() const override { return LabelKind::sign; }
  std::vector<ParameterGroup> groups() const override;
  ScoreRecipe score_recipe() const override;
  float decision_threshold() const override { return (tail()[0] + tail()[1]) / 2; }

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;
  // Plans are made from bounds, so they stay those of the prior that was given, whatever is released later.
  std::optional<double> dual_bound() const override { return AucSurrogate{settings_.prior}.dual_bound(); }
  std::optional<double> dual_curvature() const override { return mean_weight() * surrogate().curvature(); }
  std::optional<SmoothConstants> smooth_constants() const override;

  void set_prior(double p) override;

 protected:
  Capabilities capabilities() override { return {.values = this, .saddle = this, .primal = this, .prior = this}; }

 private:
  const AucSurrogate& surrogate() const { return loss_.surrogate(); }
  double score_of(std::size_t row) const { return loss_.score(outputs_of(row)[0]); }
  double loss_of(const Rows& rows, std::size_t row) override {
    return surrogate().value(score_of(row), label(rows, row), AucLoss::point(tail()));
  }
  void score(std::size_t row, std::span<float> out) const override { out[0] = static_cast<float>(score_of(row)); }
  void add_dual(const Rows& rows, std::size_t row, double weight, double clip, std::size_t base,
                LatticeAccumulator& sum) override;

  AucSettings settings_;
  AucLoss& loss_;
};

// Centres and alpha are offsets like biases, which regularisation leaves alone.
std::vector<ParameterGroup> Auc::groups() const {
  std::vector<ParameterGroup> all = network().groups();
  std::size_t offset = network().dim();
  for (const char* name : {"a.bias", "b.bias", "alpha.bias"}) all.push_back({name, offset++, 1, 1});
  return all;
}

ScoreRecipe Auc::score_recipe() const {
  const ScoreRecipe output = network().score_recipe();
  if (settings_.output == ScoreMap::identity) return output;
  return [output](ScoreWriter& writer, const ScoreWriter::Value& features, std::span<const float> w) {
    return writer.function(NumberFunction::sigmoid, output(writer, features, w));
  };
}

void Auc::add_dual(const Rows& rows, std::size_t row, double weight, double clip, std::size_t base,
                   LatticeAccumulator& sum) {
  const double own = rows.records.weight_of(rows.index[row]);
  const double c = own * mean_of_copies(row, [&](const float* outputs) {
                     return surrogate().private_dual(loss_.score(outputs[0]), label(rows, row));
                   });
  if (!std::isfinite(c)) return;
  const double share = weight * std::clamp(c, -clip, clip);
  sum.add(base, std::span(&share, 1));
}

void Auc::add_public_dual(std::span<const float> w, std::uint64_t /*step*/, std::span<double> gradient) const {
  gradient[0] += mean_weight() * surrogate().public_dual(w.back());
}

void Auc::project_dual(std::span<float> y) const {
  y[0] = std::clamp(y[0], static_cast<float>(settings_.alpha_min), static_cast<float>(settings_.alpha_max));
}

// The Hessian of a linear score's F is 2 q u u^T by (weights, centre), u = (x, -1), and its gradient moves by 2 q
// |x| with alpha, where q = 1-p for positive records and p for negative ones.
std::optional<SmoothConstants> Auc::smooth_constants() const {
  const bool linear = !settings_.layers && settings_.scorer.layers() == 1;
  if (!linear || settings_.output != ScoreMap::identity || settings_.feature_bound == 0) return {};
  const double q = *dual_bound(), R = settings_.feature_bound;
  return SmoothConstants{.l_xx = q * (R * R + 1), .l_xy = q * R};
}

void Auc::set_prior(double p) {
  verify(p > 0 && p < 1, "a prior lies in (0, 1)");
  loss_.set_prior(p);
}

// The dual is a float, and its square is summed.
const Range dual_range = Range::closed(-1e9, 1e9);

class AucBuilder final : public ObjectiveEntry::Builder, public LayersOption, public AugmentOption {
 public:
  void declare(Options& options) override {
    options.add("prior", prior_,
                "share of positive records (of their weights), a public constant that is never taken from the data",
                Range::closed(0, 1));
    options.add("scorer", scorer_, "linear, multilayer perceptron, or network of layers",
                {"linear", "mlp", "network"});
    options.add("hidden", hidden_, "units of the hidden layers (scorer = mlp)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    options.add("output", output_, "score h of the scorer's output", {"sigmoid", "identity"});
    options.add("alpha_min", alpha_min_, "smallest value of the dual variable", dual_range);
    options.add("alpha_max", alpha_max_, "largest value of the dual variable", dual_range);
    options.add("feature_bound", feature_bound_,
                "public bound on a record's norm, its constant included, for smoothness constants (0: not known)",
                Range::non_negative());
    declare_mean_weight(options, mean_weight_);
    declare_layers(options);
    declare_augmentation(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    if ((scorer_ == "network") != any_layers())
      problems.push_back(
          any_layers() ? fmt::format("objective.layers are those of objective.scorer = network; it is {}", scorer_)
                       : "objective.layers is not set: the layers of the scorer, as dense 32, tanh, dense 1");
    if (any_layers()) check_layers_option(problems);
    check_augment_option(problems, any_layers());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const auto hidden = scorer_ == "mlp" ? hidden_ : std::vector<std::int64_t>{};
    const std::optional<LayeredShape> layers =
        any_layers() ? std::optional(shape_for(facts.features, 1, saddle_passes)) : std::nullopt;
    auto auc = make_auc({.scorer = {.units = units_of(facts.features, hidden, 1),
                                    .input_bias = facts.bias,
                                    .activation = activation_named(activation_)},
                         .layers = layers,
                         .augmentation = augmentation(),
                         .output = output_ == "sigmoid" ? ScoreMap::sigmoid : ScoreMap::identity,
                         .prior = prior_,
                         .feature_bound = feature_bound_,
                         .alpha_min = alpha_min_,
                         .alpha_max = alpha_max_});
    auc->given_mean_weight = mean_weight_;
    return auc;
  }
  LabelKind label_kind() const override { return LabelKind::sign; }

 private:
  double prior_ = 0, feature_bound_ = 0, alpha_min_ = 0, alpha_max_ = 2, mean_weight_ = 0;
  std::string scorer_ = "linear", activation_ = "tanh", output_ = "sigmoid";
  std::vector<std::int64_t> hidden_ = {256, 128};
};

const ObjectiveRegistration auc{
    {"auc", "square surrogate of the area under the ROC curve, min-max form", make_builder<AucBuilder>}};

}  // namespace

std::unique_ptr<SaddleObjective> make_auc(AucSettings settings) {
  if (!(settings.prior > 0 && settings.prior < 1))
    throw ConfigError(
        "objective.prior is required: the share of positive records as a public constant in (0, 1); the "
        "data's own share is not public");
  if (!(settings.alpha_min < settings.alpha_max))
    throw ConfigError(fmt::format("objective.alpha_min = {} must be less than objective.alpha_max = {}",
                                  settings.alpha_min, settings.alpha_max));
  if (settings.layers)
    check_augmentation(settings.augmentation, settings.layers->in);
  else
    check_units(settings.scorer);
  return std::make_unique<Auc>(std::move(settings));
}

}  // namespace dpmpi
