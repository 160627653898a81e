#pragma once
// The objective `tune_private`: L(theta, record) is the loss that the record has under a model which another
// config, the trainer, trains with settings theta on a private set of its own. The trainer's noise protects that
// set; the record has a part in its own losses and in nothing else. docs/theory/private_training.md.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "data/load/data_files.hpp"
#include "data/records/blocks.hpp"
#include "objective/tuning/tuned_objective.hpp"
#include "run/config/training_builder.hpp"
#include "run/plan/trains_models.hpp"
#include "run/search/searched_config.hpp"

namespace dpmpi {

/// Its options.
class TunePrivate final : public TrainingBuilder {
 public:
  void declare(Options& options) override;
  void read_trainer(const std::string& folder, ConfigOf whose) override;
  const RunConfig& trainer() const override { return search_->base(); }
  void check(const RunConfig& config, std::vector<std::string>& problems) const override;

  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override;
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts, const DatasetFacts& trainer_data) const override;
  LabelKind label_kind() const override { return search_->base().objective->label_kind(); }
  std::size_t classes() const override { return search_->base().objective->classes(); }

 private:
  std::string trainer_, start_ = "centre";
  std::vector<std::string> searched_;
  std::shared_ptr<const SearchedConfig> search_;
};

/// Its losses are a capability from begin() on. Has no values at one point, for a model at any point but those that
/// a search pays for is another training.
class PrivateTuning final : public TunedObjective, public LossesAtPoints, public TrainsModels {
 public:
  /// Looks at the trainer's data, which every rank must be able to read. Local. Errors as for inspect(), and
  /// DataError where it has not `facts.features` features.
  PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts, std::string start);
  /// Looks at nothing: these are the facts about the trainer's data.
  PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts, std::string start,
                const DatasetFacts& trainer_data);

  const SearchedConfig& search() const { return *search_; }
  const RunConfig& centre_config() const override { return search_->centre(); }
  const PublicFacts& centre() const override { return centre_; }
  TrainingPromise promise(const RunConfig& config, const Plan& plan) const override;
  std::shared_ptr<const TrainingPlan> plan(const RunConfig& config, const Plan& plan,
                                           const TrainingPromise& promise) const override;
  std::vector<std::string> settings(std::span<const float> iterate) const override;
  std::string advice(std::span<const float> iterate) const override;

  LabelKind label_kind() const override { return scorer_->label_kind(); }
  std::size_t classes() const override { return scorer_->classes(); }
  std::size_t outputs() const override { return scorer_->outputs(); }
  std::size_t micro_batch_rows() const override { return scorer_->micro_batch_rows(); }
  double flops_per_record() const override { return scorer_->flops_per_record(); }

  void read_records(const Communicator& comm, const DataFiles& files) override;
  std::string begin(std::shared_ptr<const TrainingPlan> plan, const std::optional<SecretKey>& run_key) override;
  void pay_in(TrainingLedger& ledger) override { ledger_ = &ledger; }

 protected:
  Capabilities capabilities() override { return {.points = key_ ? this : nullptr}; }
  const HyperParameters& hyper_parameters() const override { return search_->hyper_parameters(); }

 private:
  PrivateTuning(std::shared_ptr<const SearchedConfig> search, const ObjectiveFacts& facts, std::string start,
                Dataset of_trainer);
  /// Pays for the trainings at these points, then trains. A point at which the trainer's settings do not fit
  /// together, or would cost something else than planned, has the model of the trainer's start. Throws PrivacyError
  /// if more were asked for than planned.
  void prepare_points(std::span<const double> points) override;
  void losses_at(std::size_t p, const Rows& rows, std::span<double> out) override;

  struct Order {
    std::vector<std::string> settings;
    std::uint64_t number = 0;
  };
  std::vector<Order> pay(std::span<const double> points);
  void train(const Order& order, std::span<float> model) const;

  std::shared_ptr<const SearchedConfig> search_;
  std::unique_ptr<Objective> objective_;  // of the middle of the box
  std::unique_ptr<Objective> scorer_;     // the trainer's own, for records of data.train
  PublicFacts centre_;
  const Communicator* comm_ = nullptr;
  Dataset of_trainer_;  // found, unless nothing is looked at
  Shard shard_;
  std::shared_ptr<const TrainingPlan> plan_;
  std::optional<SecretKey> key_;
  TrainingLedger* ledger_ = nullptr;
  AlignedVector<float> models_, model_;
  std::optional<std::size_t> scored_;  // the point whose model the scorer has
  AtPoint at_model_;                   // the scorer at it
};

}  // namespace dpmpi
