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
#include "run/search/training_plan.hpp"

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
  const RunConfig& dearest_config() const override { return *dearest_.config; }
  const PublicFacts& dearest() const override { return dearest_.facts; }
  TrainingPromise promise(const RunConfig& config, const Plan& plan) const override;
  std::shared_ptr<const TrainingPlan> plan(const RunConfig& config, const Plan& plan,
                                           const TrainingPromise& promise) const override;
  std::vector<std::string> settings(std::span<const float> iterate) const override;
  std::string advice(std::span<const float> iterate) const override;
  /// The training with these settings. Throws ConfigError if it is not one that `plan` covers.
  PlannedTraining plan_training(const std::vector<std::string>& settings, const TrainingPlan& plan) const;

  LabelKind label_kind() const override { return scorer().label_kind(); }
  std::size_t classes() const override { return scorer().classes(); }
  void check_records(const Shard& shard) const override;
  std::size_t outputs() const override { return scorer().outputs(); }
  std::size_t micro_batch_rows() const override;
  double flops_per_record() const override;

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

  /// The trainer's own objective for records of data.train, with models of one shape.
  struct Scorer {
    std::vector<std::string> shape;
    std::unique_ptr<RunConfig> config;  // of the objective; none: the trainer's as its file stands
    std::unique_ptr<Objective> objective;
  };
  struct Order {
    std::vector<std::string> settings;
    std::uint64_t number = 0;
  };
  /// Of the model of these settings; without any, of the one that stays as it starts.
  Objective& scorer(const std::vector<std::string>& settings = {}) const;
  std::vector<Order> pay(std::span<const double> points);
  void train(const Order& order, std::span<float> model) const;

  std::shared_ptr<const SearchedConfig> search_;
  TrainingAt dearest_;
  std::vector<Scorer> scorers_;
  const Communicator* comm_ = nullptr;
  Dataset of_trainer_;  // found, unless nothing is looked at
  Shard shard_;
  std::shared_ptr<const TrainingPlan> plan_;
  std::optional<SecretKey> key_;
  TrainingLedger* ledger_ = nullptr;
  std::vector<Order> orders_;   // of the points that were prepared
  std::size_t model_size_ = 0;  // of the largest of their models
  AlignedVector<float> models_, model_;
  std::optional<std::size_t> scored_;  // the point whose model its scorer has
  AtPoint at_model_;                   // the scorer at it
};

}  // namespace dpmpi
