// The objective `mallows`: Huber regression whose records of large norm weigh less, so that gradients are bounded:
//
//   f(w; x, y) = c rho(<w, x> - y),  c = min(1, leverage / |x|^2),  rho Huber's loss,
//
// has |grad f| <= delta sqrt(leverage), which is reached at |x|^2 = leverage (Mallows 1975). x includes the bias
// column. All arithmetic is in double, record by record.

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/copy_rows.hpp"
#include "objective/joint_clip.hpp"
#include "objective/objective.hpp"
#include "objective/score_layers.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

class Mallows final : public Objective, public PointValues, public GradientKernel, public LossesAtPoints {
 public:
  Mallows(const ObjectiveFacts& facts, double delta, double leverage)
      : features_(facts.features),
        bias_(facts.bias),
        delta_(delta),
        leverage_(leverage),
        record_(facts.features + (facts.bias != 0 ? 1 : 0)),
        vector_(record_.size()) {
    if (features_ == 0) throw DataError("records without features");
  }

  std::size_t dim() const override { return record_.size(); }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override {
    std::vector<ParameterGroup> all{{"weight", 0, 1, features_}};
    if (bias_ != 0) all.push_back({"bias", features_, 1, 1});
    return all;
  }
  ScoreRecipe score_recipe() const override { return recipe_of(one_layer(features_, 1, bias_), groups()); }
  double flops_per_record() const override { return 8.0 * static_cast<double>(dim()); }
  NumericSlack gradient_slack() const override { return joint_clip_slack(dim()); }

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this, .points = this}; }

 private:
  void prepare(std::span<const float> w) override { at_.assign(w.begin(), w.end()); }
  void prepare_points(std::span<const double> points) override { points_.assign(points.begin(), points.end()); }
  void losses(const Rows& rows, std::span<double> out) override { losses_from(at_.data(), rows, out); }
  void losses_at(std::size_t p, const Rows& rows, std::span<double> out) override {
    verify((p + 1) * dim() <= points_.size(), "a point that prepare_points() was given");
    losses_from(points_.data() + p * dim(), rows, out);
  }
  void scores(const Rows& rows, std::span<float> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      out[r] = static_cast<float>(load(rows.records, rows.index[r]) ? along(at_.data()) : not_a_number);
  }
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for (const std::uint32_t i : rows.index)
      if (load(rows.records, i)) add(weight_ * slope(along(at_.data()) - label_), bound, sum);
  }

  /// record_, label_ and weight_ of record i. False if it does not count.
  bool load(const Records& records, std::uint32_t i) {
    verify(records.features == features_ && records.bias == bias_, "records of another shape");
    if (!takes_part(records, i)) return false;
    copy_rows(Rows{records, std::span(&i, 1)}, record_.size(), record_.data());
    label_ = static_cast<double>(records.label[i]);
    const double square = squared_norm(record_.data(), record_.size());
    weight_ = square > leverage_ ? leverage_ / square : 1;
    return true;
  }
  double along(const double* w) const { return dot(w, record_.data(), record_.size()); }
  double value(double residual) const {
    const double size = std::abs(residual);
    return size <= delta_ ? size * size / 2 : delta_ * (size - delta_ / 2);
  }
  double slope(double residual) const {
    return std::isnan(residual) ? residual : std::clamp(residual, -delta_, delta_);
  }
  void losses_from(const double* w, const Rows& rows, std::span<double> out) {
    for (std::size_t r = 0; r < rows.size(); ++r)
      out[r] = load(rows.records, rows.index[r]) ? weight_ * value(along(w) - label_) : not_a_number;
  }
  void add(double factor, const L2Bound& bound, LatticeAccumulator& sum) {
    verify(bound.clipping == Clipping::flat, "a linear model has one layer");
    for (std::size_t j = 0; j < dim(); ++j) vector_[j] = factor * record_[j];
    add_clipped_jointly(vector_, bound.clip, sum);
  }

  std::size_t features_;
  float bias_;
  double delta_, leverage_;
  std::vector<double> at_, points_;
  std::vector<double> record_, vector_;
  double label_ = 0, weight_ = 1;
};

class MallowsBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    options.add("delta", delta_, "residual beyond which the Huber loss is linear", Range::positive());
    options.add("leverage", leverage_, "squared norm beyond which a record weighs leverage / |x|^2",
                Range::positive());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Mallows>(facts, delta_, leverage_);
  }
  LabelKind label_kind() const override { return LabelKind::real; }

 private:
  double delta_ = 1, leverage_ = 2;
};

const ObjectiveRegistration mallows{{"mallows",
                                     "Huber's loss of <w, x> - y times min(1, leverage / |x|^2): bounded gradients",
                                     make_builder<MallowsBuilder>}};

}  // namespace
}  // namespace dpmpi
