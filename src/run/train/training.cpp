#include "run/train/training.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "objective/plugin/library.hpp"
#include "run/evaluate/mean_gradient.hpp"
#include "run/evaluate/metrics.hpp"
#include "run/evaluate/samples.hpp"
#include "run/held_out/results.hpp"
#include "run/train/prepare_columns.hpp"
#include "run/warnings/before_training.hpp"
#include "run/warnings/class_balance.hpp"
#include "run/warnings/guessed_columns.hpp"

namespace dpmpi {
namespace {

// All files of the code that a config names, if it names any.
std::vector<std::string> code_files(const RunConfig* config) {
  const LibraryBuilder* const code = config ? config->library() : nullptr;
  return code && !code->library().empty() ? code->files() : std::vector<std::string>{};
}

// With the code of the trainer's config.
ProgramIdentity identity_of(const RunConfig& config, const DataFiles& files) {
  ProgramIdentity program = program_identity(code_files(&config), files.models.paths());
  const std::vector<std::string> code = code_files(config.trainer());
  if (code.empty()) return program;
  const ProgramIdentity trainer = program_identity(code);
  return {sha256(program.digest + trainer.digest), program.text + "; trains by " + trainer.text};
}

// Public records are looked at where the run directory is.
DataFiles files_of(const RunConfig& config, const TrainOptions& options) {
  DataFiles files = config.find_files();
  if (options.job && options.job->site) files.evaluation.parts.clear();
  return files;
}

std::string times_text(double seconds, const Curator::Timing& t) {
  return fmt::format(
      R"("seconds":{:.4f},"sampling":{:.4f},"kernels":{:.4f},"noise":{:.4f},"reduce":{:.4f},"broadcast":{:.4f},)"
      R"("ledger":{:.4f})",
      seconds, t.sampling, t.kernels, t.noise, t.reduce, t.broadcast, t.ledger);
}

}  // namespace

double seconds_since(Training::Clock::time_point start) {
  return std::chrono::duration<double>(Training::Clock::now() - start).count();
}

double Spending::up_to(std::uint64_t steps) {
  accountant_->compose(plan_.events(steps_, steps));
  steps_ = steps;
  latest_ = accountant_->epsilon(plan_.delta());
  return *latest_;
}

Training::Training(const Communicator& ranks, const RunConfig& settings, const TrainOptions& how)
    : comm(ranks),
      config(settings),
      options(how),
      files(files_of(settings, how)),
      stamps({&files.training, &files.evaluation, &files.models}),
      program(identity_of(settings, files)),
      root(ranks.is_root() && !(how.job && how.job->site) ? std::make_unique<RootFiles>() : nullptr) {
  read_as_they_stand(config, files);
}

void Training::compare_replicas() const {
  const auto state = algorithm->replicated();
  comm.agree(sha256({reinterpret_cast<const char*>(state.data()), state.size()}), "the iterate");
}

void Training::save_checkpoint() {
  const InStage stage(Stage::checkpoint);
  const auto start = Clock::now();
  fault_point("save");
  compare_replicas();
  if (!root) return;
  root->metrics.sync();
  root->timing.sync();
  Checkpoint facts_of_run{.step = next,
                          .config = config.essentials(),
                          .commitment = commitment,
                          .program = program.digest,
                          .program_text = program.text,
                          .ledger_lines = root->ledger->lines().size(),
                          .ledger_line_hash = root->ledger->head(),
                          .ledger_inode = root->ledger->inode(),
                          .metrics_bytes = root->metrics.size(),
                          .timing_bytes = root->timing.size(),
                          .training_line_hash = {}};
  if (root->trainings) {
    facts_of_run.trainings = root->trainings->begun();
    facts_of_run.training_lines = root->trainings->ledger().lines().size();
    facts_of_run.training_line_hash = root->trainings->ledger().head();
  }
  write_checkpoint(root->place.path, root->key->key, facts_of_run, [&](Archive& state) {
    curator->archive(state);
    algorithm->archive(state);
    if (preparation) preparation->archive(state);
  });
  debug_time("checkpoint", start);
}

// Does not say how long steps took where that would tell what is secret.
void Training::debug_time(std::string_view what, Clock::time_point start) const {
  if (plan.hides_times())
    debug("step {}: {}", next, what);
  else
    debug("step {}: {} in {:.4f} s", next, what, seconds_since(start));
}

bool Training::evaluation_due() const {
  if (next == plan.steps) return true;
  const std::uint64_t every = config.report.eval_every > 0 ? static_cast<std::uint64_t>(config.report.eval_every)
                                                           : std::max<std::uint64_t>(1, plan.steps / 20);
  return plan.method->releases(next) && (next % every == 0 || !plan.method->releases(next - 1));
}

void Training::evaluate() {
  const InStage stage(Stage::evaluate);
  const auto start = Clock::now();
  if (next == plan.steps)
    assess_model(), test_model();
  else if (!files.evaluation.empty())
    latest = dpmpi::evaluate(comm, *objective, algorithm->iterate(), public_records);
  if (config.report.gradient_norm)
    latest.measures.push_back(
        {"gradient_norm", mean_gradient_norm(comm, *objective, algorithm->iterate(), public_records)});
  debug_time("evaluation", start);
  const Findings findings = look();
  if (!root) return;
  write_metrics(findings);
  for (const Warning& warning : findings.warnings) warn("{}", warning.text);
  if (next == 0) {  // progress shows what was trained
    latest = {};
    return;
  }
  if (!latest.roc.empty()) write_file(root->file("roc.json"), nlohmann::json(latest.roc).dump() + "\n");
  if (objective->generator())
    write_file(root->file("samples.png"), png(sample_sheet(*objective, algorithm->iterate())));
  if (plan.hides_times()) return;
  root->timing.append(
      fmt::format(R"({{"step":{},{}}})", next, times_text(seconds_since(started), curator->timing())));
}

// Only what is public or was released is looked at. Collective; valid on the root.
Findings Training::look() {
  Findings findings;
  if (!files.evaluation.empty()) findings = look_at_public_records();
  if (!root || !preparation || next > 0) return findings;
  for (Measure& measure : balance_measures(*preparation)) findings.measures.push_back(std::move(measure));
  for (auto warning : {guessed_columns(*preparation), scarce_classes(*preparation)})
    if (warning) findings.warnings.push_back(std::move(*warning));
  return findings;
}

Findings Training::look_at_public_records() {
  Findings findings;
  if (next == 0)
    findings =
        look_before_training(comm, *objective, *algorithm, plan.queries, public_records, facts.data.feature_names);
  if (next == plan.steps)
    findings = look_after_training(comm, *objective, *algorithm, plan.queries, public_records);
  if (!root) return findings;
  const auto add = [&](std::optional<Warning> warning) {
    if (warning) findings.warnings.push_back(std::move(*warning));
  };
  add(root->losses.add(next, latest, next == plan.steps));
  const bool all_alike = constant.accuracy == 1.0;  // labels: known before the first step
  if (next == (all_alike ? 0 : plan.steps)) add(constant.warning(latest));
  if (next == 0)
    for (Measure& measure : constant.measures()) findings.measures.push_back(std::move(measure));
  return findings;
}

void Training::test_model() {
  if (!evaluator) return;
  const NoisyCounts counts = release_counts(*evaluator, *plan.evaluation, *objective, algorithm->iterate());
  fault_point("tested");
  if (!root) return;
  tested = results_json(counts, *plan.evaluation);
  write_file(root->file(EvaluationPlan::results), tested.dump(2) + "\n");
}

// For looking: a certificate does not vouch for it.
void Training::assess_model() {
  nlohmann::ordered_json seen = nlohmann::ordered_json::object();
  if (!files.evaluation.empty()) {
    Assessment found = assess(comm, *objective, algorithm->iterate(), public_records, {.with_roc = true});
    if (root) seen = assessment_json(found);
    latest = std::move(found.evaluation);
  }
  if (!root) return;
  const std::optional<std::size_t> left_out = objective->left_out_feature();
  std::istringstream names(facts.data.feature_names);
  std::string name;
  for (std::size_t j = 0; std::getline(names, name); ++j)
    if (j != left_out) seen["features"].push_back(name);
  if (left_out) seen["left_out_feature"] = *left_out + 1;
  if (!seen.empty())
    write_file(root->file("assessment.json"),
               seen.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

// Root only.
void Training::write_metrics(const Findings& findings) {
  nlohmann::ordered_json line;
  line["step"] = next;
  if (config.is_private()) {
    line["epsilon"] = next == 0 ? 0.0 : root->spending->up_to(next);  // the start point is public
  } else {
    line["epsilon"] = "infinity";
  }
  if (latest.records > 0) {
    line[fmt::format("eval.{}", objective->loss_name())] = latest.loss;
    if (latest.accuracy) line["eval.accuracy"] = *latest.accuracy;
    if (latest.auc) line["eval.auc"] = *latest.auc;
    for (const Measure& measure : latest.measures) line["eval." + measure.name] = measure.value;
  }
  if (!tested.is_null()) add_results(tested, line);
  if (next > 0) {
    for (const Measure& measure : algorithm->measures()) line["method." + measure.name] = measure.value;
    if (const auto chosen = algorithm->chosen(); !chosen.empty()) line["tuned"] = chosen;
    if (trains_models) line["tuned"] = trains_models->settings(algorithm->iterate());
  }
  findings.add_to(line);
  // Warnings name columns, whose names may hold any bytes.
  root->metrics.append(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Training::record_times() const {
  if (plan.hides_times()) return;
  const std::string mine = times_text(seconds_since(started), curator->timing());
  debug("times in seconds: {}", mine);
  const std::vector<std::string> all = comm.gather(mine);
  if (!root) return;
  for (std::size_t r = 0; r < all.size(); ++r) root->timing.append(fmt::format(R"({{"rank":{},{}}})", r, all[r]));
}

std::string Training::note() const {
  std::string text;
  if (!config.is_private())
    text = "NOT PRIVATE";
  else if (root && root->spending->latest())
    text = fmt::format("epsilon {:.4g}", *root->spending->latest());
  if (latest.records > 0) {
    text += fmt::format("  eval.{} {:.4f}", objective->loss_name(), latest.loss);
    if (latest.accuracy) text += fmt::format("  eval.accuracy {:.4f}", *latest.accuracy);
    if (latest.accuracy && constant.accuracy) text += fmt::format(" (largest class {:.3g})", *constant.accuracy);
    if (latest.auc) text += fmt::format("  eval.auc {:.4f}", *latest.auc);
    for (const Measure& measure : latest.measures)
      text += fmt::format("  eval.{} {:.4f}", measure.name, measure.value);
  }
  return text;
}

}  // namespace dpmpi
