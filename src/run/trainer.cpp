#include "dpmpi/run/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/data/load.hpp"
#include "dpmpi/data/text.hpp"
#include "dpmpi/privacy/accountant.hpp"
#include "dpmpi/run/certificate.hpp"
#include "dpmpi/run/checkpoint.hpp"
#include "dpmpi/run/cost.hpp"
#include "dpmpi/run/evaluate.hpp"
#include "dpmpi/run/files.hpp"
#include "dpmpi/run/guards.hpp"
#include "dpmpi/run/plan.hpp"
#include "dpmpi/run/progress.hpp"
#include "dpmpi/run/settings_table.hpp"
#include "dpmpi/run/signals.hpp"

namespace dpmpi {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Everything that lives as long as the run. Members are in the order in which they come to be.
class Run {
 public:
  Run(const Communicator& comm, const RunConfig& config, const TrainOptions& options);
  ExitCode steps();
  void finish();

 private:
  void open_directory();
  void open_records(Clock::time_point start);
  void go_on_from_checkpoint();
  void save_checkpoint();
  void evaluate_and_log();
  double spent_so_far();
  std::string note();

  const Communicator& comm_;
  const RunConfig& config_;
  const TrainOptions& options_;
  bool root_;
  PublicFacts facts_;
  std::unique_ptr<Objective> objective_;
  Plan plan_;
  Shard training_, evaluation_;
  std::string directory_;  // root
  std::string program_;
  std::optional<SecretKey> key_;  // root
  std::unique_ptr<Curator> curator_;
  std::optional<Ledger> ledger_;       // root
  std::unique_ptr<Accountant> spent_;  // root: up to step accounted_
  double spent_epsilon_ = 0;           // root: at the last evaluation
  std::uint64_t accounted_ = 0, next_ = 0;
  LineFile metrics_, timing_;  // root
  Evaluation last_;
  Clock::time_point started_ = Clock::now();
};

// Accounting can be costly (convolutions), so the root does it for all; all meet its refusals alike.
Plan agreed_plan(const Communicator& comm, const RunConfig& config, const PublicFacts& facts) {
  std::string text;
  std::int32_t refusal = 0;
  Promise promise;
  if (comm.is_root()) try {
      promise = make_promise(config, facts);
      Archive archive;
      promise.archive(archive);
      text = archive.bytes();
    } catch (const Error& e) {
      refusal = static_cast<std::int32_t>(e.code());
      text = e.what();
    }
  comm.broadcast(refusal);
  comm.broadcast(text);
  if (refusal == static_cast<std::int32_t>(ExitCode::config)) throw ConfigError(text);
  if (refusal == static_cast<std::int32_t>(ExitCode::privacy)) throw PrivacyError(text);
  if (refusal != 0) throw BugError(text);
  if (!comm.is_root()) {
    Archive archive(text);
    promise.archive(archive);
    archive.finish();
  }
  return make_plan(config, facts, std::move(promise));
}

Run::Run(const Communicator& comm, const RunConfig& config, const TrainOptions& options)
    : comm_(comm), config_(config), options_(options), root_(comm.is_root()) {
  const auto start = Clock::now();
  program_ = program_digest();
  comm.agree(program_, "the program");
  // 1. What is public: size and shape of the data, the objective, and from them the promise.
  {
    const HideFields hide(!config.data.show_values);
    facts_.data = inspect(comm, config.data, DataRole::training);
  }
  objective_ = make_objective(config, facts_.data);
  facts_.objective = objective_.get();
  facts_.adjacency = config.privacy.which();
  plan_ = agreed_plan(comm, config, facts_);
  comm.agree(sha256(plan_json(plan_, config, facts_)), "the plan");

  // 2. The records, and the door in front of them.
  open_records(start);
  open_directory();
  config.method->start(*objective_, plan_.queries, plan_.steps);
  if (options.resume) go_on_from_checkpoint();
  if (root_) {
    spent_ = make_accountant(config.privacy.accountant, plan_.adjacency);
    metrics_ = LineFile(directory_ + "/metrics.jsonl", options.resume ? metrics_.size() : 0);
    timing_ = LineFile(directory_ + "/timing.jsonl", 0, 0600);  // times follow the secret batch sizes
    timing_.append(
        fmt::format(R"({{"phase":"load","seconds":{:.3f},"ranks":{}}})", seconds_since(start), comm.size()));
  }
  if (!options.resume) save_checkpoint();
}

void Run::open_records(Clock::time_point start) {
  const BlockLayout layout = BlockLayout::of(facts_.data, resolve_blocks(config_, facts_));
  // A site's file is read by the ranks that own its blocks and by no others: there no block moves to another site's
  // rank.
  const Ownership ownership =
      config_.data.shards.empty()
          ? Ownership::balanced(layout.blocks, comm_.size(),
                                root_burden(step_cost(plan_, *objective_), Machine(), layout.blocks))
          : Ownership::even(layout.blocks, comm_.size());
  if (root_ && !options_.quiet) print_settings(config_, facts_, plan_, layout, comm_.size());
  {
    const HideFields hide(!config_.data.show_values);
    training_ = load(comm_, config_.data, DataRole::training, layout, ownership, objective_->label_kind(),
                     objective_->classes());
  }
  if (!config_.data.eval.empty()) {
    if (root_ && config_.method->is_private()) refuse_private_evaluation(config_.data);
    const DatasetFacts facts = inspect(comm_, config_.data, DataRole::evaluation);
    if (facts.features != facts_.data.features)
      throw DataError(
          fmt::format("data.eval has {} features, data.train has {}", facts.features, facts_.data.features));
    const auto blocks = static_cast<std::uint32_t>(std::max(16, comm_.size()));
    evaluation_ = load(comm_, config_.data, DataRole::evaluation, BlockLayout::of(facts, blocks),
                       Ownership::even(blocks, comm_.size()), objective_->label_kind(), objective_->classes());
  }
  if (root_ && !options_.quiet) fmt::print(stderr, "read the data in {}\n", duration_text(seconds_since(start)));
}

void Run::open_directory() {
  if (root_) {
    directory_ = options_.resume
                     ? *options_.resume
                     : make_run_directory(config_.run.dir, std::filesystem::path(config_.path()).stem().string());
    key_ = options_.resume            ? read_key(directory_)
           : config_.privacy.seeded() ? SecretKey::from_seed(static_cast<std::uint64_t>(config_.privacy.seed))
                                      : SecretKey::from_system();
  }
  curator_ = std::make_unique<Curator>(comm_, training_, plan_.queries, objective_->micro_batch_rows(), key_,
                                       config_.privacy.trust == "root");
  if (!root_) return;
  if (options_.resume) {
    ledger_.emplace(Ledger::open(directory_ + "/ledger.jsonl"));
  } else {
    const std::string plan = plan_json(plan_, config_, facts_);
    // The ledger first: it is created exclusively, so that of two runs that start on one folder one fails here.
    ledger_.emplace(Ledger::create(directory_ + "/ledger.jsonl",
                                   {plan_.adjacency, facts_.data.records, config_.privacy.seeded()},
                                   fmt::format(R"("config":"{}","plan":"{}","data":"{}")", config_.digest(),
                                               sha256(plan), curator_->commitment())));
    write_file(directory_ + "/config.ini", config_.resolved());
    write_file(directory_ + "/plan.json", plan);
    write_key(directory_, *key_);
  }
  curator_->record_in(*ledger_);
}

void Run::go_on_from_checkpoint() {
  std::string state;
  std::uint64_t reserved = 0;
  if (root_) {
    const Checkpoint c = read_checkpoint(directory_);
    if (c.config_digest != config_.digest())
      throw ConfigError(
          fmt::format("{} belongs to another config: the config.ini there was changed since the run began, or a "
                      "--set changes what the "
                      "numbers depend on",
                      directory_));
    if (c.commitment != curator_->commitment())
      throw DataError(fmt::format("the training data are not those that the run in {} began with", directory_));
    if (c.program != program_)
      throw PrivacyError(fmt::format(
          "the run in {} was begun by another build of dpmpi or on another kind of processor: replayed "
          "steps could round differently under the same noise, which would give data away. Go on with the "
          "program that began it, or start a new run",
          directory_));
    const auto& lines = ledger_->lines();
    if (lines.size() < c.ledger_lines || sha256(lines[c.ledger_lines - 1]) != c.ledger_line_hash)
      throw PrivacyError(fmt::format(
          "{}/ledger.jsonl is not the ledger of the checkpoint (it was cut or edited): going on could spend "
          "budget twice",
          directory_));
    // The ledger is reserved in whole windows; find the one that it has reached.
    for (reserved = c.step; !same_events(ledger_->events(), plan_.events(0, reserved));) {
      if (reserved >= plan_.steps)
        throw PrivacyError(fmt::format("{}/ledger.jsonl does not follow the plan", directory_));
      reserved = std::min(plan_.steps, (reserved / Curator::reserved_steps + 1) * Curator::reserved_steps);
    }
    next_ = c.step;
    state = c.method_state;
    metrics_ = LineFile(directory_ + "/metrics.jsonl", c.metrics_bytes);
  }
  comm_.broadcast(next_);
  comm_.broadcast(reserved);
  comm_.broadcast(state);
  Archive archive(state);
  config_.method->archive(archive);
  archive.finish();
  curator_->resume_at(next_, reserved);
}

void Run::save_checkpoint() {
  const auto iterate = config_.method->iterate();
  comm_.agree(sha256({reinterpret_cast<const char*>(iterate.data()), iterate.size_bytes()}), "the iterate");
  if (!root_) return;
  Archive archive;
  config_.method->archive(archive);
  metrics_.sync();
  write_checkpoint(directory_, {next_, config_.digest(), curator_->commitment(), program_, ledger_->lines().size(),
                                ledger_->head(), metrics_.size(), archive.bytes()});
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
    text += fmt::format("  eval.loss {:.4f}", last_.loss);
    if (last_.accuracy) text += fmt::format("  eval.accuracy {:.4f}", *last_.accuracy);
    if (last_.auc) text += fmt::format("  eval.auc {:.4f}", *last_.auc);
  }
  return text;
}

void Run::evaluate_and_log() {
  if (!config_.data.eval.empty()) last_ = evaluate(comm_, *objective_, config_.method->iterate(), evaluation_);
  if (!root_) return;
  nlohmann::ordered_json line;
  line["step"] = next_;
  if (config_.method->is_private()) {
    line["epsilon"] = spent_so_far();
  } else {
    line["epsilon"] = "infinity";
  }
  if (last_.records > 0) {
    line["eval.loss"] = last_.loss;
    if (last_.accuracy) line["eval.accuracy"] = *last_.accuracy;
    if (last_.auc) line["eval.auc"] = *last_.auc;
  }
  metrics_.append(line.dump());
  const auto& t = curator_->timing();
  timing_.append(fmt::format(
      R"({{"step":{},"seconds":{:.4f},"sampling":{:.4f},"kernels":{:.4f},"noise":{:.4f},"reduce":{:.4f},)"
      R"("broadcast":{:.4f},"ledger":{:.4f}}})",
      next_, seconds_since(started_), t.sampling, t.kernels, t.noise, t.reduce, t.broadcast, t.ledger));
}

ExitCode Run::steps() {
  const std::uint64_t total = plan_.steps;
  const std::uint64_t eval_every = config_.report.eval_every > 0
                                       ? static_cast<std::uint64_t>(config_.report.eval_every)
                                       : std::max<std::uint64_t>(1, total / 20);
  const auto checkpoint_every = static_cast<std::uint64_t>(config_.run.checkpoint_every);
  Progress progress(root_ ? config_.report.progress : "none", next_, total);
  started_ = Clock::now();
  while (next_ < total) {
    const bool late = config_.run.max_hours > 0 && seconds_since(started_) > 3600 * config_.run.max_hours;
    if (stop_signalled() || (root_ && late)) curator_->request_stop();

    config_.method->step(*curator_, next_);
    ++next_;

    const bool stop = curator_->stop_agreed() && next_ < total;
    if (next_ % eval_every == 0 || next_ == total) evaluate_and_log();
    if ((checkpoint_every > 0 && next_ % checkpoint_every == 0 && next_ < total) || stop) save_checkpoint();
    if (progress.due(next_)) progress.update(next_, note());
    if (stop) {
      progress.close();
      if (root_)
        fmt::print(stderr, "stopped after step {} of {} with a checkpoint; go on with: dpmpi resume {}\n", next_,
                   total, directory_);
      return ExitCode::stopped;
    }
  }
  progress.close();
  return ExitCode::done;
}

void Run::finish() {
  const auto iterate = config_.method->iterate();
  comm_.agree(sha256({reinterpret_cast<const char*>(iterate.data()), iterate.size_bytes()}), "the iterate");
  if (!root_) return;
  if (!same_events(ledger_->events(), plan_.events()))
    throw PrivacyError("the ledger does not cover the plan: no model is written");
  const std::string certificate =
      certificate_json(config_, facts_, plan_, *ledger_,
                       {curator_->commitment(), program_, generator_commitments(*key_, training_.layout.blocks)});
  write_file(directory_ + "/certificate.json", certificate);
  write_file(directory_ + "/model.safetensors", safetensors(objective_->groups(), iterate,
                                                            {{"method", config_.method_name},
                                                             {"objective", config_.objective_name},
                                                             {"config", config_.digest()},
                                                             {"certificate", sha256(certificate)}}));
  if (!config_.run.keep_key) wipe_key(directory_);
  std::filesystem::remove(directory_ + "/checkpoint/latest");
  std::filesystem::remove(directory_ + "/checkpoint/previous");
  if (options_.quiet) return;
  fmt::print(stderr, "done in {}: {}\n", duration_text(seconds_since(started_)), note());
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
