#pragma once
// Softmax regression on sparse records: logits W x + b, loss log sum exp(logits) - logits[y].
//
// A record's gradient is the outer product of delta = softmax(logits) - e_y with (x, bias), so that its norm is
// |delta| |(x, bias)|; as in glm.hpp each record is scaled, rounded and added to the lattice by itself. Dense
// records have the matrix products of the multi-layer objectives instead.

#include <memory>

#include "objective/class_weights.hpp"
#include "objective/objective.hpp"
#include "objective/score_layers.hpp"

namespace dpmpi {

/// Parameters: weight (classes x features, row-major), then one bias coefficient a class if facts.bias != 0.
class SparseSoftmax final : public Objective,
                            public PointValues,
                            public GradientKernel,
                            public GradientNorms,
                            public LossPairs {
 public:
  /// facts.storage is sparse; classes >= 2. `weights`, if there are any: one a class.
  SparseSoftmax(const ObjectiveFacts& facts, std::size_t classes, ClassWeights weights = {});
  ~SparseSoftmax() override;

  std::size_t dim() const override { return classes_ * (features_ + (bias_ != 0 ? 1 : 0)); }
  LabelKind label_kind() const override { return LabelKind::class_; }
  std::size_t classes() const override { return classes_; }
  std::size_t outputs() const override { return classes_; }
  bool scores_are_logits() const override { return true; }
  LossForm form() const override { return SoftmaxForm(); }
  const ClassWeights& class_weights() const override { return weights_; }
  RecordFactors heeds() const override { return {.weight = true}; }
  std::vector<ParameterGroup> groups() const override;
  ScoreRecipe score_recipe() const override { return recipe_of(one_layer(features_, classes_, bias_), groups()); }
  double flops_per_record() const override { return 6.0 * static_cast<double>(dim()); }

  /// All zero.

  NumericSlack gradient_slack() const override;

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .norms = this, .pairs = this}; }

 private:
  void prepare(std::span<const float> w) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void gradient_norms(const Rows& rows, std::span<double> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override;
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;

  struct Row;
  class Layer;  // a weight matrix, feature-major
  void check(const Records& records) const;
  void add_logits(const Row& row, double factor, const double* w, std::span<double> logits) const;
  double loss(std::span<const double> logits, float label) const;
  bool output_delta(const Row& row);
  void add_outer(const Row& row, const L2Bound& bound, LatticeAccumulator& sum) const;

  std::size_t features_, classes_;
  float bias_;
  ClassWeights weights_;
  std::unique_ptr<Layer> at_;
  std::vector<double> logits_, delta_;
  std::vector<double> at_x_, at_y_, along_, moved_;  // logits of probe()
  std::span<const double> probe_x_, probe_y_;
};

}  // namespace dpmpi
