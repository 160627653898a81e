#include "run/evaluate/trained_model.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/write.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/text.hpp"
#include "run/certify/memory_bound.hpp"
#include "run/certify/named_code.hpp"
#include "run/config/recipe.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/objective/on_ranks.hpp"
#include "run/plan/plan.hpp"
#include "run/preparation/preparation.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t fewest_blocks = 16;

// A run's config looks for relative paths beside itself; a user means those of the working directory.
std::string from_here(const std::string& name) {
  if (name.empty()) return name;
  std::string paths;
  for (std::size_t at = 0; at <= name.size();) {  // a pair is written images,labels
    const std::size_t comma = std::min(name.find(',', at), name.size());
    const std::string part = name.substr(at, comma - at);
    std::error_code ignored;
    paths += (at > 0 ? "," : "") +
             (std::filesystem::exists(part, ignored) ? std::filesystem::absolute(part).string() : part);
    at = comma + 1;
  }
  return paths;
}

void refuse_unfinished(const std::string& run) {
  refuse_lost_certificate(run);
  if (!fs::exists(run + "/certificate.json"))
    throw DataError(
        fmt::format("{} has no certificate.json: the run is not finished; go on with: dpmpi resume {}", run, run));
}

void check_certified(const std::string& run, const std::string& model) {
  const std::string certificate = run + "/certificate.json";
  const auto certified = read_run_json(certificate);
  const std::map<std::string, std::string> says = read_metadata(model);
  const auto of = says.find("certificate");
  const bool other = of != says.end() && of->second != sha256(read_run_file(certificate, file_limit::document));
  if (other || !certified.is_object() ||
      certified.value("model_digest", nlohmann::json()) != parameters_digest(model))
    throw PrivacyError(fmt::format("{} is not the model of {}: find out what changed with dpmpi verify {}", model,
                                   certificate, run));
}

std::string model_of(const std::string& run) { return run + "/model.safetensors"; }

std::vector<float> read_certified(const std::string& run, const Objective& objective) {
  std::vector<float> numbers = read_safetensors(model_of(run), objective.model_groups());
  check_certified(run, model_of(run));
  return numbers;
}

std::vector<float> read_parameters(const Communicator& comm, const ModelToScore& scored, Objective& objective) {
  std::vector<float> numbers;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    numbers = scored.run.empty() ? read_safetensors(scored.file, objective.model_groups())
                                 : read_certified(scored.run, objective);
  });
  std::uint64_t count = numbers.size();
  comm.broadcast(count);
  numbers.resize(count);
  comm.broadcast(std::span<float>(numbers));
  return objective.take_model(std::move(numbers));
}

std::optional<std::uint64_t> planned_features(const std::string& run) {
  const auto plan = read_run_json(run + "/plan.json");
  if (!plan.is_object() || !plan.contains("data") || !plan["data"].is_object()) return std::nullopt;
  const auto features = plan["data"].value("features", nlohmann::json());
  return features.is_number_unsigned() ? std::optional(features.get<std::uint64_t>()) : std::nullopt;
}

// A file that came alone may be from anybody, and what it asks for is in proportion to it.
std::unique_ptr<Objective> objective_of(const ModelToScore& scored, const DatasetFacts& facts) {
  std::optional<MemoryBound> bound;
  if (scored.run.empty()) bound.emplace(1024 * file_limit::mebibyte + 64 * fs::file_size(scored.file));
  return make_objective(*scored.config, facts);
}

// Objectives take any number of features, and only the model would not fit. Root only.
void check_width(const ModelToScore& scored, const DatasetFacts& facts) {
  const Dataset& dataset = scored.files.scored();
  const auto features = scored.features ? scored.features : planned_features(scored.run);
  if (features && *features != facts.features)
    throw DataError(fmt::format("{} = {} has {} features, the records of the run had {}", dataset.key,
                                dataset.first().names, facts.features, *features));
}

// What a run was is not to be changed, nor which records it was trained on: those are refused as data.
void check_overrides(const std::vector<std::string>& overrides) {
  for (const auto& setting : overrides) {
    const std::string name = setting.substr(0, setting.find('='));
    if (name == "objective.library" || name == "objective.module")
      continue;  // which file, not which code: its digest is compared
    if (!name.starts_with("data.") || name == "data.train" || name == "data.shards" || name == "data.shard_records")
      throw ConfigError(
          fmt::format("--set {}: a finished run's settings stay as they are, but for how records are read "
                      "(data.label, data.format, ...)",
                      name));
  }
}

// What a model is asked for follows from its config, and which records it must not be asked about.
void refuse_changed_config(const std::string& run, const RunConfig& config) {
  const auto plan = read_run_json(run + "/plan.json");
  if (!plan.is_object() || !plan.contains("config_digest") || config.has_digest(text_member(plan, "config_digest")))
    return;
  throw PrivacyError(fmt::format(
      "{0}/config.ini is not the config of this run, or a version of dpmpi with other options made it: find out what "
      "changed with dpmpi verify {0}. How records are read (data.label, data.root, ...) can be changed by --set",
      run));
}

// A member of the certificate; empty: certificates of older runs say nothing of it. Collective.
std::string certified_digest(const Communicator& comm, const std::string& run, const char* member) {
  std::string stated;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const auto certificate = read_run_json(run + "/certificate.json");
    if (certificate.is_object() && certificate.contains(member) && certificate[member].is_string())
      stated = certificate[member];
  });
  comm.broadcast(stated);
  return stated;
}

// Records are read by what was found out about their columns. Another columns file, which overrides may name, says
// all by itself.
void take_prepared_columns(RunConfig& config, const std::string& run) {
  if (!config.prepare.on() || !config.data.columns_file) return;
  const std::string file = run + "/" + PreparationPlan::results;
  if (config.data.columns_digest != RunConfig(run + "/config.ini", {}, ConfigOf::run).data.columns_digest) return;
  const std::string text = read_run_file(file, file_limit::document);
  const auto certificate = read_run_json(run + "/certificate.json");
  const nlohmann::json::json_pointer digest("/preparation/results_digest");
  if (!certificate.is_object() || certificate.value(digest, nlohmann::json()) != sha256(text))
    throw PrivacyError(fmt::format(
        "{} is not the file of {}/certificate.json: find out what changed with dpmpi verify {}", file, run, run));
  config.data.columns_file = std::make_shared<const ColumnsFile>(
      text_member(parse_untrusted_json(text, file), "columns_file"), file + " (columns_file)");
}

}  // namespace

void refuse_renamed_training_files(const Communicator& comm, const std::string& run, const Dataset& training) {
  const std::string stated = certified_digest(comm, run, "training_files");
  throw_on_all_ranks(comm, [&] {
    if (!stated.empty() && training.digest_of_matches() != stated)
      throw PrivacyError(fmt::format(
          "{0} = {1} no longer matches the files of this run alone: the SHA-256 of their names is not that of "
          "training_files in {2}/certificate.json. The file to evaluate may be one of them under another name. Put "
          "the names back; or, if nobody in it was trained on, evaluate {2}/model.safetensors, which knows no files",
          training.key, training.first().names, run));
  });
}

void check_file_of_models(const Communicator& comm, const std::string& run, const Dataset& models) {
  if (models.empty()) return;
  const std::string stated = certified_digest(comm, run, "public_models");
  throw_on_all_ranks(comm, [&] {
    if (!stated.empty() && digests_of(models) != stated)
      throw DataError(fmt::format(
          "{} = {} is not the file on which models were trained in this run: its SHA-256 is not that of "
          "public_models in {}/certificate.json. Put the file of the run back",
          models.key, models.first().names, run));
  });
}

void refuse_part_of_run(const std::string& output) {
  std::error_code unseen;  // of a name that cannot be looked at, who writes says why
  const fs::path path = fs::weakly_canonical(output, unseen);  // a link is where it leads
  if (unseen) return;
  const fs::path folder = path.parent_path();
  const bool of_run = fs::exists(folder / "ledger.jsonl") && path.filename() != "report.html";
  const bool of_checkpoint = fs::exists(folder.parent_path() / "ledger.jsonl") && folder.filename() == "checkpoint";
  if (fs::exists(path) && (of_run || of_checkpoint))
    throw ConfigError(fmt::format("{} belongs to a run: give another name for the output", output));
}

void keep_inputs(const RunConfig& config, const DataFiles& files, const std::string& output) {
  std::vector<std::string> inputs{fs::absolute(config.path()).string()};
  for (const Dataset* const dataset : {&files.training, &files.evaluation, &files.models})
    for (const std::string& path : dataset->seen()) inputs.push_back(path);
  try {
    keep_files(inputs, output);
  } catch (const DataError&) {  // no file that could be replaced; who writes says why
  }
}

std::unique_ptr<const RunConfig> finished_run(const std::string& run, const std::vector<std::string>& overrides) {
  const std::string file = run + "/config.ini";
  if (!fs::exists(file)) throw ConfigError(fmt::format("{} is not a run directory: it has no config.ini", run));
  check_overrides(overrides);
  if (fs::exists(run + "/" + RunConfig::trainer_file))
    throw ConfigError(fmt::format(
        "the model of {0} is a point of a search, and scores come from a model that would have to be "
        "trained for them, which costs its people privacy: dpmpi train --config {0}/{1} --set ... with the "
        "settings that the run found (tuned, in metrics.jsonl), and evaluate that run",
        run, RunConfig::trainer_file));
  refuse_unfinished(run);
  refuse_changed_config(run, RunConfig(file, {}, ConfigOf::run));
  auto config = std::make_unique<RunConfig>(file, overrides, ConfigOf::run);
  take_prepared_columns(*config, run);
  return config;
}

ModelToScore model_at(const std::string& place, const std::string& data,
                      const std::vector<std::string>& overrides) {
  ModelToScore scored;
  if (std::error_code absent; fs::is_regular_file(place, absent)) {
    check_overrides(overrides);
    // Whoever names a link means its file.
    scored.file = fs::is_symlink(place) ? fs::canonical(place).string() : place;
    auto [config, features] = read_recipe(read_metadata(scored.file), scored.file, overrides);
    scored.config = std::move(config), scored.features = features;
  } else {
    scored.config = finished_run(place, overrides), scored.run = place, scored.file = model_of(place);
  }
  scored.files = scored.config->find_files(from_here(data));
  if (!scored.run.empty() && !overrides.empty())
    scored.trained_on = RunConfig(place + "/config.ini", {}, ConfigOf::run).find_files().training;
  return scored;
}

ModelToScore model_to_score(const std::string& place, const std::string& data,
                            const std::vector<std::string>& overrides) {
  ModelToScore scored = model_at(place, data, overrides);
  if (scored.files.scored().empty())
    throw ConfigError(fmt::format("{} has no data.eval: name the records with --data FILE", scored.config->path()));
  return scored;
}

ModelAlone read_model_alone(const std::string& run, const RunConfig& config) {
  verify_before_code(config);
  const std::optional<std::uint64_t> features = planned_features(run);
  if (!features) throw DataError(fmt::format("{}/plan.json does not say how many features records have", run));
  ModelAlone model;
  model.features = *features;
  model.objective = make_objective(config, {.features = *features});
  model.parameters = model.objective->take_model(read_certified(run, *model.objective));
  return model;
}

ModelAlone read_model_alone(const ModelToScore& model) {
  if (!model.run.empty()) return read_model_alone(model.run, *model.config);
  ModelAlone alone;
  alone.features = *model.features;
  alone.objective = objective_of(model, {.features = alone.features});
  alone.parameters = alone.objective->take_model(read_safetensors(model.file, alone.objective->model_groups()));
  return alone;
}

TrainedModel read_model_for(const Communicator& comm, const ModelToScore& scored) {
  const RunConfig& config = *scored.config;
  const DataFiles& files = scored.files;
  const Dataset& dataset = files.scored();
  TrainedModel model;
  const DatasetFacts facts = inspect(comm, dataset);
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    if (!scored.run.empty())
      check_feature_names(dataset.first().names, facts.feature_names, feature_names(files.training));
    check_width(scored, facts);
    verify_before_code(config);
  });
  check_file_of_models(comm, scored.run, files.models);
  model.objective = objective_of(scored, facts);
  give_public_records(comm, *model.objective, files);
  model.parameters = read_parameters(comm, scored, *model.objective);
  model.records.facts = facts;
  return model;
}

BlockLayout scoring_layout(const Communicator& comm, const DatasetFacts& facts) {
  return BlockLayout::of(facts, std::max(fewest_blocks, static_cast<std::uint32_t>(comm.size())));
}

void read_records_to_score(const Communicator& comm, const ModelToScore& scored, TrainedModel& model,
                           const std::optional<SecretKey>& key) {
  const Dataset& dataset = scored.files.scored();
  const DatasetFacts facts = model.records.facts;
  const BlockLayout layout = scoring_layout(comm, facts);
  const ShowFields show(dataset.shows_values());
  const auto check = [&](const Shard& records) { model.objective->check_records(records); };
  model.records = load(comm, dataset, layout, Ownership::even(layout.blocks, comm.size()),
                       model.objective->label_kind(), model.objective->classes(), {.key = key, .look = check});
  model.records.facts.feature_names = facts.feature_names;
  if (dataset.rules.persons == ReadingRules::Persons::nothing)
    throw_on_all_ranks(comm, [&] { check(model.records); });
}

TrainedModel read_trained_model(const Communicator& comm, const ModelToScore& scored) {
  TrainedModel model = read_model_for(comm, scored);
  read_records_to_score(comm, scored, model);
  return model;
}

}  // namespace dpmpi
