#pragma once
// The validation loss of one record as a function of hyper-parameters: L(theta, record) = phi(score, label), the
// score being that of a model which is trained with theta on a public set. A record has a part in its own losses
// and in nothing else.

#include <memory>
#include <string>
#include <vector>

#include "objective/tuning/tuned_model.hpp"
#include "objective/tuning/tuned_objective.hpp"

namespace dpmpi {

/// Options that all of them have.
struct TuningOptions {
  std::string train, loss, start = "centre";
  double delta = 1;

  /// `losses`: names that `loss` may have, the first is the default.
  void declare(Options& options, const std::vector<std::string>& losses);
  std::unique_ptr<ScalarLoss> make_loss() const;
};

class Tuning final : public TunedObjective, public PointValues, public LossesAtPoints, public PublicTraining {
 public:
  Tuning(const ObjectiveFacts& facts, const TuningOptions& options, std::unique_ptr<TunedModel> model);

  LabelKind label_kind() const override { return loss_->label_kind(); }
  std::size_t outputs() const override { return 1; }
  double flops_per_record() const override;

  PublicFile public_file() const override { return {"objective.train", options_.train, features_}; }
  void take(PublicSet set, std::unique_ptr<Turns> turns) override;
  std::vector<std::string> assumptions() const override;

  std::size_t trained() const { return trained_; }  ///< models, by this object, so far

 protected:
  Capabilities capabilities() override { return {.values = this, .points = this, .training = this}; }
  const HyperParameters& hyper_parameters() const override { return model_->hyper_parameters(); }

 private:
  /// Trains the model of w. Local, and as expensive as training is.
  void prepare(std::span<const float> w) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void prepare_points(std::span<const double> points) override;
  void losses_at(std::size_t p, const Rows& rows, std::span<double> out) override;

  void train(std::span<const double> point, std::span<double> model);
  template <class Use>
  void for_each_tile(std::span<const double> model, const Rows& rows, const Use& use);

  std::size_t features_, stride_;
  TuningOptions options_;
  std::unique_ptr<TunedModel> model_;
  std::unique_ptr<ScalarLoss> loss_;
  std::unique_ptr<PublicSet> set_;
  std::unique_ptr<Turns> turns_;
  AlignedVector<double> rows_;  // tile_rows x stride_
  AlignedVector<double> values_, point_, prepared_, models_;
  std::size_t trained_ = 0;
};

}  // namespace dpmpi
