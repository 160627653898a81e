#include "run/train/train.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "comm/broadcast_source.hpp"
#include "comm/shared_heartbeats.hpp"
#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/text.hpp"
#include "privacy/accountants/accountant.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/certify/named_code.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/directory/key_file.hpp"
#include "run/directory/safetensors.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/settings_table.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/plan/trains_models.hpp"
#include "run/report/report.hpp"
#include "run/train/input_checks.hpp"
#include "run/train/resume_checks.hpp"
#include "run/train/stop_requests.hpp"
#include "run/train/watchdog.hpp"

namespace dpmpi {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t compare_every = 50;  // steps
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// With a plugin of the trainer's config.
ProgramIdentity identity_of(const RunConfig& config) {
  ProgramIdentity program = program_identity(config.value("objective.library"),
                                             files_of_models(config.data, config.value("objective.train")));
  const std::string library = config.trainer() ? config.trainer()->value("objective.library") : "";
  if (library.empty()) return program;
  const ProgramIdentity trainer = program_identity(library);
  return {sha256(program.digest + trainer.digest), program.text + "; trains by " + trainer.text};
}

std::string times_text(double seconds, const Curator::Timing& t) {
  return fmt::format(
      R"("seconds":{:.4f},"sampling":{:.4f},"kernels":{:.4f},"noise":{:.4f},"reduce":{:.4f},"broadcast":{:.4f},)"
      R"("ledger":{:.4f})",
      seconds, t.sampling, t.kernels, t.noise, t.reduce, t.broadcast, t.ledger);
}

/// Everything that lives as long as the run. Members are in the order in which they come to be.
class Run {
 public:
  Run(const Communicator& comm, const RunConfig& config, const TrainOptions& options);
  ExitCode steps();
  void finish();

 private:
  void refuse_early();
  void refuse_code_of_others();
  void open_records(Clock::time_point start);
  void open_door();
  void start_directory();
  void open_training_ledger();
  void go_on_from_checkpoint();
  void open_logs(Clock::time_point start);
  void save_checkpoint();
  void compare_replicas();
  bool evaluation_due(std::uint64_t step, std::uint64_t every) const;
  void evaluate_and_log();
  double spent_so_far();
  void record_times();
  void write_report();
  std::optional<TrainingProvenance> training_provenance() const;
  std::string note();
  void debug_time(std::string_view what, Clock::time_point start) const;

  const Communicator& comm_;
  const RunConfig& config_;
  const TrainOptions& options_;
  bool root_;
  PublicFacts facts_;
  std::unique_ptr<Objective> objective_;
  TrainsModels* tuning_ = nullptr;  // the objective, if it trains models on private records
  Plan plan_;
  Shard training_, evaluation_;
  ProgramIdentity program_ = identity_of(config_);
  RunDirectory place_;  // root
  std::string audit_;   // root: what the certificate says of it
  std::string directory_;
  std::optional<KeyRecord> key_;  // root
  std::unique_ptr<Curator> curator_;
  std::optional<Ledger> ledger_;               // root
  std::optional<Ledger> resumed_trainings_;    // root: of a run that goes on, until its plan is known
  std::optional<TrainingLedger> trainings_;    // root, if tuning_
  std::string training_commitment_;            // if tuning_
  std::optional<SavedCheckpoint> checkpoint_;  // root: what a resumed run goes on from
  std::unique_ptr<Accountant> spent_;          // root: up to step accounted_
  double spent_epsilon_ = 0;                   // root: at the last evaluation
  std::uint64_t accounted_ = 0, next_ = 0;
  LineFile metrics_, timing_;  // root
  Evaluation last_;
  Clock::time_point started_ = Clock::now();
  SharedHeartbeats board_;
  Watchdog watchdog_;
};

Run::Run(const Communicator& comm, const RunConfig& config, const TrainOptions& options)
    : comm_(comm),
      config_(config),
      options_(options),
      root_(comm.is_root()),
      board_(comm),
      watchdog_(board_.ranks(), config.run.timeout_s) {
  const auto start = Clock::now();
  comm.agree(program_.digest, "the program");
  if (root_) refuse_early();
  // 1. What is public: size and shape of the data, the objective, and from them the promise.
  const FileStamps stamps(config.data);
  {
    const InPhase phase(Phase::load);
    facts_.data = inspect(comm, config.data, DataRole::training);
  }
  if (options.resume) permit_code(config);  // the root is beyond refuse_early: nobody gets facts before
  objective_ = make_objective(config, facts_.data);
  tuning_ = dynamic_cast<TrainsModels*>(objective_.get());
  facts_ = public_facts(config, facts_.data, *objective_);
  plan_ = plan_on_all_ranks(comm, config, facts_);
  comm.agree(sha256(plan_json(plan_, config, facts_)), "the plan");
  if (const std::string models = config.value("objective.train");
      root_ && !models.empty() && config.method->is_private())
    refuse_private_models(config.data, models);
  if (root_ && !config.audit.result.empty())
    audit_ = certified_audit(options.resume ? directory_ + "/audit.json" : config.audit.result, config.digest(),
                             plan_.epsilon(), plan_.delta());
  objective_->open(comm, config.data);
  config.method->check_assumptions(*objective_, facts_);

  // 2. The records, and the door in front of them.
  open_records(start);
  fault_point("load");
  stamps.check();
  const InPhase phase(Phase::directory);
  open_door();
  config.method->start(*objective_, plan_.queries, plan_.steps);
  if (options.resume) go_on_from_checkpoint();
  if (root_) open_logs(start);
  if (!options.resume || config.run.moved) save_checkpoint();
}

// What needs no data is refused before hours go into reading them. Root only.
void Run::refuse_early() {
  refuse_old_stop_file(config_.run);
  if (!options_.resume) return;
  place_ = open_run_directory(*options_.resume);
  directory_ = place_.path;
  key_ = read_key(directory_);
  checkpoint_.emplace(read_checkpoint(directory_, &key_->key));
  ledger_.emplace(Ledger::open(directory_ + "/ledger.jsonl"));
  check_continuation(directory_, checkpoint_->facts(), *key_, config_, program_, *ledger_);
  refuse_code_of_others();
  if (!config_.trainer()) return;
  const std::string file = directory_ + "/" + TrainingLedger::file;
  resumed_trainings_.emplace(Ledger::open(file));
  check_training_ledger(file, checkpoint_->facts(), *resumed_trainings_);
}

// A directory that this user's own key vouches for, where it was made: config and program, the library's bytes
// among them, are what the run began with. Of a copy nobody knows who made its key; that this is none, the number
// of the ledger's file says, so that file has to stand here itself. Root only.
void Run::refuse_code_of_others() {
  const bool vouched = !config_.run.moved && is_own_file(directory_ + "/checkpoint/key") &&
                       is_own_file(directory_ + "/ledger.jsonl");
  if (const std::string why = refusal_of_code(config_); !why.empty() && !vouched) throw ConfigError(why);
}

void Run::open_records(Clock::time_point start) {
  const BlockLayout layout = BlockLayout::of(facts_.data, resolve_blocks(config_, facts_));
  // A site's file is read by the ranks that own its blocks and by no others: there no block moves to another site's
  // rank.
  const TimeShares uneven = time_shares(step_cost(plan_, *objective_), Machine(), layout.blocks);
  const Ownership ownership = config_.data.shards.empty()
                                  ? Ownership::balanced(layout.blocks, comm_.size(), uneven.root, uneven.afterwards)
                                  : Ownership::even(layout.blocks, comm_.size());
  if (root_ && !options_.quiet) print_settings(config_, facts_, plan_, layout, comm_.size());
  const InPhase phase(Phase::load);
  {
    const ShowFields show(shows_values(config_.data, DataRole::training));
    training_ = load(comm_, config_.data, DataRole::training, layout, ownership, objective_->label_kind(),
                     objective_->classes());
    throw_on_all_ranks(comm_, [&] { objective_->check_records(training_); });
  }
  if (!config_.data.eval.empty()) {
    if (root_ && config_.method->is_private()) refuse_private_evaluation(config_.data);
    throw_on_all_ranks(comm_, [&] {
      if (root_) check_feature_names(config_.data, "data.eval", feature_names(config_.data, DataRole::evaluation));
    });
    const DatasetFacts facts = inspect(comm_, config_.data, DataRole::evaluation);
    if (facts.features != facts_.data.features)
      throw DataError(
          fmt::format("data.eval has {} features, data.train has {}", facts.features, facts_.data.features));
    const auto blocks = static_cast<std::uint32_t>(std::max(16, comm_.size()));
    evaluation_ = load(comm_, config_.data, DataRole::evaluation, BlockLayout::of(facts, blocks),
                       Ownership::even(blocks, comm_.size()), objective_->label_kind(), objective_->classes());
    const ShowFields show(shows_values(config_.data, DataRole::evaluation));
    throw_on_all_ranks(comm_, [&] { objective_->check_records(evaluation_); });
  }
  if (root_ && !options_.quiet) print_user("read the data in {}\n", duration_text(seconds_since(start)));
  debug("blocks {} to {} of {}, {} slots; read after {}", ownership.begin(comm_.rank()),
        ownership.end(comm_.rank()), layout.blocks, slots_of(training_), duration_text(seconds_since(start)));
}

// Not even here where times would tell what is secret.
void Run::debug_time(std::string_view what, Clock::time_point start) const {
  if (plan_.hides_times())
    debug("step {}: {}", next_, what);
  else
    debug("step {}: {} in {:.4f} s", next_, what, seconds_since(start));
}

void Run::open_door() {
  std::optional<SecretKey> key;
  if (root_)
    key = key_                       ? key_->key
          : config_.privacy.seeded() ? SecretKey::from_seed(static_cast<std::uint64_t>(config_.privacy.seed))
                                     : SecretKey::from_system();
  curator_ = std::make_unique<Curator>(comm_, training_, plan_.queries, objective_->micro_batch_rows(), key,
                                       config_.privacy.trust == "root");
  if (tuning_) training_commitment_ = tuning_->begin(plan_.training, key);
  if (!root_) return;
  if (!options_.resume) {
    key_ = KeyRecord{*key, config_.digest(), curator_->commitment()};
    start_directory();
  }
  curator_->record_in(*ledger_);
  if (tuning_) open_training_ledger();
  for (const Query& query : plan_.queries)
    debug("release {}: {} coordinates on a lattice of quantum {:.6g}", query.name, query.dim,
          query.lattice.quantum());
}

void Run::start_directory() {
  place_ = make_run_directory(config_.run.dir, std::filesystem::path(config_.path()).stem().string());
  directory_ = place_.path;
  const std::string plan = plan_json(plan_, config_, facts_);
  write_file(directory_ + "/config.ini", config_.resolved());
  if (tuning_) write_file(directory_ + "/" + RunConfig::trainer_file, config_.trainer()->resolved());
  write_file(directory_ + "/plan.json", plan);
  if (!audit_.empty())
    write_file(directory_ + "/audit.json", read_file(config_.audit.result, file_limit::document));
  ledger_.emplace(Ledger::create(directory_ + "/ledger.jsonl",
                                 {plan_.adjacency, facts_.data.records, config_.privacy.seeded()},
                                 fmt::format(R"("config":"{}","plan":"{}","data":"{}")", config_.digest(),
                                             sha256(plan), curator_->commitment())));
  write_key(directory_, *key_);
}

// Root only.
void Run::open_training_ledger() {
  const Plan& plan = plan_.training->plan;
  if (!resumed_trainings_)
    resumed_trainings_.emplace(
        Ledger::create(directory_ + "/" + TrainingLedger::file,
                       {plan.adjacency, tuning_->centre().data.records, config_.privacy.seeded()},
                       fmt::format(R"("config":"{}","plan":"{}","data":"{}","trainings":{})", config_.digest(),
                                   sha256(plan_json(plan_, config_, facts_)), training_commitment_, plan.runs)));
  check_same_training_data(directory_, *resumed_trainings_, training_commitment_);
  trainings_.emplace(std::move(*resumed_trainings_), plan, checkpoint_ ? checkpoint_->facts().trainings : 0);
  tuning_->pay_in(*trainings_);
}

void Run::go_on_from_checkpoint() {
  if (root_) {
    check_same_data(directory_, checkpoint_->facts(), *key_, curator_->commitment());
    ledger_->cut();
    next_ = checkpoint_->facts().step;
    Archive running_sums(*checkpoint_);
    curator_->archive(running_sums);
  }
  comm_.broadcast(next_);
  BroadcastSource state(comm_, root_ ? &*checkpoint_ : nullptr);
  Archive archive(state);
  config_.method->archive(archive);
  archive.finish();
  if (root_) checkpoint_->finish();
  curator_->resume_at(next_);
}

// Metrics and times are cut back to the checkpoint: the steps since then are done, and written, again. Root only.
void Run::open_logs(Clock::time_point start) {
  spent_ = make_accountant(config_.privacy.accountant, plan_.adjacency);
  metrics_ = LineFile(directory_ + "/metrics.jsonl", checkpoint_ ? checkpoint_->facts().metrics_bytes : 0);
  // Times follow the secret batch sizes.
  timing_ = LineFile(directory_ + "/timing.jsonl", checkpoint_ ? checkpoint_->facts().timing_bytes : 0, 0600);
  timing_.append(fmt::format(R"({{"phase":"load","step":{},"seconds":{:.3f},"ranks":{}}})", next_,
                             seconds_since(start), comm_.size()));
  if (checkpoint_ && !options_.quiet) print_user("going on after step {} of {}\n", next_, plan_.steps);
  checkpoint_.reset();
}

// Ranks that drift apart run another mechanism than the one that is accounted for.
void Run::compare_replicas() {
  const auto state = config_.method->replicated();
  comm_.agree(sha256({reinterpret_cast<const char*>(state.data()), state.size()}), "the iterate");
}

void Run::save_checkpoint() {
  const InPhase phase(Phase::checkpoint);
  const auto start = Clock::now();
  fault_point("save");
  compare_replicas();
  if (!root_) return;
  metrics_.sync();
  timing_.sync();
  Checkpoint facts{next_,
                   config_.essentials(),
                   curator_->commitment(),
                   program_.digest,
                   program_.text,
                   ledger_->lines().size(),
                   ledger_->head(),
                   ledger_->inode(),
                   metrics_.size(),
                   timing_.size(),
                   0,
                   0,
                   {}};
  if (trainings_) {
    facts.trainings = trainings_->begun();
    facts.training_lines = trainings_->ledger().lines().size();
    facts.training_line_hash = trainings_->ledger().head();
  }
  write_checkpoint(directory_, key_->key, facts, [&](Archive& state) {
    curator_->archive(state);
    config_.method->archive(state);
  });
  debug_time("checkpoint", start);
}

// Epsilon of the steps done, by the accountant of the promise. Root only.
double Run::spent_so_far() {
  spent_->compose(plan_.events(accounted_, next_));
  accounted_ = next_;
  return spent_epsilon_ = spent_->epsilon(plan_.delta());
}

std::string Run::note() {
  std::string text;
  if (!config_.method->is_private())
    text = "NOT PRIVATE";
  else if (accounted_ > 0)
    text = fmt::format("epsilon {:.4g}", spent_epsilon_);
  if (last_.records > 0) {
    text += fmt::format("  eval.{} {:.4f}", objective_->loss_name(), last_.loss);
    if (last_.accuracy) text += fmt::format("  eval.accuracy {:.4f}", *last_.accuracy);
    if (last_.auc) text += fmt::format("  eval.auc {:.4f}", *last_.auc);
    for (const Measure& measure : last_.measures)
      text += fmt::format("  eval.{} {:.4f}", measure.name, measure.value);
  }
  return text;
}

void Run::evaluate_and_log() {
  const InPhase phase(Phase::evaluate);
  const auto start = Clock::now();
  if (!config_.data.eval.empty())
    last_ = evaluate(comm_, *objective_, config_.method->iterate(), evaluation_, next_ == plan_.steps);
  debug_time("evaluation", start);
  if (!root_) return;
  nlohmann::ordered_json line;
  line["step"] = next_;
  if (config_.method->is_private()) {
    line["epsilon"] = spent_so_far();
  } else {
    line["epsilon"] = "infinity";
  }
  if (last_.records > 0) {
    line[fmt::format("eval.{}", objective_->loss_name())] = last_.loss;
    if (last_.accuracy) line["eval.accuracy"] = *last_.accuracy;
    if (last_.auc) line["eval.auc"] = *last_.auc;
    for (const Measure& measure : last_.measures) line["eval." + measure.name] = measure.value;
  }
  for (const Measure& measure : config_.method->measures()) line["method." + measure.name] = measure.value;
  if (tuning_) line["tuned"] = tuning_->settings(config_.method->iterate());
  metrics_.append(line.dump());
  if (!last_.roc.empty()) write_file(directory_ + "/roc.json", nlohmann::json(last_.roc).dump() + "\n");
  if (objective_->makes_pictures())
    if (const auto picture = objective_->picture(config_.method->iterate()))
      write_file(directory_ + "/samples.png", png(*picture));
  if (plan_.hides_times()) return;
  timing_.append(
      fmt::format(R"({{"step":{},{}}})", next_, times_text(seconds_since(started_), curator_->timing())));
}

// Where each rank's time went: with the root's alone nobody sees which rank the others wait for.
void Run::record_times() {
  if (plan_.hides_times()) return;
  const std::string mine = times_text(seconds_since(started_), curator_->timing());
  debug("times in seconds: {}", mine);
  const std::vector<std::string> all = comm_.gather(mine);
  if (!root_) return;
  for (std::size_t r = 0; r < all.size(); ++r) timing_.append(fmt::format(R"({{"rank":{},{}}})", r, all[r]));
}

// Only released iterates are looked at: each of them where they are rare, else one in `every`.
bool Run::evaluation_due(std::uint64_t step, std::uint64_t every) const {
  const Method& method = *config_.method;
  if (step == plan_.steps) return true;
  return method.releases(step) && (step % every == 0 || !method.releases(step - 1));
}

ExitCode Run::steps() {
  const std::uint64_t total = plan_.steps;
  const std::uint64_t eval_every = config_.report.eval_every > 0
                                       ? static_cast<std::uint64_t>(config_.report.eval_every)
                                       : std::max<std::uint64_t>(1, total / 20);
  const auto checkpoint_every = static_cast<std::uint64_t>(config_.run.checkpoint_every);
  Progress progress("training", total, "steps", next_, !plan_.hides_times());
  started_ = Clock::now();
  StopRequests requests(config_.run, root_);
  const InPhase phase(Phase::update);
  while (next_ < total) {
    heartbeat().step = next_;
    heartbeat().beat();
    fault_point("step");
    if (requests.seen()) curator_->request_stop();
    config_.method->step(*curator_, next_);
    ++next_;

    const bool stop = curator_->stop_agreed() && next_ < total;
    if (next_ % compare_every == 0) compare_replicas();
    if (evaluation_due(next_, eval_every)) evaluate_and_log();
    if ((checkpoint_every > 0 && next_ % checkpoint_every == 0 && next_ < total) || stop) save_checkpoint();
    if (progress.reached(next_)) progress.show(note());
    if (stop) {
      if (root_)
        print_user("stopped after step {} of {} with a checkpoint ({}); go on with: dpmpi resume {}\n", next_,
                   total, requests.reason(), directory_);
      return ExitCode::stopped;
    }
  }
  return ExitCode::done;
}

// The run is finished by then: what goes wrong here must not look as if it were not.
void Run::write_report() {
  try {
    write_file(directory_ + "/report.html", report_html({directory_}, false));
  } catch (const std::exception& e) {
    warn("no report.html ({}); dpmpi report {} tries again", e.what(), directory_);
  }
}

std::optional<TrainingProvenance> Run::training_provenance() const {
  if (!trainings_) return {};
  return TrainingProvenance{trainings_->begun(), trainings_->ledger().head(), training_commitment_};
}

void Run::finish() {
  const InPhase phase(Phase::finish);
  fault_point("finish");
  compare_replicas();
  record_times();
  if (!root_) return;
  const auto iterate = config_.method->iterate();
  if (!same_events(ledger_->events(), plan_.events()))
    throw PrivacyError("the ledger does not cover the plan: no model is written");
  ledger_->check_in_place();
  if (trainings_) trainings_->ledger().check_in_place();
  metrics_.sync();
  timing_.sync();
  const std::string certificate = certificate_json(
      config_, facts_, plan_,
      {ledger_->events(), ledger_->head(), curator_->commitment(), program_.digest,
       generator_commitments(key_->key, training_.layout.blocks), safetensors_digest(objective_->groups(), iterate),
       file_digest(directory_ + "/metrics.jsonl"), audit_, training_provenance()});
  write_safetensors(directory_ + "/model.safetensors", objective_->groups(), iterate,
                    {{"method", config_.method_name},
                     {"objective", config_.objective_name},
                     {"config", config_.digest()},
                     {"certificate", sha256(certificate)}});
  // The certificate last: where it stands the run is finished, and a kill from here on leaves only tidying up.
  write_file(directory_ + "/certificate.json", certificate);
  if (!config_.run.keep_key) wipe_key(directory_);
  remove_checkpoints(directory_);
  if (!options_.quiet) write_report();
  if (plan_.hides_times()) level_times(directory_);
  if (options_.quiet) return;
  const std::string time = plan_.hides_times() ? "" : " in " + duration_text(seconds_since(started_));
  print_user("done{}: {}\n", time, note());
  if (tuning_) print_user("{}\n", tuning_->advice(iterate));
  fmt::print("{}\n", directory_);
}

}  // namespace

ExitCode train(const Communicator& comm, const RunConfig& config, const TrainOptions& options) {
  Run run(comm, config, options);
  const ExitCode end = run.steps();
  if (end == ExitCode::done) run.finish();
  return end;
}

}  // namespace dpmpi
