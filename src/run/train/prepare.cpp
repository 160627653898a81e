#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "comm/broadcast_source.hpp"
#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/console/print.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/columns/columns_file.hpp"
#include "privacy/curator/commitment.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/certify/named_code.hpp"
#include "run/plan/settings_table.hpp"
#include "run/train/prepare_columns.hpp"
#include "run/train/read_inputs.hpp"
#include "run/train/resume_checks.hpp"
#include "run/train/stop_requests.hpp"
#include "run/train/training.hpp"

namespace dpmpi {
namespace {

using Clock = Training::Clock;

// A directory that this user's own key vouches for, where it was made: config and program, the library's bytes
// among them, are what the run began with. Of a copy nobody knows who made its key; that this is none, the number
// of the ledger's file says, so that file has to stand here itself. Root only.
void refuse_code_of_others(const Training& run) {
  const bool vouched = !run.config.run.moved && is_own_file(run.root->file("checkpoint/key")) &&
                       is_own_file(run.root->file("ledger.jsonl"));
  if (const std::string why = refusal_of_code(run.config); !why.empty() && !vouched) throw ConfigError(why);
}

// The run to go on with: what needs no data is refused before hours go into reading them. Root only.
void open_run(Training& run) {
  refuse_old_stop_file(run.config.run);
  RootFiles& root = *run.root;
  root.place = open_run_directory(*run.options.resume);
  const std::string& directory = root.place.path;
  if (!run.options.job && std::filesystem::exists(directory + "/sites/key"))
    throw PrivacyError(fmt::format(
        "{} is a run of sites: a sum of other sites than its open round has would have the same noise. Go on with dpmpi "
        "round combine",
        directory));
  root.key = read_key(directory);
  root.resumed_from.emplace(read_checkpoint(directory, &root.key->key));
  root.ledger.emplace(Ledger::open(root.file("ledger.jsonl")));
  check_continuation(directory, root.resumed_from->facts(), *root.key, run.config, run.program, *root.ledger);
  refuse_code_of_others(run);
  if (run.config.data.test_share > 0) root.evaluation.emplace(Ledger::open(root.file(EvaluationPlan::ledger)));
  if (!run.config.trainer()) return;
  const std::string file = root.file(TrainingLedger::file);
  root.resumed_trainings.emplace(Ledger::open(file));
  check_training_ledger(file, root.resumed_from->facts(), *root.resumed_trainings);
}

/// The header of the ledger of the held-out records.
struct EvaluationHeader {
  EventHeader header;
  std::string members;
  explicit EvaluationHeader(const Training& run)
      : header{run.plan.evaluation->adjacency, run.plan.evaluation->data.units(), run.config.privacy.seeded(),
               run.config.data.unit()},
        members(fmt::format(R"("config":"{}","plan":"{}","data":"{}","part":"held_out")", run.config.digest(),
                            sha256(run.plan_text), run.held_out_commitment)) {}
  std::string line() const {
    std::string text = Ledger::in_memory(header).lines().front();
    text.pop_back();  // the brace
    return text + "," + members + "}";
  }
};

// Root only; before the directory is vouched for by its key.
void start_evaluation_ledger(Training& run) {
  const EvaluationHeader begun(run);
  run.root->evaluation.emplace(Ledger::create(run.root->file(EvaluationPlan::ledger), begun.header, begun.members));
}

// Root only.
void start_directory(Training& run) {
  const RunConfig& config = run.config;
  RootFiles& root = *run.root;
  root.place = make_run_directory(config.run.dir, std::filesystem::path(config.path()).stem().string());
  write_file(root.file("config.ini"), config.resolved());
  if (run.trains_models) write_file(root.file(RunConfig::trainer_file), config.trainer()->resolved());
  if (config.data.columns_file) write_file(root.file(RunConfig::columns_file), config.data.columns_file->text);
  write_file(root.file("plan.json"), run.plan_text);
  if (!root.audit.empty())
    write_file(root.file("audit.json"), read_file(config.audit.result, file_limit::document));
  root.ledger.emplace(
      Ledger::create(root.file("ledger.jsonl"),
                     {run.plan.adjacency, run.facts.data.units(), config.privacy.seeded(), config.data.unit()},
                     fmt::format(R"("config":"{}","plan":"{}","data":"{}")", config.digest(), sha256(run.plan_text),
                                 run.commitment)));
  if (run.plan.evaluation) start_evaluation_ledger(run);
  write_key(root.place.path, *root.key);
}

// Root only.
void open_training_ledger(Training& run) {
  const RunConfig& config = run.config;
  RootFiles& root = *run.root;
  const Plan& plan = run.plan.training->plan;
  if (!root.resumed_trainings)
    root.resumed_trainings.emplace(
        Ledger::create(root.file(TrainingLedger::file),
                       {plan.adjacency, run.trains_models->dearest().data.records, config.privacy.seeded()},
                       fmt::format(R"("config":"{}","plan":"{}","data":"{}","trainings":{})", config.digest(),
                                   sha256(run.plan_text), run.training_commitment, plan.runs)));
  check_same_training_data(root.place.path, *root.resumed_trainings, run.training_commitment);
  root.trainings.emplace(std::move(*root.resumed_trainings), plan,
                         root.resumed_from ? root.resumed_from->facts().trainings : 0);
  run.trains_models->pay_in(*root.trainings);
}

// The same for the held-out records, whose noise has a key of its own.
void open_evaluation(Training& run, const std::optional<SecretKey>& run_key) {
  if (!run.parts) return;
  const std::optional<SecretKey> key = run_key ? std::optional(evaluation_key(*run_key)) : std::nullopt;
  run.evaluator =
      std::make_unique<Curator>(run.comm, run.held_out, run.plan.evaluation->queries,
                                run.objective->micro_batch_rows(), key, run.config.privacy.trust == "root");
  run.held_out_commitment = commitment_to(run.comm, run.held_out, key);
}

// The door in front of the records, and what is written when one goes through.
void open_door(Training& run) {
  std::optional<SecretKey> key;
  if (run.root) key = std::exchange(run.root->secret, {});
  run.curator =
      std::make_unique<Curator>(run.comm, run.records, run.plan.queries, run.objective->micro_batch_rows(), key,
                                run.config.privacy.trust == "root");
  if (const SiteJob* const job = run.options.job) {
    run.curator->join(*job->sums);
    run.commitment = commitment_of(*key, job->tags);
  } else {
    run.commitment = commitment_to(run.comm, run.records, key);
  }
  open_evaluation(run, key);
  if (run.trains_models) run.training_commitment = run.trains_models->begin(run.plan.training, key);
  if (!run.root) return;
  if (!run.options.resume) {
    run.root->key = KeyRecord{*key, run.config.digest(), run.commitment};
    start_directory(run);
  }
  run.curator->record_in(*run.root->ledger);
  if (run.evaluator) run.evaluator->record_in(*run.root->evaluation);
  if (run.trains_models) open_training_ledger(run);
  for (const Query& query : run.plan.queries)
    debug("release {}: {} coordinates on a lattice of quantum {:.6g}", query.name, query.dim,
          query.lattice.quantum());
}

void go_on_from_checkpoint(Training& run) {
  RootFiles* const root = run.root.get();
  if (root) {
    check_same_data(root->place.path, root->resumed_from->facts(), *root->key, run.commitment);
    root->ledger->cut();
    if (root->evaluation) {
      check_evaluation_ledger(root->file(EvaluationPlan::ledger), *root->evaluation, EvaluationHeader(run).line());
      root->evaluation->cut();
    }
    run.next = root->resumed_from->facts().step;
    Archive running_sums(*root->resumed_from);
    run.curator->archive(running_sums);
  }
  run.comm.broadcast(run.next);
  BroadcastSource state(run.comm, root ? &*root->resumed_from : nullptr);
  Archive archive(state);
  run.algorithm->archive(archive);
  if (run.preparation) run.preparation->archive(archive);
  archive.finish();
  if (root) root->resumed_from->finish();
  run.curator->resume_at(run.next);
  if (run.evaluator)
    run.evaluator->resume_at(0);  // what was counted before a kill is counted again, with the same noise
}

// Metrics and times are cut back to the checkpoint: the steps since then are done, and written, again. Root only.
void open_logs(Training& run, Clock::time_point start) {
  RootFiles& root = *run.root;
  const auto& from = root.resumed_from;
  root.spending.emplace(run.plan, run.config.privacy.accountant);
  root.metrics = LineFile(root.file("metrics.jsonl"), from ? from->facts().metrics_bytes : 0);
  root.losses = LossHistory(run.objective->saddle() == nullptr, run.objective->loss_name());
  if (from) root.losses.read(read_file(root.file("metrics.jsonl"), file_limit::lines), root.file("metrics.jsonl"));
  // Times follow the secret batch sizes.
  root.timing = LineFile(root.file("timing.jsonl"), from ? from->facts().timing_bytes : 0, 0600);
  root.timing.append(fmt::format(R"({{"phase":"load","step":{},"seconds":{:.3f},"ranks":{}}})", run.next,
                                 seconds_since(start), run.comm.size()));
  if (from && run.prints()) print_user("going on after step {} of {}\n", run.next, run.plan.steps);
  root.resumed_from.reset();
}

// Not of a resumed run, but of one that was killed while its columns were prepared. Collective.
bool at_its_beginning(const Training& run) {
  if (!run.options.resume) return true;
  return run.preparation && run.comm.any(run.root && run.next == 0 && run.root->metrics.size() == 0);
}

// What can be said before the first step. The start point is public. Collective.
void look_at_start(Training& run) {
  const bool has_eval = !run.files.evaluation.empty();
  if (has_eval || run.preparation) run.evaluate();
  if (!has_eval && run.prints())
    print_user("without public records (data.eval) nothing can be seen of the model{}: no metrics, no warnings\n",
               run.parts ? " before the end" : "");
}

}  // namespace

void make_plan(Training& run) {
  const RunConfig& config = run.config;
  run.plan = plan_on_all_ranks(run.comm, config, run.facts, run.plan);
  if (run.parts)
    run.plan.evaluation = std::make_shared<const EvaluationPlan>(
        evaluation_plan_on_all_ranks(run.comm, config, *run.objective, run.plan, *run.parts));
  if (config.prepare.on())
    run.preparation.emplace(*config.data.columns_file, run.plan.preparation.words, run.plan.preparing());
  run.plan_text = plan_json(run.plan, config, run.facts);
  run.comm.agree(sha256(run.plan_text), "the plan");
  if (!run.root || config.audit.result.empty()) return;
  run.root->audit = certified_audit(run.options.resume ? run.root->file("audit.json") : config.audit.result,
                                    config.digest(), run.plan.epsilon(), run.plan.delta());
}

std::unique_ptr<Training> prepare(const Communicator& comm, const RunConfig& config, const TrainOptions& options) {
  const auto start = Clock::now();
  if (!options.resume) refuse_place(comm, config);
  auto run = std::make_unique<Training>(comm, config, options);
  comm.agree(run->program.digest, "the program");
  if (run->root && options.resume) open_run(*run);

  Problems problems;
  look_at_inputs(*run, problems);
  problems.raise();
  read_inputs(*run, problems);
  problems.raise();
  fault_point("load");
  run->stamps.check();
  const std::string reading = duration_text(seconds_since(start));

  make_plan(*run);
  if (run->prints()) {
    print_settings(config, run->facts, run->plan, comm.size());
    print_user("read the data in {}\n", reading);
  }

  const InStage stage(Stage::directory);
  open_door(*run);
  run->algorithm = run->plan.method->start(*run->objective, run->plan.queries);
  if (options.resume) go_on_from_checkpoint(*run);
  if (run->root) open_logs(*run, start);
  const bool begins = at_its_beginning(*run);
  if (run->preparation && !options.resume) run->save_checkpoint();  // a kill in what follows can be resumed
  prepare_columns(*run);
  if (begins) look_at_start(*run);
  if (begins || config.run.moved) run->save_checkpoint();
  return run;
}

}  // namespace dpmpi
