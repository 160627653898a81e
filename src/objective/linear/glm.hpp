#pragma once
// Generalised linear models f(w; x, y) = phi(<w, (x, bias)>, y) with one output.
//
// A record's gradient is phi'(m) (x, bias): one coefficient. It is clipped through the norm that was computed when
// the record was loaded, and each record goes to the lattice by itself in the sweep that scales it, so that no
// float32 sum over records exists: a micro-batch's composition changes no bit of anything, and only the slack of
// one contribution is charged (see linear_slack in clip.hpp).

#include <memory>

#include "objective/class_weights.hpp"
#include "objective/linear/kernels.hpp"
#include "objective/linear/probe.hpp"
#include "objective/math/losses.hpp"
#include "objective/objective.hpp"
#include "objective/score_layers.hpp"

namespace dpmpi {

/// Parameters: one weight a feature, then the coefficient of the bias column if facts.bias != 0.
class Glm final : public Objective,
                  public PointValues,
                  public GradientKernel,
                  public GradientNorms,
                  public LossPairs {
 public:
  /// `weights`, if there are any, are those of signs: phi is `loss` times that of the label.
  Glm(const ObjectiveFacts& facts, std::unique_ptr<ScalarLoss> loss, ClassWeights weights = {});

  std::size_t dim() const override { return features_ + (bias_ != 0 ? 1 : 0); }
  LabelKind label_kind() const override { return loss_->label_kind(); }
  std::size_t outputs() const override { return 1; }
  /// "weight" (1 x features) and "bias" (1 x 1); one layer, so that per-layer clipping is flat clipping.
  std::vector<ParameterGroup> groups() const override;
  ScoreRecipe score_recipe() const override { return recipe_of(one_layer(features_, 1, bias_), groups()); }
  double flops_per_record() const override { return 6.0 * static_cast<double>(dim()); }
  /// Large: no scratch grows with it.
  std::size_t micro_batch_rows() const override { return 512; }

  /// All zero.

  bool scores_are_logits() const override { return loss_->is_logistic(); }
  LossForm form() const override { return ScalarForm{loss_.get()}; }
  const ClassWeights& class_weights() const override { return weights_; }
  /// An exposure is one of counts.
  RecordFactors heeds() const override { return {.weight = true, .exposure = label_kind() == LabelKind::count}; }

  NumericSlack gradient_slack() const override;

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .norms = this, .pairs = this}; }

 private:
  void prepare(std::span<const float> w) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void gradient_norms(const Rows& rows, std::span<double> out) override;
  void norms_at_point(const Rows& rows, std::span<double> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override { probe_.prepare(x, y); }
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;

  using TileOf = double[tile_rows];
  /// Calls body(tile, labels, position of its first row) for each tile of the micro-batch, loaded into the kernel.
  template <class Body>
  void for_each_tile(const Rows& rows, Body&& body);
  /// Of the tile's rows, with bias and offsets.
  void margins(const Records& records, const Tile& tile, double* out);
  /// Of the tile's rows, weights included.
  void slopes(const Records& records, const Tile& tile, const double* margin, const double* label,
              double* out) const;
  RowFactors clipped_factors(const Records& records, const Tile& tile, const double* margin, const double* slope,
                             double clip, double scale) const;
  void add_scaled(const Records& records, const Tile& tile, const double* margin, const double* slope,
                  const L2Bound& bound, LatticeAccumulator& sum);

  std::size_t features_;
  Storage storage_;
  float bias_;
  ClassWeights weights_;
  std::unique_ptr<ScalarLoss> loss_;  // weighted
  std::unique_ptr<GlmKernel> kernel_;
  GlmPoint at_;                // w
  float bias_at_ = 0;          // its coefficient of the bias column
  std::vector<double> along_;  // products of a tile of directions with a record
  LinearProbe probe_;
};

}  // namespace dpmpi
