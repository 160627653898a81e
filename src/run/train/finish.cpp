#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/columns/columns_file.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/model_metadata.hpp"
#include "run/directory/safetensors.hpp"
#include "run/held_out/results.hpp"
#include "run/report/report.hpp"
#include "run/train/training.hpp"

namespace dpmpi {
namespace {

void check_ledgers(const Training& run) {
  const RootFiles& root = *run.root;
  if (!same_events(root.ledger->events(), run.plan.events()))
    throw PrivacyError("the ledger does not cover the plan: no model is written");
  root.ledger->check_in_place();
  if (root.trainings) root.trainings->ledger().check_in_place();
  if (!root.evaluation) return;
  if (!same_events(root.evaluation->events(), run.plan.evaluation->events()))
    throw PrivacyError("the ledger of the held-out records does not cover the plan: no model is written");
  root.evaluation->check_in_place();
}

std::optional<TrainingProvenance> training_provenance(const Training& run) {
  const auto& trainings = run.root->trainings;
  if (!trainings) return {};
  return TrainingProvenance{trainings->begun(), trainings->ledger().head(), run.training_commitment};
}

std::optional<EvaluationProvenance> evaluation_provenance(const Training& run) {
  const RootFiles& root = *run.root;
  if (!root.evaluation) return {};
  return EvaluationProvenance{.events = root.evaluation->events(),
                              .head = root.evaluation->head(),
                              .commitment = run.held_out_commitment,
                              .generator = evaluation_commitment(root.key->key),
                              .results = file_digest(root.file(EvaluationPlan::results))};
}

std::string certificate_of(const Training& run, std::span<const float> model) {
  const RootFiles& root = *run.root;
  return certificate_json(run.config, run.facts, run.plan,
                          {.events = root.ledger->events(),
                           .head = root.ledger->head(),
                           .commitment = run.commitment,
                           .program = run.program.digest,
                           .generators = generator_commitments(root.key->key, run.records.layout.blocks),
                           .model = safetensors_digest(run.objective->model_groups(), model),
                           .metrics = file_digest(root.file("metrics.jsonl")),
                           .public_models = run.public_models,
                           .training_files = run.files.training.digest_of_matches(),
                           .audit = root.audit,
                           .preparation = run.preparation ? file_digest(root.file(PreparationPlan::results)) : "",
                           .training = training_provenance(run),
                           .evaluation = evaluation_provenance(run)});
}

void write_model(const Training& run, std::span<const float> model, const std::string& certificate) {
  const auto& file = run.config.data.columns_file;
  const std::string columns = run.preparation ? run.preparation->columns_text() : file ? file->text : "";
  write_safetensors(run.root->file("model.safetensors"), run.objective->model_groups(), model,
                    model_metadata(run.config, sha256(certificate), run.facts.data.features, columns));
}

// The run is finished by then: what goes wrong here must not look as if it were not.
void write_report(const std::string& directory) {
  try {
    write_file(directory + "/report.html", report_html({directory}, false));
  } catch (const std::exception& e) {
    warn("no report.html ({}); dpmpi report {} tries again", e.what(), directory);
  }
}

void print_chosen(const Algorithm& algorithm) {
  const std::vector<std::string> settings = algorithm.chosen();
  if (settings.empty()) return print_user("no training was drawn: the model is the start point\n");
  print_user("chosen: {}, noisy mean loss {:.4f}\n", fmt::join(settings, " "), algorithm.measures().front().value);
}

void print_end(const Training& run, std::span<const float> iterate) {
  const std::string time = run.plan.hides_times() ? "" : " in " + duration_text(seconds_since(run.started));
  print_user("done{}: {}\n", time, run.note());
  if (!run.tested.is_null()) print_user("on held-out records, 95 %: {}\n", results_text(run.tested));
  if (run.config.tunes()) print_chosen(*run.algorithm);
  if (run.trains_models) print_user("{}\n", run.trains_models->advice(iterate));
  fmt::print("{}\n", run.root->place.path);
}

}  // namespace

void finish(Training& run) {
  const InStage stage(Stage::finish);
  fault_point("finish");
  run.compare_replicas();
  run.record_times();
  if (!run.root) return;

  RootFiles& root = *run.root;
  const std::string& directory = root.place.path;
  check_ledgers(run);
  root.metrics.sync();
  root.timing.sync();
  const auto iterate = run.algorithm->iterate();
  const auto model = run.objective->model(iterate);
  const std::string certificate = certificate_of(run, model);
  write_model(run, model, certificate);
  if (run.plan.hides_times()) level_times(directory);
  // The certificate last: where it stands the run is finished, and a kill from here on leaves only tidying up.
  write_file(directory + "/certificate.json", certificate);
  if (!run.config.run.keep_key) wipe_key(directory);
  remove_checkpoints(directory);
  if (run.prints()) write_report(directory);
  if (run.plan.hides_times()) level_times(directory);
  if (run.prints()) print_end(run, iterate);
}

}  // namespace dpmpi
