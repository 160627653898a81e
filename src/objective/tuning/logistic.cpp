// The objective `tune_logistic`: logistic regression with a ridge for each feature, or one for all of them.

#include <algorithm>
#include <cmath>

#include "core/eigen.hpp"
#include "objective/tuning/tuning.hpp"

#include <Eigen/Cholesky>

namespace dpmpi {
namespace {

constexpr double bias_ridge = 1e-6;  // so that there is a minimum whatever the labels are
constexpr double tolerance = 1e-10;  // of the gradient's norm
constexpr int most_steps = 100, most_halvings = 50;

/// Minimises (1/n) sum_i log(1 + exp(-y_i (<w, x_i> + b))) + (1/2) sum_j ridge_j w_j^2 by Newton's method until the
/// gradient's norm is at most `tolerance`: within tolerance / (least ridge) of the minimum. A model is w, then b.
class RidgedLogistic final : public TunedModel {
 public:
  RidgedLogistic(const PublicSet& set, bool per_feature)
      : set_(set), features_(set.features), per_feature_(per_feature), loss_(logistic_loss()) {
    const auto d = static_cast<Eigen::Index>(features_ + 1), n = static_cast<Eigen::Index>(set.stride);
    for (auto* vector : {&ridge_, &w_, &trial_, &gradient_, &step_}) vector->resize(d);
    for (auto* vector : {&margin_, &value_, &slope_}) vector->resize(n);
    hessian_.resize(d, d), curved_.resize(n, d - 1);
  }
  std::size_t size() const override { return features_ + 1; }

  bool train(std::span<const double> values, std::span<double> model) override {
    const auto d = static_cast<Eigen::Index>(features_);
    for (Eigen::Index j = 0; j < d; ++j) ridge_[j] = values[per_feature_ ? static_cast<std::size_t>(j) : 0];
    ridge_[d] = bias_ridge;
    w_.setZero();
    for (int step = 0; step < most_steps; ++step) {
      differentiate();
      if (gradient_.norm() <= tolerance) {
        Eigen::Map<Eigen::VectorXd>(model.data(), d + 1) = w_;
        return true;
      }
      if (!advance()) return false;
    }
    return false;
  }
  void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) override {
    for (std::size_t r = 0; r < tile_rows; ++r) {
      out[r] = model[features_];
      for (std::size_t j = 0; j < features_; ++j) out[r] += model[j] * rows[r * stride + j];
    }
  }

 private:
  Eigen::Map<const Eigen::MatrixXd> x() const {
    return {set_.x.data(), margin_.size(), static_cast<Eigen::Index>(features_)};
  }
  double mean(double sum) const { return sum / static_cast<double>(set_.count); }
  void set_margins(const Eigen::VectorXd& w) {
    margin_ = x() * w.head(w.size() - 1);
    margin_.array() += w[w.size() - 1];
  }

  double value_at(const Eigen::VectorXd& w) {
    set_margins(w);
    for (std::size_t i = 0; i < set_.stride; i += tile_rows)
      loss_->values(margin_.data() + i, set_.y.data() + i, value_.data() + i);
    const double sum = value_.head(static_cast<Eigen::Index>(set_.count)).sum();
    return mean(sum) + w.cwiseAbs2().dot(ridge_) / 2;
  }

  /// Gradient and Hessian at w_. With labels -1 and 1 the second derivative is s (1 - s) for the slope's size s;
  /// the padding has label 0 and slope 0.
  void differentiate() {
    set_margins(w_);
    for (std::size_t i = 0; i < set_.stride; i += tile_rows)
      loss_->slopes(margin_.data() + i, set_.y.data() + i, slope_.data() + i);
    const Eigen::Index d = w_.size() - 1;
    gradient_.head(d) = x().transpose() * slope_;
    gradient_[d] = slope_.sum();
    gradient_ = gradient_ * mean(1) + w_.cwiseProduct(ridge_);
    slope_ = slope_.array().abs() * (1 - slope_.array().abs());
    curved_ = slope_.asDiagonal() * x();
    hessian_.topLeftCorner(d, d) = x().transpose() * curved_;
    hessian_.row(d).head(d) = curved_.colwise().sum();
    hessian_(d, d) = slope_.sum();
    hessian_ *= mean(1);
    hessian_.diagonal() += ridge_;
  }

  /// A Newton step, halved until the value falls as much as it should.
  bool advance() {
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(hessian_);
    if (factor.info() != Eigen::Success) return false;
    step_ = factor.solve(gradient_);
    const double fall = gradient_.dot(step_), before = value_at(w_);
    // Where the fall that is due is lost in rounding, full steps converge.
    const double lost = 1e-14 * (1 + std::abs(before));
    double length = 1;
    for (int halving = 0; halving < most_halvings; ++halving, length /= 2) {
      trial_ = w_ - length * step_;
      if (value_at(trial_) > before - length * fall / 4 + lost) continue;
      w_.swap(trial_);
      return true;
    }
    return false;
  }

  const PublicSet& set_;
  std::size_t features_;
  bool per_feature_;
  std::unique_ptr<ScalarLoss> loss_;
  Eigen::MatrixXd curved_, hessian_;
  Eigen::VectorXd ridge_, w_, trial_, gradient_, step_, margin_, value_, slope_;
};

class RidgedLogistics final : public ModelFamily {
 public:
  RidgedLogistics(std::size_t features, const TunedRange& ridge, bool per_feature)
      : features_(features), per_feature_(per_feature) {
    hyper_.add("ridge", ridge, per_feature ? features : 1);
  }

  const HyperParameters& hyper_parameters() const override { return hyper_; }
  double training_bytes(std::size_t records) const override {
    const auto n = static_cast<double>(round_up(records, 8)), d = static_cast<double>(features_ + 1);
    return 8 * (n * (d + 3) + d * (d + 5));
  }
  std::unique_ptr<TunedModel> on(const PublicSet& set) const override {
    return std::make_unique<RidgedLogistic>(set, per_feature_);
  }

 private:
  std::size_t features_;
  bool per_feature_;
  HyperParameters hyper_;
};

class LogisticBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    tuning_.declare(options, {"logistic", "hinge"});
    options.add("ridge", ridge_, "weight of w_j^2 / 2 in training: a number, or bounds of a search");
    options.add("per_feature", per_feature_, "search for a ridge for each feature, not for one for all of them");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Tuning>(
        facts, tuning_,
        std::make_unique<RidgedLogistics>(facts.features, TunedRange::parse("objective.ridge", ridge_),
                                          per_feature_));
  }
  LabelKind label_kind() const override { return LabelKind::sign; }

 private:
  ModelTuningOptions tuning_;
  std::vector<std::string> ridge_ = {"0.0001", "1"};
  bool per_feature_ = true;
};

const ObjectiveRegistration tune_logistic{
    {"tune_logistic", "validation loss of logistic regression by its ridges",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<LogisticBuilder>(); }}};

}  // namespace
}  // namespace dpmpi
