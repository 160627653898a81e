#pragma once
// Objectives that train models on private records of their own, while others' records are used to choose among the
// models: what plans, files and runs ask of them, and the promise to those on whose records they train.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/numbers/random.hpp"
#include "data/load/data_files.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/training_ledger.hpp"

namespace dpmpi {

/// What accounting says of all trainings together.
struct TrainingPromise {
  Promise trainings;  ///< all of them: to who is in the trainer's data
  Promise both;       ///< and all other releases of the run: to who is in both sets
  void archive(Archive& archive);
};

struct TrainingPlan {
  Plan plan;     ///< of the dearest training of the box; plan.runs: of trainings at most
  Promise both;  ///< at the smaller of the two deltas
};

class TrainsModels {
 public:
  virtual ~TrainsModels() = default;

  /// The trainer's, with settings in the middle of the box, but where trainings cost different amounts: there with
  /// those of the dearest.
  virtual const RunConfig& dearest_config() const = 0;
  virtual const PublicFacts& dearest() const = 0;  ///< public facts of a training with these

  /// `plan`: the one of `config`, whose objective this is, but for plan.training. Local, deterministic. Throws
  /// ConfigError if the method does not say how many models it asks for.
  virtual TrainingPromise promise(const RunConfig& config, const Plan& plan) const = 0;
  /// Throws ConfigError, naming the option, if the promise about the dearest training does not hold for all others.
  virtual std::shared_ptr<const TrainingPlan> plan(const RunConfig& config, const Plan& plan,
                                                   const TrainingPromise& promise) const = 0;

  /// Reads the trainer's data, on every rank all of them; trainings are then shared among the ranks of `comm`,
  /// which must outlive the objective. Collective, once, before what follows; errors as for load().
  virtual void read_records(const Communicator& comm, const DataFiles& files) = 0;
  /// Before points are prepared: the plan of the trainings and the run's key (read on the root), from which every
  /// training gets a key of its own. The keyed commitment to the trainer's data. Collective; throws CommError if
  /// ranks read different data.
  virtual std::string begin(std::shared_ptr<const TrainingPlan> plan, const std::optional<SecretKey>& run_key) = 0;
  /// Where trainings are paid for. Root only, before points are prepared; must outlive the objective's use.
  virtual void pay_in(TrainingLedger& ledger) = 0;

  /// What a user would --set for the model of an iterate.
  virtual std::vector<std::string> settings(std::span<const float> iterate) const = 0;
  /// What to do with them, in words.
  virtual std::string advice(std::span<const float> iterate) const = 0;
};

/// The objective if it trains models; else null.
TrainsModels* trains_models(Objective* objective);
const TrainsModels* trains_models(const Objective* objective);
/// That of these facts.
const TrainsModels* trains_models(const PublicFacts& facts);

}  // namespace dpmpi
