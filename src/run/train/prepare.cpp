#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/broadcast_source.hpp"
#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/labels.hpp"
#include "data/records/text.hpp"
#include "privacy/curator/commitment.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/certify/named_code.hpp"
#include "run/objective/on_ranks.hpp"
#include "run/plan/settings_table.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/train/input_checks.hpp"
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

// What needs no data is refused before hours go into reading them. Root only.
void refuse_early(Training& run) {
  refuse_old_stop_file(run.config.run);
  if (!run.options.resume) return refuse_taken(run.config.run.dir);
  RootFiles& root = *run.root;
  root.place = open_run_directory(*run.options.resume);
  const std::string& directory = root.place.path;
  root.key = read_key(directory);
  root.resumed_from.emplace(read_checkpoint(directory, &root.key->key));
  root.ledger.emplace(Ledger::open(root.file("ledger.jsonl")));
  check_continuation(directory, root.resumed_from->facts(), *root.key, run.config, run.program, *root.ledger);
  refuse_code_of_others(run);
  if (!run.config.trainer()) return;
  const std::string file = root.file(TrainingLedger::file);
  root.resumed_trainings.emplace(Ledger::open(file));
  check_training_ledger(file, root.resumed_from->facts(), *root.resumed_trainings);
}

// 1. Size and shape of the data, the objective, and from them the promise: all of it public.
void make_plan(Training& run) {
  const Communicator& comm = run.comm;
  const RunConfig& config = run.config;
  {
    const InStage stage(Stage::load);
    run.facts.data = inspect(comm, run.files.training);
  }
  if (run.options.resume) permit_code(config);  // the root is beyond refuse_early: nobody gets facts before
  run.objective = make_objective(config, run.facts.data);
  run.trains_models = dynamic_cast<TrainsModels*>(run.objective.get());
  run.facts = public_facts(config, run.facts.data, *run.objective);
  run.plan = plan_on_all_ranks(comm, config, run.facts);
  run.plan_text = plan_json(run.plan, config, run.facts);
  comm.agree(sha256(run.plan_text), "the plan");
}

// Root only.
void check_public_files(Training& run) {
  const RunConfig& config = run.config;
  if (config.is_private()) refuse_private_models(run.files);
  if (!config.audit.result.empty())
    run.root->audit = certified_audit(run.options.resume ? run.root->file("audit.json") : config.audit.result,
                                      config.digest(), run.plan.epsilon(), run.plan.delta());
}

// A site's file is read by the ranks that own its blocks and by no others: there no block moves to another site's
// rank.
Ownership owners_of(const Training& run, const BlockLayout& layout) {
  if (run.files.training.by_site) return Ownership::even(layout.blocks, run.comm.size());
  const TimeShares uneven = time_shares(step_cost(run.plan, *run.objective), Machine(), layout.blocks);
  return Ownership::balanced(layout.blocks, run.comm.size(), uneven.root, uneven.afterwards);
}

Shard load_checked(const Training& run, const Dataset& dataset, const BlockLayout& layout,
                   const Ownership& ownership) {
  Shard shard = load(run.comm, dataset, layout, ownership, run.objective->label_kind(), run.objective->classes());
  const ShowFields show(dataset.shows_values());
  throw_on_all_ranks(run.comm, [&] { run.objective->check_records(shard); });
  return shard;
}

// Where data.positive says which labels are +1, the public records tell whether it names the right ones: private
// labels are counted nowhere. Collective.
void check_positive_labels(const Training& run) {
  const std::vector<std::string>& positive = run.files.evaluation.rules.positive;
  if (positive.empty() || run.files.evaluation.rules.label == no_label) return;
  std::array<std::int64_t, 2> found{};
  for (const Block& block : run.public_records.blocks)
    for (const float label : block.records.label)
      if (!std::isnan(label)) ++found[label > 0];
  run.comm.sum(found);
  const std::string what = fmt::format("data.positive = {}", fmt::join(positive, ","));
  if (found[1] == 0 && found[0] > 0)
    throw DataError(fmt::format(
        "{}: no label of the public file data.eval is one of these; write labels as the file has them (or leave "
        "data.eval out, if it has none of them and the training file does)",
        what));
  if (found[0] == 0 && found[1] > 0 && run.root)
    warn("{}: every label of data.eval is one of these: accuracy says nothing there", what);
}

void open_public_records(Training& run) {
  const Dataset& evaluation = run.files.evaluation;
  if (evaluation.empty()) return;
  if (run.root && run.config.is_private()) refuse_private_evaluation(run.files);
  const DatasetFacts facts = inspect(run.comm, evaluation);
  throw_on_all_ranks(
      run.comm, [&] { check_feature_names(evaluation.key, facts.feature_names, run.facts.data.feature_names); });
  if (facts.features != run.facts.data.features)
    throw DataError(
        fmt::format("data.eval has {} features, data.train has {}", facts.features, run.facts.data.features));
  const auto blocks = static_cast<std::uint32_t>(std::max(16, run.comm.size()));
  run.public_records =
      load_checked(run, evaluation, BlockLayout::of(facts, blocks), Ownership::even(blocks, run.comm.size()));
  check_positive_labels(run);
  run.constant = best_constant(run.comm, *run.objective, run.public_records);
}

// 2. The records.
void open_records(Training& run, Clock::time_point start) {
  const BlockLayout& layout = run.plan.layout;
  const Ownership ownership = owners_of(run, layout);
  if (run.prints()) print_settings(run.config, run.facts, run.plan, run.comm.size());
  const InStage stage(Stage::load);
  open_public_records(run);  // what is wrong there is said before the private records are read
  run.records = load_checked(run, run.files.training, layout, ownership);
  if (run.prints()) print_user("read the data in {}\n", duration_text(seconds_since(start)));
  debug("blocks {} to {} of {}, {} slots; read after {}", ownership.begin(run.comm.rank()),
        ownership.end(run.comm.rank()), layout.blocks, slots_of(run.records), duration_text(seconds_since(start)));
}

// Root only.
SecretKey key_of(const Training& run) {
  if (run.root->key) return run.root->key->key;
  if (run.config.privacy.seeded()) return SecretKey::from_seed(static_cast<std::uint64_t>(run.config.privacy.seed));
  return SecretKey::from_system();
}

// Root only.
void start_directory(Training& run) {
  const RunConfig& config = run.config;
  RootFiles& root = *run.root;
  root.place = make_run_directory(config.run.dir, std::filesystem::path(config.path()).stem().string());
  write_file(root.file("config.ini"), config.resolved());
  if (run.trains_models) write_file(root.file(RunConfig::trainer_file), config.trainer()->resolved());
  write_file(root.file("plan.json"), run.plan_text);
  if (!root.audit.empty())
    write_file(root.file("audit.json"), read_file(config.audit.result, file_limit::document));
  root.ledger.emplace(Ledger::create(root.file("ledger.jsonl"),
                                     {run.plan.adjacency, run.facts.data.records, config.privacy.seeded()},
                                     fmt::format(R"("config":"{}","plan":"{}","data":"{}")", config.digest(),
                                                 sha256(run.plan_text), run.commitment)));
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
                       {plan.adjacency, run.trains_models->centre().data.records, config.privacy.seeded()},
                       fmt::format(R"("config":"{}","plan":"{}","data":"{}","trainings":{})", config.digest(),
                                   sha256(run.plan_text), run.training_commitment, plan.runs)));
  check_same_training_data(root.place.path, *root.resumed_trainings, run.training_commitment);
  root.trainings.emplace(std::move(*root.resumed_trainings), plan,
                         root.resumed_from ? root.resumed_from->facts().trainings : 0);
  run.trains_models->pay_in(*root.trainings);
}

// 3. The door in front of the records, and what is written when one goes through.
void open_door(Training& run) {
  std::optional<SecretKey> key;
  if (run.root) key = key_of(run);
  run.curator =
      std::make_unique<Curator>(run.comm, run.records, run.plan.queries, run.objective->micro_batch_rows(), key,
                                run.config.privacy.trust == "root");
  run.commitment = commitment_to(run.comm, run.records, key);
  if (run.trains_models) run.training_commitment = run.trains_models->begin(run.plan.training, key);
  if (!run.root) return;
  if (!run.options.resume) {
    run.root->key = KeyRecord{*key, run.config.digest(), run.commitment};
    start_directory(run);
  }
  run.curator->record_in(*run.root->ledger);
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
    run.next = root->resumed_from->facts().step;
    Archive running_sums(*root->resumed_from);
    run.curator->archive(running_sums);
  }
  run.comm.broadcast(run.next);
  BroadcastSource state(run.comm, root ? &*root->resumed_from : nullptr);
  Archive archive(state);
  run.algorithm->archive(archive);
  archive.finish();
  if (root) root->resumed_from->finish();
  run.curator->resume_at(run.next);
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

// What can be said before the first step. The start point is public. Collective.
void look_at_start(Training& run) {
  if (!run.files.evaluation.empty()) return run.evaluate();
  if (run.prints())
    print_user("without public records (data.eval) nothing can be seen of the model: no metrics, no warnings\n");
}

}  // namespace

std::unique_ptr<Training> prepare(const Communicator& comm, const RunConfig& config, const TrainOptions& options) {
  auto run = std::make_unique<Training>(comm, config, options);
  const auto start = Clock::now();
  comm.agree(run->program.digest, "the program");
  if (run->root) refuse_early(*run);

  make_plan(*run);
  if (run->root) check_public_files(*run);
  give_public_records(comm, *run->objective, run->files);
  if (run->trains_models) run->trains_models->read_records(comm, run->files);
  run->plan.method->check_assumptions(*run->objective);
  open_records(*run, start);
  fault_point("load");
  run->stamps.check();

  const InStage stage(Stage::directory);
  open_door(*run);
  run->algorithm = run->plan.method->start(*run->objective, run->plan.queries);
  if (options.resume) go_on_from_checkpoint(*run);
  if (run->root) open_logs(*run, start);
  if (!options.resume) look_at_start(*run);
  if (!options.resume || config.run.moved) run->save_checkpoint();
  return run;
}

}  // namespace dpmpi
