#include "objective/minimax/worst_group.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/errors.hpp"
#include "objective/layers/augment_option.hpp"
#include "objective/layers/layers_option.hpp"
#include "objective/math/simplex.hpp"
#include "objective/minimax/group_measures.hpp"
#include "objective/minimax/mean_weight.hpp"
#include "objective/minimax/network_saddle.hpp"
#include "objective/minimax/record_groups.hpp"
#include "objective/network/head.hpp"
#include "objective/network/mlp.hpp"
#include "objective/network/pass.hpp"
#include "objective/weight_scale.hpp"

namespace dpmpi {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// (n / n_g) y_g loss of a network's outputs. Tail: y.
class GroupLoss final : public OutputLoss {
 public:
  GroupLoss(const MlpShape& shape, const RecordGroups& groups)
      : head_(shape.head, shape.units.back()), outputs_(shape.units.back()), groups_(groups) {}

  void select(const Rows& rows, std::size_t row) override { group_ = groups_.of(rows.records, rows.index[row]); }
  void gradient(const double* outputs, float label, std::span<const float> tail, double* delta,
                double* slope) override {
    head_.gradient(outputs, label, {}, delta, slope);
    const double factor = group_ ? groups_.weight(*group_) * static_cast<double>(tail[*group_]) : none;
    for (std::size_t k = 0; k < outputs_; ++k) delta[k] *= factor;
  }
  double loss(const float* outputs, float label) { return head_.loss(outputs, label); }
  /// (n / n_g) loss of the selected record; NaN if it has no group.
  double weighted_loss(const float* outputs, float label) {
    return group_ ? groups_.weight(*group_) * loss(outputs, label) : none;
  }
  std::optional<std::size_t> group() const { return group_; }
  const RecordGroups& groups() const { return groups_; }

 private:
  MlpHead head_;
  std::size_t outputs_;
  RecordGroups groups_;
  std::optional<std::size_t> group_;
};

class WorstGroup final : public NetworkSaddle, public SetMeasures, public TellsGroups {
 public:
  WorstGroup(const MlpShape& model, const WorstGroupSettings& settings, const RecordGroups& groups,
             double regulariser)
      : NetworkSaddle(settings.layers ? layered(*settings.layers, settings.augmentation) : perceptron(model),
                      std::make_unique<GroupLoss>(model, groups), groups.count()),
        model_(model),
        loss_(static_cast<GroupLoss&>(loss())),
        mu_(regulariser),
        projected_(groups.count()) {}

  LabelKind label_kind() const override { return labels_of(model_.head); }
  std::size_t classes() const override { return model_.head == Head::softmax ? outputs() : 0; }
  std::optional<std::size_t> left_out_feature() const override { return model_.left_out; }
  std::vector<ParameterGroup> groups() const override;
  void check_records(const Shard& shard) const override { loss_.groups().check(shard); }
  std::optional<std::size_t> group_of(const Records& records, std::uint32_t i) const override {
    return loss_.groups().of(records, i);
  }

  void add_public_dual(std::span<const float> w, std::uint64_t step, std::span<double> gradient) const override;
  void project_dual(std::span<float> y) const override;
  // The quadratic is the same in all directions, so projecting its maximum gives the maximum over the simplex.
  std::optional<double> dual_curvature() const override { return mean_weight() * mu_; }

 protected:
  Capabilities capabilities() override {
    Capabilities all = NetworkSaddle::capabilities();
    all.measures = this;
    all.record_groups = this;
    return all;
  }

 private:
  void prepare(std::span<const float> w) override;
  std::vector<Measure> measures(const SetTotals& whole, const Shard& shard) override;
  /// Whether the outputs of a row say its label.
  bool right(std::span<const float> outputs, float label) const;

  float tail_start() const override { return 1.0F / static_cast<float>(projected_.size()); }
  double loss_of(const Rows& rows, std::size_t row) override;
  void score(std::size_t row, std::span<float> out) const override {
    std::copy_n(outputs_of(row), out.size(), out.begin());
  }
  void add_dual(const Rows& rows, std::size_t row, double weight, double clip, std::size_t base,
                LatticeAccumulator& sum) override;

  MlpShape model_;
  GroupLoss& loss_;
  double mu_;
  double penalty_ = 0;  ///< (mu / 2) |y|^2
  mutable std::vector<double> projected_;
};

std::vector<ParameterGroup> WorstGroup::groups() const {
  std::vector<ParameterGroup> all = network().groups();
  all.push_back({"group_weights.bias", network().dim(), projected_.size(), 1});
  return all;
}

void WorstGroup::prepare(std::span<const float> w) {
  NetworkSaddle::prepare(w);
  penalty_ = 0;
  for (const float y : tail()) penalty_ += mu_ / 2 * static_cast<double>(y) * static_cast<double>(y);
}

double WorstGroup::loss_of(const Rows& rows, std::size_t row) {
  loss_.select(rows, row);
  const double y = loss_.group() ? static_cast<double>(tail()[*loss_.group()]) : none;
  return y * loss_.weighted_loss(outputs_of(row), label(rows, row)) - penalty_;
}

std::vector<Measure> WorstGroup::measures(const SetTotals& whole, const Shard& shard) {
  GroupMeasures groups(projected_.size(), !is_quantity(label_kind()));
  const double scale = record_factors.weight ? weight_scale(whole, shard).value_or(1) : 1;
  std::vector<float> outputs_of_all;
  std::vector<std::uint32_t> filled;
  for (const Block& block : shard.blocks) {
    filled.clear();
    for (std::uint32_t i = 0; i < block.records.count; ++i)
      if (!std::isnan(block.records.label[i])) filled.push_back(i);
    const Rows rows{block.records, filled};
    outputs_of_all.resize(rows.size() * outputs());
    scores(rows, outputs_of_all);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      loss_.select(rows, i);
      if (!loss_.group()) continue;
      const std::span<const float> own = std::span(outputs_of_all).subspan(i * outputs(), outputs());
      groups.add(*loss_.group(), scale * block.records.weight_of(rows.index[i]),
                 loss_.loss(own.data(), label(rows, i)), right(own, label(rows, i)));
    }
  }
  return groups.over(whole);
}

bool WorstGroup::right(std::span<const float> outputs, float label) const {
  if (outputs.size() == 1) return (outputs[0] > decision_threshold()) == (label > 0);
  return static_cast<float>(std::max_element(outputs.begin(), outputs.end()) - outputs.begin()) == label;
}

/// weight * clip((n / n_g) loss of the record, weighted) at coordinate base + g; nothing if it is not finite.
void WorstGroup::add_dual(const Rows& rows, std::size_t row, double weight, double clip, std::size_t base,
                          LatticeAccumulator& sum) {
  loss_.select(rows, row);
  const double own = rows.records.weight_of(rows.index[row]);
  const double loss = own * mean_of_copies(row, [&](const float* outputs) {
                        return loss_.weighted_loss(outputs, label(rows, row));
                      });
  if (!std::isfinite(loss)) return;
  const double share = weight * std::clamp(loss, -clip, clip);
  sum.add(base + *loss_.group(), std::span(&share, 1));
}

void WorstGroup::add_public_dual(std::span<const float> w, std::uint64_t /*step*/,
                                 std::span<double> gradient) const {
  const double mu = mean_weight() * mu_;
  for (std::size_t g = 0; g < gradient.size(); ++g) gradient[g] -= mu * static_cast<double>(w[primal_dim() + g]);
}

void WorstGroup::project_dual(std::span<float> y) const {
  // Beyond float32's range there is no direction left: a run that went astray goes on from the nearest bounded
  // point.
  std::transform(y.begin(), y.end(), projected_.begin(), [](float x) {
    return std::isnan(x)
               ? 0.0
               : std::clamp<double>(x, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
  });
  project_to_simplex(projected_);
  for (std::size_t g = 0; g < y.size(); ++g) y[g] = static_cast<float>(projected_[g]);
}

class WorstGroupBuilder final : public ObjectiveEntry::Builder, public LayersOption, public AugmentOption {
 public:
  void declare(Options& options) override {
    options.add("group_sizes", sizes_,
                "records of each group (with weights: what they weigh together, of which the proportion counts), "
                "public constants; their number is that of the groups",
                Range::at_least(1));
    options.add("group_feature", feature_, "feature (from 1) that holds the group, 0, 1, ...; 0: the label's class",
                Range::non_negative());
    options.add("group_input", input_, "whether the feature that holds the group is an input of the model, too");
    options.add(
        "group_regulariser", regulariser_,
        "mu of the public term -(mu / 2) |y|^2 of the groups' weights (0: a tenth of the loss of a model that knows "
        "nothing, log of the number of classes, or 1/2 for squared)",
        Range::closed(0, 1e6));
    options.add("head", head_, "loss: cross-entropy of classes or of a sign, or half the squared error",
                {"softmax", "logistic", "squared"});
    options.add("classes", classes_, "number of classes (head = softmax)", Range::at_least(2));
    options.add("hidden", hidden_, "units of the hidden layers (empty: a linear model)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    declare_layers(options);
    declare_augmentation(options);
    declare_mean_weight(options, mean_weight_);
  }
  void validate(std::vector<std::string>& problems) const override {
    if (head_ == "softmax") require_classes(classes(), problems);
    if (any_layers() && !hidden_.empty())
      problems.emplace_back("objective.layers and objective.hidden are two models: take one of them");
    if (any_layers()) check_layers_option(problems);
    check_augment_option(problems, any_layers());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const std::size_t outputs = std::max<std::size_t>(classes(), 1);
    const std::optional<LayeredShape> layers =
        any_layers() ? std::optional(shape_for(facts.features, outputs, saddle_passes)) : std::nullopt;
    auto worst = make_worst_group({.model = {.units = units_of(facts.features, hidden_, outputs),
                                             .input_bias = facts.bias,
                                             .activation = activation_named(activation_),
                                             .head = head_named(head_)},
                                   .group_sizes = {sizes_.begin(), sizes_.end()},
                                   .group_feature = static_cast<std::size_t>(feature_),
                                   .group_input = input_,
                                   .layers = layers,
                                   .augmentation = augmentation(),
                                   .regulariser = regulariser_});
    worst->given_mean_weight = mean_weight_;
    return worst;
  }
  LabelKind label_kind() const override { return labels_of(head_named(head_)); }
  std::size_t classes() const override { return head_ == "softmax" ? static_cast<std::size_t>(classes_) : 0; }

 private:
  std::vector<std::int64_t> sizes_, hidden_;
  std::int64_t feature_ = 0, classes_ = 0;  // not set
  bool input_ = false;
  double regulariser_ = 0, mean_weight_ = 0;
  std::string head_ = "softmax", activation_ = "tanh";
};

const ObjectiveRegistration worst_group{{"worst_group",
                                         "largest mean loss of several groups of records, min-max form",
                                         make_builder<WorstGroupBuilder>}};

double regulariser_of(const WorstGroupSettings& settings) {
  const MlpShape& model = settings.model;
  if (settings.regulariser > 0) return settings.regulariser;
  if (is_quantity(labels_of(model.head))) return 0.05;
  return std::log(std::max(2.0, static_cast<double>(model.units.back()))) / 10;
}

/// The model whose inputs are the features but for the group's, unless it is to see that, too.
MlpShape model_of(const WorstGroupSettings& settings) {
  MlpShape model = settings.model;
  if (settings.group_feature == 0 || settings.group_input) return model;
  if (--model.units.front() == 0)
    throw ConfigError(
        "objective.group_feature = 1 holds the group, is the only feature, and so leaves the model no input: give it "
        "other features (or this one, with objective.group_input = true)");
  model.left_out = settings.group_feature - 1;
  return model;
}

}  // namespace

std::unique_ptr<SaddleObjective> make_worst_group(const WorstGroupSettings& settings) {
  check_units(settings.model);
  if (settings.layers && settings.group_feature > 0 && !settings.group_input)
    throw ConfigError(
        "objective.layers take all features, and objective.group_feature is one: set objective.group_input = true, so that the model sees it, or take a perceptron (objective.hidden)");
  if (settings.layers) check_augmentation(settings.augmentation, settings.layers->in);
  if (settings.augmentation.any() && settings.group_feature > 0)
    throw ConfigError(
        "objective.augment would move the feature of objective.group_feature as if it were a pixel: leave one of them out");
  const RecordGroups groups(settings);
  return std::make_unique<WorstGroup>(model_of(settings), settings, groups, regulariser_of(settings));
}

}  // namespace dpmpi
