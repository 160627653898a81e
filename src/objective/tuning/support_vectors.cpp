// The objective `tune_svm`: support vector machines with the kernel exp(-gamma sum_j (x_j - x'_j)^2 / length_j^2) +
// 1, whose constant makes the offset a part of the penalised model, so that the dual is a problem in a box. Labels
// -1 and 1 are classified; for real ones it is regression without loss up to `epsilon`.

#include <algorithm>
#include <cmath>

#include "objective/math/box_quadratic.hpp"
#include "objective/tuning/kernel_scores.hpp"
#include "objective/tuning/tuning.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_steps_a_record = 2000;

struct SvmRanges {
  TunedRange length, cost, gamma, epsilon;
};

class SupportVectorMachine final : public TunedModel {
 public:
  SupportVectorMachine(const PublicSet& set, bool regression, double tolerance)
      : regression_(regression),
        tolerance_(tolerance),
        scores_(set),
        gram_(set.count * set.stride),
        low_(set.count),
        high_(set.count),
        slope_(set.count) {}

  std::size_t size() const override { return scores_.size(); }

  bool train(std::span<const double> values, std::span<double> model) override {
    const PublicSet& set = scores_.set();
    const double cost = values[set.features], gamma = values[set.features + 1];
    scores_.begin(values.first(set.features), 2 * gamma, model);
    scores_.gram(model, gram_.data());
    for (double& k : gram_) k += 1;
    for (std::size_t i = 0; i < set.count; ++i) {
      low_[i] = regression_ || set.y[i] < 0 ? -cost : 0;
      high_[i] = regression_ || set.y[i] > 0 ? cost : 0;
    }
    const KernelScores::Parts parts(model, set);
    const std::span<double> coefficient(parts.coefficient, set.count);
    const BoxQuadratic dual{.matrix = gram_.data(),
                            .count = set.count,
                            .stride = set.stride,
                            .linear = std::span(set.y).first(set.count),
                            .low = low_,
                            .high = high_,
                            .absolute = regression_ ? values[set.features + 2] : 0};
    if (!minimise(dual, tolerance_, most_steps_a_record * set.count, coefficient, slope_)) return false;
    for (const double c : coefficient) *parts.offset += c;
    return std::isfinite(*parts.offset);
  }
  void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) override {
    scores_.predict(model, rows, stride, out);
  }

 private:
  bool regression_;
  double tolerance_;
  KernelScores scores_;
  AlignedVector<double> gram_, low_, high_, slope_;
};

class SupportVectorMachines final : public ModelFamily {
 public:
  SupportVectorMachines(std::size_t features, const SvmRanges& ranges, bool regression, double tolerance)
      : regression_(regression), tolerance_(tolerance) {
    hyper_.add("lengthscale", ranges.length, features);
    hyper_.add("cost", ranges.cost);
    hyper_.add("gamma", ranges.gamma);
    if (regression) hyper_.add("epsilon", ranges.epsilon);
  }

  const HyperParameters& hyper_parameters() const override { return hyper_; }
  double training_bytes(std::size_t records) const override {
    return 8 * static_cast<double>(records) * static_cast<double>(round_up(records, 8) + 3);
  }
  std::unique_ptr<TunedModel> on(const PublicSet& set) const override {
    return std::make_unique<SupportVectorMachine>(set, regression_, tolerance_);
  }

 private:
  bool regression_;
  double tolerance_;
  HyperParameters hyper_;
};

class SupportVectorsBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    tuning_.declare(options, {"hinge", "logistic", "squared", "huber", "absolute"});
    options.add("lengthscale", length_, "lengths of the kernel, one a feature: a number, or bounds of a search");
    options.add("cost", cost_, "C, bound of a record's dual coefficient: a number, or bounds of a search");
    options.add("gamma", gamma_, "factor of the squared distance in the kernel: a number, or bounds of a search");
    options.add(
        "epsilon", epsilon_,
        "residual that costs nothing (real labels, so loss = squared, huber or absolute): a number, or bounds of a search");
    options.add("tolerance", tolerance_, "violation of the optimality conditions at which training ends",
                Range::positive());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const SvmRanges ranges{TunedRange::parse("objective.lengthscale", length_),
                           TunedRange::parse("objective.cost", cost_), TunedRange::parse("objective.gamma", gamma_),
                           TunedRange::parse("objective.epsilon", epsilon_)};
    return std::make_unique<Tuning>(facts, tuning_,
                                    std::make_unique<SupportVectorMachines>(
                                        facts.features, ranges, label_kind() == LabelKind::real, tolerance_));
  }
  LabelKind label_kind() const override { return tuning_.make_loss()->label_kind(); }

 private:
  ModelTuningOptions tuning_;
  std::vector<std::string> length_ = {"1"}, cost_ = {"0.1", "10"}, gamma_ = {"0.01", "5"}, epsilon_ = {"0.1"};
  double tolerance_ = 1e-6;
};

const ObjectiveRegistration tune_svm{
    {"tune_svm", "validation loss of a support vector machine by its cost, kernel and (regression) epsilon",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<SupportVectorsBuilder>(); }}};

}  // namespace
}  // namespace dpmpi
