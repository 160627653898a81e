#pragma once
// Mean estimation: f(x; s) = |x - s|^2 / 2 of a record s = (features, bias column). Labels are not looked at,
// except that an empty slot has none.
//
// The gradient x - s clipped to norm C is the gradient of the C-Lipschitz envelope of f, so that clipped steps of
// length <= 2 are contractions.

#include "objective/objective.hpp"

namespace dpmpi {

/// Parameters: the mean, one number a feature, then one for the bias column if facts.bias != 0.
class Mean final : public Objective,
                   public PointValues,
                   public GradientKernel,
                   public GradientNorms,
                   public LossPairs {
 public:
  explicit Mean(const ObjectiveFacts& facts);

  std::size_t dim() const override { return record_.size(); }
  LabelKind label_kind() const override { return LabelKind::real; }
  /// The distance |w - s|.
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override;
  double flops_per_record() const override { return 6.0 * static_cast<double>(dim()); }
  LossForm form() const override { return DistanceForm(); }

  /// All zero.

  NumericSlack gradient_slack() const override;

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .norms = this, .pairs = this}; }

 private:
  void prepare(std::span<const float> w) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  /// At w: nothing bounds them for all points.
  void gradient_norms(const Rows& rows, std::span<double> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override;
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;

  /// record_ = record i. False if it does not count.
  bool load(const Records& records, std::uint32_t i);
  double half_square(std::span<const double> x) const;

  std::size_t features_;
  float bias_;
  std::vector<double> at_, record_, vector_, probe_x_, probe_y_;
};

}  // namespace dpmpi
