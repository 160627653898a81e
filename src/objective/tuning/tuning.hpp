#pragma once
// The validation loss of one record as a function of hyper-parameters: L(theta, record) = phi(score, label), the
// score being that of a model which is trained with theta on a public set. A record has a part in its own losses
// and in nothing else.

#include <memory>
#include <string>
#include <vector>

#include "objective/tuning/tuned_losses.hpp"
#include "objective/tuning/tuned_objective.hpp"

namespace dpmpi {

/// Options that all of them have.
struct ModelTuningOptions {
  std::string train, loss, start = "centre";
  double delta = 1;

  /// `losses`: names that `loss` may have, the first is the default.
  void declare(Options& options, const std::vector<std::string>& losses);
  std::unique_ptr<ScalarLoss> make_loss() const;
};

class Tuning final : public TunedObjective, public PublicTraining {
 public:
  Tuning(const ObjectiveFacts& facts, const ModelTuningOptions& options, std::unique_ptr<ModelFamily> family);

  LabelKind label_kind() const override { return loss_->label_kind(); }
  std::size_t outputs() const override { return 1; }
  double flops_per_record() const override;

  PublicFile public_file() const override { return {"objective.train", options_.train, features_}; }
  void take(PublicSet set, std::unique_ptr<Turns> turns) override;
  std::vector<std::string> assumptions() const override;

  std::size_t trained() const { return losses_ ? losses_->trained() : 0; }  ///< models, by this object, so far

 protected:
  Capabilities capabilities() override {
    return {.values = losses_.get(), .points = losses_.get(), .training = this};
  }
  const HyperParameters& hyper_parameters() const override { return family_->hyper_parameters(); }

 private:
  void prepare(std::span<const float> w) override { offered(losses_.get()).prepare(w); }

  std::size_t features_;
  ModelTuningOptions options_;
  std::unique_ptr<ModelFamily> family_;
  std::unique_ptr<ScalarLoss> loss_;
  std::unique_ptr<TunedLosses> losses_;  // null until there are records to train on
};

}  // namespace dpmpi
