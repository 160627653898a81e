// The objective `tune_mlp`: a network with one hidden layer of tanh units, trained for a fixed number of steps on
// the whole public set, by its learning rate, width and weight decay. The width is a real number: unit k = 0, 1,
// ... counts by min(1, max(0, width - k)), so that losses are continuous in it.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/eigen.hpp"
#include "core/errors.hpp"
#include "objective/tuning/tuning.hpp"

namespace dpmpi {
namespace {

constexpr double momentum = 0.9;

/// A model is, unit by unit, its weights, its bias and its output weight times its part; and at the end the
/// output's bias.
class SmallNetwork final : public TunedModel {
 public:
  /// What all networks of the family have in common.
  struct Facts {
    std::size_t features, units;
    const ScalarLoss* loss;
    std::int64_t epochs;
    std::uint64_t seed;
    std::size_t size() const { return units * (features + 2) + 1; }
  };
  SmallNetwork(const PublicSet& set, const Facts& facts)
      : set_(set),
        features_(facts.features),
        units_(facts.units),
        epochs_(facts.epochs),
        seed_(facts.seed),
        loss_(*facts.loss) {
    const auto n = static_cast<Eigen::Index>(set.stride), h = static_cast<Eigen::Index>(units_);
    for (auto* matrix : {&activity_, &signal_}) matrix->resize(n, h);
    for (auto* vector : {&score_, &slope_}) vector->resize(n);
    for (auto* vector : {&w_, &speed_, &gradient_}) vector->resize(static_cast<Eigen::Index>(size()));
    part_.resize(h);
  }
  std::size_t size() const override { return units_ * (features_ + 2) + 1; }

  bool train(std::span<const double> values, std::span<double> model) override;

  void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) override {
    for (std::size_t r = 0; r < tile_rows; ++r) {
      out[r] = model.back();
      for (std::size_t k = 0; k < units_; ++k) {
        const double* unit = model.data() + k * (features_ + 2);
        double sum = unit[features_];
        for (std::size_t j = 0; j < features_; ++j) sum += unit[j] * rows[r * stride + j];
        out[r] += unit[features_ + 1] * std::tanh(sum);
      }
    }
  }

 private:
  using Units = Eigen::Map<Eigen::MatrixXd>;  // (features + 2) x units
  Units units(Eigen::VectorXd& w) const {
    return {w.data(), static_cast<Eigen::Index>(features_ + 2), static_cast<Eigen::Index>(units_)};
  }
  Eigen::Map<const Eigen::MatrixXd> x() const {
    return {set_.x.data(), score_.size(), static_cast<Eigen::Index>(features_)};
  }
  void start();
  void differentiate(double decay);

  const PublicSet& set_;
  std::size_t features_, units_;
  std::int64_t epochs_;
  std::uint64_t seed_;
  const ScalarLoss& loss_;
  Eigen::MatrixXd activity_, signal_;
  Eigen::VectorXd score_, slope_, w_, speed_, gradient_, part_;
};

void SmallNetwork::start() {
  std::vector<double> normal(round_up(size(), 2));
  PublicStream(seed_, "tune_mlp start").normals(0, normal);
  std::copy_n(normal.begin(), size(), w_.begin());
  auto unit = units(w_);
  const auto d = static_cast<Eigen::Index>(features_);
  unit.topRows(d) /= std::sqrt(static_cast<double>(features_));
  unit.row(d).setZero();
  unit.row(d + 1) /= std::sqrt(static_cast<double>(units_));
  w_[w_.size() - 1] = 0;
  speed_.setZero();
}

/// The gradient of the mean loss and of decay |weights|^2 / 2, biases left out. The padding's share is taken out by
/// setting its slopes to zero.
void SmallNetwork::differentiate(double decay) {
  const auto d = static_cast<Eigen::Index>(features_), n = static_cast<Eigen::Index>(set_.count);
  const auto unit = units(w_);
  auto slope = units(gradient_);
  activity_.noalias() = x() * unit.topRows(d);
  activity_.rowwise() += unit.row(d);
  activity_ = activity_.array().tanh();
  const Eigen::VectorXd output = unit.row(d + 1).transpose().cwiseProduct(part_);
  score_.noalias() = activity_ * output;
  score_.array() += w_[w_.size() - 1];
  for (std::size_t i = 0; i < set_.stride; i += tile_rows)
    loss_.slopes(score_.data() + i, set_.y.data() + i, slope_.data() + i);
  slope_.tail(slope_.size() - n).setZero();
  slope_ /= static_cast<double>(set_.count);

  slope.row(d + 1) = (activity_.transpose() * slope_).cwiseProduct(part_).transpose();
  signal_ = (slope_ * output.transpose()).array() * (1 - activity_.array().square());
  slope.topRows(d).noalias() = x().transpose() * signal_;
  slope.row(d) = signal_.colwise().sum();
  slope.topRows(d) += decay * unit.topRows(d);
  slope.row(d + 1) += decay * unit.row(d + 1);
  gradient_[gradient_.size() - 1] = slope_.sum();
}

bool SmallNetwork::train(std::span<const double> values, std::span<double> model) {
  const double rate = values[0], width = values[1], decay = values[2];
  for (Eigen::Index k = 0; k < part_.size(); ++k) part_[k] = std::clamp(width - static_cast<double>(k), 0.0, 1.0);
  start();
  for (std::int64_t epoch = 0; epoch < epochs_; ++epoch) {
    differentiate(decay);
    speed_ = momentum * speed_ - rate * gradient_;
    w_ += speed_;
    if (!w_.allFinite()) return false;
  }
  units(w_).row(static_cast<Eigen::Index>(features_ + 1)).array() *= part_.transpose().array();
  std::copy_n(w_.begin(), size(), model.begin());
  return true;
}

class SmallNetworks final : public ModelFamily {
 public:
  struct Ranges {
    TunedRange rate, width, decay;
  };
  SmallNetworks(std::size_t features, const Ranges& ranges, std::unique_ptr<ScalarLoss> loss, std::int64_t epochs,
                std::uint64_t seed)
      : loss_(std::move(loss)),
        facts_{features, static_cast<std::size_t>(std::ceil(ranges.width.high)), loss_.get(), epochs, seed} {
    hyper_.add("rate", ranges.rate);
    hyper_.add("width", ranges.width);
    hyper_.add("decay", ranges.decay);
  }

  const HyperParameters& hyper_parameters() const override { return hyper_; }
  double training_bytes(std::size_t records) const override {
    return 8 * (static_cast<double>(round_up(records, 8)) * static_cast<double>(2 * facts_.units + 2) +
                3 * static_cast<double>(facts_.size()));
  }
  std::unique_ptr<TunedModel> on(const PublicSet& set) const override {
    return std::make_unique<SmallNetwork>(set, facts_);
  }

 private:
  std::unique_ptr<ScalarLoss> loss_;
  SmallNetwork::Facts facts_;
  HyperParameters hyper_;
};

class PerceptronBuilder final : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    tuning_.declare(options, {"squared", "huber", "absolute", "logistic", "hinge"});
    options.add("rate", rate_, "learning rate of training: a number, or bounds of a search");
    options.add("width", width_, "hidden units, a real number: fixed, or bounds of a search");
    options.add("decay", decay_, "weight decay of training: a number, or bounds of a search");
    options.add("epochs", epochs_, "steps of gradient descent on the whole set, momentum 0.9",
                Range::closed(1, 1e7));
    options.add("seed", seed_, "public seed of the start weights", Range::non_negative());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    const SmallNetworks::Ranges ranges{TunedRange::parse("objective.rate", rate_),
                                       TunedRange::parse("objective.width", width_),
                                       TunedRange::parse("objective.decay", decay_)};
    if (ranges.width.high > most_units)
      throw ConfigError(fmt::format("objective.width = {} is above {}, the most units that these networks may have",
                                    ranges.width.high, most_units));
    return std::make_unique<Tuning>(facts, tuning_,
                                    std::make_unique<SmallNetworks>(facts.features, ranges, tuning_.make_loss(),
                                                                    epochs_, static_cast<std::uint64_t>(seed_)));
  }
  LabelKind label_kind() const override { return tuning_.make_loss()->label_kind(); }

 private:
  static constexpr double most_units = 4096;
  ModelTuningOptions tuning_;
  std::vector<std::string> rate_ = {"0.001", "0.3"}, width_ = {"1", "32"}, decay_ = {"0.00001", "0.1"};
  std::int64_t epochs_ = 200, seed_ = 1;
};

const ObjectiveRegistration tune_mlp{
    {"tune_mlp", "validation loss of a small network by its learning rate, width and weight decay",
     []() -> std::unique_ptr<ObjectiveEntry::Builder> { return std::make_unique<PerceptronBuilder>(); }}};

}  // namespace
}  // namespace dpmpi
