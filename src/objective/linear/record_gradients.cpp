#include "objective/linear/record_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "objective/class_weights.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/loss_functions.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
namespace {

/// x - s.
class OfMean final : public RecordGradients {
 public:
  explicit OfMean(std::size_t dim) : dim_(dim) {}
  std::size_t dim() const override { return dim_; }
  double smoothness() const override { return 1; }
  bool clipping_contracts() const override { return true; }

  void gradient(const Rows& row, std::span<const double> x, std::span<double> out) override {
    verify(row.size() == 1 && x.size() == dim_ && out.size() == dim_, "one record and points of its dimension");
    const std::uint32_t i = row.index[0];
    if (!takes_part(row.records, i)) {
      std::fill(out.begin(), out.end(), 0.0);
      return;
    }
    copy_rows(row, dim_, out.data());
    for (std::size_t j = 0; j < dim_; ++j) out[j] = x[j] - out[j];
  }

  /// One rounding a coordinate.
  double gradient_error(double) const override { return 0x1p-53; }

 private:
  std::size_t dim_;
};

/// (softmax(W a) - e_y) a^T for records a shrunk to a public norm R, times the weight of class y. The Hessian of
/// the logits' loss has norm <= 1/2, so beta = R^2 / 2 for the largest weight 1.
class OfSoftmax final : public RecordGradients {
 public:
  OfSoftmax(const ObjectiveFacts& facts, std::size_t classes, const ClassWeights& weights, double feature_bound)
      : features_(facts.features),
        classes_(classes),
        weights_(weights),
        bound_(feature_bound),
        record_(facts.features + (facts.bias != 0 ? 1 : 0)),
        delta_(classes) {}
  std::size_t dim() const override { return classes_ * record_.size(); }
  double smoothness() const override { return weights_.largest() * bound_ * bound_ / 2; }
  bool clipping_contracts() const override { return false; }

  void gradient(const Rows& row, std::span<const double> x, std::span<double> out) override {
    verify(row.size() == 1 && x.size() == dim() && out.size() == dim(), "one record and points of its dimension");
    if (!load(row)) {
      std::fill(out.begin(), out.end(), 0.0);
      return;
    }
    set_delta(x, static_cast<std::size_t>(row.records.label[row.index[0]]));
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t j = 0; j < features_; ++j) out[c * features_ + j] = delta_[c] * record_[j];
      if (record_.size() > features_) out[classes_ * features_ + c] = delta_[c] * record_[features_];
    }
  }

  /// A logit is off by (d + 4) 2^-53 R |x| for d columns; delta by 1/2 sqrt(classes) times that and by its own
  /// exponentials, 2 classes + 16 roundings; a weight is one more.
  double gradient_error(double radius) const override {
    const auto d = static_cast<double>(record_.size()), k = static_cast<double>(classes_);
    const double rounded = weights_.empty() ? 16 : 17;
    return weights_.largest() * bound_ * 0x1p-53 * (std::sqrt(k) * (d + 4) * bound_ * radius + 2 * k + rounded);
  }

 private:
  bool load(const Rows& row) {
    const std::uint32_t i = row.index[0];
    const double label = row.records.label[i], norm = row.records.norm[i];
    if (!(label >= 0 && label < static_cast<double>(classes_) && std::isfinite(norm))) return false;
    copy_rows(row, record_.size(), record_.data());
    if (norm > bound_)
      for (double& v : record_) v *= bound_ / norm;
    return true;
  }

  void set_delta(std::span<const double> x, std::size_t y) {
    for (std::size_t c = 0; c < classes_; ++c) {
      double logit = record_.size() > features_ ? x[classes_ * features_ + c] * record_[features_] : 0;
      for (std::size_t j = 0; j < features_; ++j) logit += x[c * features_ + j] * record_[j];
      delta_[c] = logit;
    }
    const double most = *std::max_element(delta_.begin(), delta_.end());
    double sum = 0;
    for (double& v : delta_) sum += v = exp_nonpositive(v - most);
    for (double& v : delta_) v /= sum;
    delta_[y] -= 1;
    if (!weights_.empty())
      for (double& v : delta_) v *= weights_[y];
  }

  std::size_t features_, classes_;
  ClassWeights weights_;
  double bound_;
  std::vector<double> record_, delta_;
};

}  // namespace

bool has_record_gradients(const Objective& objective) {
  return std::holds_alternative<DistanceForm>(objective.form()) || objective.linear_softmax();
}

std::unique_ptr<RecordGradients> record_gradients(const Objective& objective, const ObjectiveFacts& facts,
                                                  double feature_bound) {
  objective.refuse_factors({}, "steps along gradients of single records");
  if (std::holds_alternative<DistanceForm>(objective.form())) return std::make_unique<OfMean>(objective.dim());
  if (!has_record_gradients(objective))
    throw ConfigError(
        "the smoothness of this objective is not a property of its code for every record that could exist: use "
        "mean or softmax without hidden layers, or, for a loss of one margin, a method of clamped steps");
  if (!(feature_bound > 0 && std::isfinite(feature_bound)))
    throw ConfigError("softmax is smooth only for records of bounded norm: set a public bound on it, > 0");
  return std::make_unique<OfSoftmax>(facts, objective.classes(), objective.class_weights(), feature_bound);
}

}  // namespace dpmpi
