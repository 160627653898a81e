// The objective `tune_gp`: the posterior mean of a Gaussian process with mean zero and a Gaussian kernel of unit
// height with a length for each feature, which is kernel ridge regression with ridge noise^2.

#include <algorithm>
#include <cmath>

#include "core/eigen.hpp"
#include "objective/tuning/kernel_scores.hpp"
#include "objective/tuning/tuning.hpp"

#include <Eigen/Cholesky>

namespace dpmpi {
namespace {

class GaussianProcess final : public TunedModel {
 public:
  explicit GaussianProcess(const PublicSet& set) : scores_(set), gram_(set.count * set.stride) {}

  std::size_t size() const override { return scores_.size(); }

  bool train(std::span<const double> values, std::span<double> model) override {
    const std::size_t features = scores_.set().features;
    const auto n = static_cast<Eigen::Index>(scores_.set().count);
    scores_.begin(values.first(features), 1, model);
    scores_.gram(model, gram_.data());
    // Eigen reads rows as columns, which are the same numbers up to rounding; the factor takes one triangle.
    Eigen::Map<Eigen::MatrixXd, Eigen::Aligned64, Eigen::OuterStride<>> gram(
        gram_.data(), n, n, Eigen::OuterStride<>(static_cast<Eigen::Index>(scores_.set().stride)));
    gram.diagonal().array() += values[features] * values[features];
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(gram);
    if (factor.info() != Eigen::Success) return false;
    // Not in the model itself: its place among others decides on alignment, and alignment on bits.
    solution_ = Eigen::Map<const Eigen::VectorXd>(scores_.set().y.data(), n);
    factor.solveInPlace(solution_);
    std::copy(solution_.begin(), solution_.end(), KernelScores::Parts(model, scores_.set()).coefficient);
    return solution_.allFinite();
  }
  void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) override {
    scores_.predict(model, rows, stride, out);
  }

 private:
  KernelScores scores_;
  AlignedVector<double> gram_;
  Eigen::VectorXd solution_;
};

class GaussianProcesses final : public ModelFamily {
 public:
  GaussianProcesses(std::size_t features, const TunedRange& lengths, const TunedRange& noise) {
    hyper_.add("lengthscale", lengths, features);
    hyper_.add("noise", noise);
  }

  const HyperParameters& hyper_parameters() const override { return hyper_; }
  double training_bytes(std::size_t records) const override {
    return 8 * static_cast<double>(records) * static_cast<double>(round_up(records, 8));
  }
  std::unique_ptr<TunedModel> on(const PublicSet& set) const override {
    return std::make_unique<GaussianProcess>(set);
  }

 private:
  HyperParameters hyper_;
};

class GaussianProcessBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    tuning_.declare(options, {"squared", "huber", "absolute"});
    options.add("lengthscale", length_, "lengths of the kernel, one a feature: a number, or bounds of a search");
    options.add("noise", noise_, "standard deviation of the labels' noise: a number, or bounds of a search");
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Tuning>(
        facts, tuning_,
        std::make_unique<GaussianProcesses>(facts.features, TunedRange::parse("objective.lengthscale", length_),
                                            TunedRange::parse("objective.noise", noise_)));
  }
  LabelKind label_kind() const override { return LabelKind::real; }

 private:
  ModelTuningOptions tuning_;
  std::vector<std::string> length_ = {"0.1353352832366127", "7.38905609893065"};  // e^-2 and e^2
  std::vector<std::string> noise_ = {"0.05"};
};

const ObjectiveRegistration tune_gp{
    {"tune_gp", "validation loss of Gaussian process regression (kernel ridge) by its lengthscales and noise",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<GaussianProcessBuilder>(); }}};

}  // namespace
}  // namespace dpmpi
