#pragma once
// A training between its first and its last line: what prepare() makes, the loop of train() changes and finish()
// closes.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "comm/communicator.hpp"
#include "data/load/held_out.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/curator/curator.hpp"
#include "run/config/config.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/directory/key_file.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/trains_models.hpp"
#include "run/preparation/preparation.hpp"
#include "run/train/input_checks.hpp"
#include "run/train/site_job.hpp"
#include "run/train/train.hpp"
#include "run/warnings/constant_predictor.hpp"
#include "run/warnings/loss_history.hpp"
#include "run/warnings/warning.hpp"

namespace dpmpi {

/// Epsilon of the steps done so far, by the accountant of the promise.
class Spending {
 public:
  Spending(const Plan& plan, std::string_view accountant)
      : plan_(plan), accountant_(make_accountant(accountant, plan.adjacency)) {}
  /// Of the first `steps` steps, which may not become fewer.
  double up_to(std::uint64_t steps);
  std::optional<double> latest() const { return latest_; }

 private:
  const Plan& plan_;
  std::unique_ptr<Accountant> accountant_;
  std::uint64_t steps_ = 0;
  std::optional<double> latest_;
};

/// What exists on the root only: the run directory, the key, the ledgers and the logs.
struct RootFiles {
  RunDirectory place;
  std::optional<KeyRecord> key;
  std::optional<SecretKey> secret;  ///< of this run, before its key has been written down
  std::string audit;                ///< what the certificate says of it; empty: there is none
  std::optional<Ledger> ledger;
  std::optional<Ledger> resumed_trainings;      ///< of a run that goes on, until its plan is known
  std::optional<TrainingLedger> trainings;      ///< if the objective trains models
  std::optional<Ledger> evaluation;             ///< of the held-out records, if there are any
  std::optional<SavedCheckpoint> resumed_from;  ///< until the run has gone on from it
  std::optional<Spending> spending;
  LossHistory losses;
  LineFile metrics, timing;

  std::string file(std::string_view name) const { return place.path + "/" + std::string(name); }
};

/// Members are in the order in which they come to be. Curator and ledgers hold references to what stands before
/// them, so a training stays where it was made.
struct Training {
  using Clock = std::chrono::steady_clock;

  /// All three must outlive it.
  Training(const Communicator& ranks, const RunConfig& settings, const TrainOptions& how);
  Training(const Communicator&& ranks, const RunConfig& settings, const TrainOptions& how) = delete;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Ranks that drift apart run another mechanism than the one that is accounted for. Collective; throws CommError.
  void compare_replicas() const;
  /// Collective; compares replicas first. Throws DataError.
  void save_checkpoint();
  /// Scores the iterate on data.eval and writes a line of metrics, with what public records say of the training:
  /// that is said to people, too. Collective.
  void evaluate();
  /// After the step that was taken last. Only released iterates are looked at: each of them where they are rare,
  /// else one in report.eval_every.
  bool evaluation_due() const;
  /// Where each rank's time went: with the root's alone nobody sees which rank the others wait for. Collective.
  void record_times() const;
  /// What progress and the last line show: epsilon and metrics. Local.
  std::string note() const;
  bool prints() const { return root != nullptr && !options.quiet; }

  const Communicator& comm;
  const RunConfig& config;
  const TrainOptions& options;
  DataFiles files;
  const FileStamps stamps;  ///< of these, since before their digests were taken
  const ProgramIdentity program;
  std::unique_ptr<RootFiles> root;  ///< null on other ranks, and in the job of a site

  PublicFacts facts;                         ///< of the records to train on
  std::vector<std::uint64_t> column_places;  ///< of features of which preparation finds something out
  std::optional<HeldOut> parts;              ///< of data.train, if some of it is held out
  std::unique_ptr<Objective> objective;
  TrainsModels* trains_models = nullptr;  ///< the objective, if it trains models on private records
  Plan plan;                              ///< a draft until the records are read
  std::string plan_text;                  ///< plan.json
  DatasetFacts public_data;               ///< of data.eval; no records: there is none
  Ownership owners;                       ///< of the plan's blocks

  Shard records, public_records;  ///< of data.train and of data.eval
  Shard held_out;                 ///< of data.train, in the same blocks
  std::unique_ptr<Curator> curator;
  std::unique_ptr<Curator> evaluator;  ///< the door in front of the held-out records; null: there are none
  std::string public_models;  ///< SHA-256 of the files on which the objective trains models; empty: it trains none
  std::string commitment, training_commitment;  ///< to the records, and to those of trains_models
  std::string held_out_commitment;              ///< to those that are held out

  std::optional<Preparation> preparation;  ///< of the columns, if it is asked for
  std::unique_ptr<Algorithm> algorithm;
  std::uint64_t next = 0;      ///< steps done
  ConstantPredictor constant;  ///< of data.eval; on the root
  Evaluation latest;
  nlohmann::ordered_json tested;  ///< results_json of the held-out records, once they were counted; on the root
  Clock::time_point started = Clock::now();  ///< of the first step

 private:
  void debug_time(std::string_view what, Clock::time_point start) const;
  /// The last evaluation, and all that report.html shows of the model beyond metrics. Collective.
  void assess_model();
  Findings look();
  Findings look_at_public_records();
  /// The one release of the held-out records. Collective.
  void test_model();
  void write_metrics(const Findings& findings);
};

double seconds_since(Training::Clock::time_point start);

/// The promise, from what is public alone: how large the data are, the objective, and the settings. Collective.
void make_plan(Training& run);

/// Everything before the first step: what is public, from it the promise, then the records and the door in front of
/// them, then the run directory or the checkpoint. Collective; throws on errors.
std::unique_ptr<Training> prepare(const Communicator& comm, const RunConfig& config, const TrainOptions& options);
std::unique_ptr<Training> prepare(const Communicator&& comm, const RunConfig& config,
                                  const TrainOptions& options) = delete;

/// Everything after the last step: compares the ledger with the plan, writes model and certificate, wipes the key.
/// Collective; throws on errors.
void finish(Training& run);

}  // namespace dpmpi
