#include "run/config/config.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/home.hpp"
#include "core/files/run_file.hpp"
#include "core/ini.hpp"
#include "data/columns/added_attributes.hpp"
#include "data/columns/coding.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/read_columns.hpp"
#include "objective/capability_of.hpp"
#include "objective/class_weights.hpp"
#include "objective/plugin/library.hpp"
#include "run/config/automatic.hpp"
#include "run/config/candidates.hpp"
#include "run/config/embedded_columns.hpp"
#include "run/config/hints.hpp"
#include "run/config/layer_rules.hpp"
#include "run/config/recipe.hpp"
#include "run/config/removed.hpp"
#include "run/config/training_builder.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

template <class Entries>
std::vector<std::string> names(const Entries& entries) {
  std::vector<std::string> all;
  for (const auto& entry : entries) all.push_back(entry.name);
  return all;
}

void take_name(const Settings& settings, const std::string& key, std::string& name) {
  if (const auto at = settings.find(key); at != settings.end()) name = at->second.value;
}

// The entry of that name; a problem that says the nearest one otherwise.
template <class Entries>
const typename Entries::value_type* entry_of(const Entries& entries, const std::string& name,
                                             const std::string& key, const Settings& settings,
                                             std::vector<std::string>& problems) {
  for (const auto& entry : entries)
    if (entry.name == name) return &entry;
  const auto all = names(entries);
  const auto nearest = nearest_name(name, all);
  const auto at = settings.find(key);
  problems.push_back(fmt::format("{}: {} = {} is not known{}; it must be one of: {}",
                                 at == settings.end() ? "default" : at->second.origin, key, name,
                                 nearest.empty() ? "" : " (did you mean " + nearest + "?)", fmt::join(all, ", ")));
  return nullptr;
}

// What a method or an objective that is not known could have, nobody can say.
Settings of_known_names(Settings settings, bool objective, bool method) {
  std::erase_if(settings, [&](const auto& setting) {
    return (!method && setting.first.starts_with("method.")) ||
           (!objective && setting.first.starts_with("objective."));
  });
  return settings;
}

std::vector<const Options*> pointers_to(const std::vector<std::unique_ptr<Options>>& sections) {
  std::vector<const Options*> all;
  for (const auto& options : sections) all.push_back(options.get());
  return all;
}

void refuse_removed(const Settings& settings) {
  std::vector<std::string> problems;
  const auto name = settings.find("method.name");
  const std::string method = name == settings.end() ? "" : name->second.value;
  for (const auto& [key, setting] : settings)
    if (const std::string instead = instead_of(key, setting.value, method); !instead.empty())
      problems.push_back(fmt::format("{}: {} = {} was removed: {}", setting.origin, key, setting.value, instead));
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

bool stands_in_run_directory(const std::string& path) {
  std::error_code absent;
  for (const fs::path& file : {fs::absolute(path, absent), fs::weakly_canonical(path, absent)})
    for (const char* name : {"ledger.jsonl", "plan.json", "certificate.json"})
      if (fs::exists(fs::symlink_status(file.parent_path() / name, absent))) return true;
  return false;
}

bool on_command_line(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found != settings.end() && found->second.origin == "--set";
}

/// Names of columns within layers become features. False if one is of no column: nothing can be said of layers
/// then.
bool embed_columns(const Options::Declaration* layers, const DataOptions& data,
                   std::vector<std::string>& problems) {
  if (layers == nullptr) return true;
  const std::size_t before = problems.size();
  layers->parse(with_embedded_columns(layers->text(), data.columns_file.get(), problems));
  return problems.size() == before;
}

/// Words of labels mean what the file's mean: once it is known how that is read.
void resolve_class_weights(ObjectiveEntry::Builder& objective, const DataOptions& data,
                           std::vector<std::string>& problems) {
  ClassWeightOption* const weights = objective.class_weight_option();
  if (!weights || is_quantity(objective.label_kind())) return;
  // Without its columns file a run is looked at, and no record is read.
  const bool unread = !data.columns.empty() && !data.columns_file;
  const bool unknown = objective.label_kind() == LabelKind::class_ && objective.classes() == 0;
  if (unread || unknown) return weights->leave_unresolved();
  weights->resolve(data, objective.label_kind(), objective.classes(), problems);
}

// To see what privacy costs, --set privacy.noise=none is enough: the file's target gives way.
void drop_target(Settings& settings) {
  if (!on_command_line(settings, "privacy.noise") || settings.at("privacy.noise").value != "none") return;
  for (const char* target : {"privacy.epsilon", "privacy.noise_multiplier"})
    if (!on_command_line(settings, target)) settings.erase(target);
}

Settings settings_of(const std::string& path, const std::vector<std::string>& overrides, ConfigOf whose) {
  if (whose == ConfigOf::run) check_no_link(path);
  Settings settings = read_ini(path);
  for (const auto& assignment : overrides) apply_override(settings, assignment);
  drop_target(settings);
  return settings;
}

}  // namespace

RunConfig::RunConfig(const std::string& path, const std::vector<std::string>& overrides, ConfigOf whose)
    : RunConfig(settings_of(path, overrides, whose), path, whose) {}

RunConfig::RunConfig(const Settings& as_given, const std::string& path, ConfigOf whose, const std::string& columns)
    : path_(path), of_run_directory_(whose == ConfigOf::run || stands_in_run_directory(path)) {
  data.config_folder = std::filesystem::absolute(path).parent_path().string();
  refuse_removed(as_given);

  std::vector<std::string> problems;
  std::string method_given = method_name;
  take_name(as_given, "method.name", method_given);
  const Settings settings = without_automatic(as_given, method_given, automatic_, problems);
  if (of_run_directory_ && !automatic_.empty())
    problems.push_back(
        fmt::format("{}: {} = auto: the config of a run has numbers", path, fmt::join(automatic_, ", ")));
  const auto section = [&](const char* name) -> Options& {
    return *sections_.emplace_back(std::make_unique<Options>(name));
  };
  Options& run_section = section("run");
  run.declare(run_section);
  Options& data_section = section("data");
  data.declare(data_section);
  Options& objective_section = section("objective");
  declare_objective(objective_section, objective_name, l2);
  start.declare(objective_section);
  Options& method_section = section("method");
  declare_method(method_section, method_name);
  Options& privacy_section = section("privacy");
  privacy.declare(privacy_section);
  prepare.declare(data_section, privacy_section);
  Options& report_section = section("report");
  report.declare(report_section);
  audit.declare(section("audit"));
  tune.declare(section("tune"));

  // The names first: they decide which further options exist.
  take_name(settings, "objective.name", objective_name);
  take_name(settings, "method.name", method_name);
  if (const auto* entry = entry_of(objectives(), objective_name, "objective.name", settings, problems)) {
    objective = entry->builder();
    objective->declare(objective_section);
  }
  if (const auto* entry = entry_of(methods(), method_name, "method.name", settings, problems)) {
    method = entry->make();
    method->declare(method_section);
  }
  for (auto& options : sections_) options->read(settings, problems);
  check_unknown(of_known_names(settings, objective != nullptr, method != nullptr), pointers_to(sections_), problems,
                [&](const std::string& key, const std::vector<std::string>& known) {
                  return hint_for(key, known, method_name, objective_name);
                });
  for (const char* const file :
       {"run.dir", "run.stop_file", "audit.result", "objective.library", "objective.module", "objective.trainer"})
    if (const auto* const option = find(file)) option->parse(expand_home(option->text()));
  // Whoever names another columns file does not mean the one of the digest in the config.
  if (on_command_line(settings, "data.columns") && !on_command_line(settings, "data.columns_digest"))
    data.columns_digest.clear();
  else if (of_run_directory_ && fs::path(path_).filename() == "config.ini" && !data.columns_digest.empty())
    data.columns_copy = data.config_folder + "/" + columns_file;
  if (!on_command_line(settings, "data.columns")) data.columns_text = columns;
  read_columns(data, problems);
  const bool columns_known = embed_columns(find("objective.layers"), data, problems);
  if (objective && columns_known) objective->validate(problems);
  if (on_command_line(settings, "objective.start_model") && !on_command_line(settings, "objective.start_digest"))
    start.digest.clear();
  if (of_run_directory_ && start.given() && start.digest.empty())  // it may come from anybody, and name any file
    problems.push_back(
        fmt::format("{}: objective.start_digest is empty, and every run with a start has it", path_));
  else
    start.find(data, problems);
  data.validate(problems);
  if (objective) resolve_class_weights(*objective, data, problems);
  privacy.validate(problems);
  if (method) {
    if (tunes()) choose_among_trainings(settings, problems);
    method->validate(problems);
    if (is_private() && !given("privacy.epsilon") && !given("privacy.noise_multiplier"))
      problems.emplace_back(
          "a private run needs privacy.epsilon (noise is calibrated to it) or privacy.noise_multiplier");
  }
  check_prepare(problems);
  check_start(*this, problems);
  check_layer_rules(*this, problems);
  if (data.train.empty() && data.shards.empty())
    problems.emplace_back("data.train is not set: the file with the training records");
  if (problems.empty()) read_trainer(settings, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  look_at_library(settings);
}

void RunConfig::choose_among_trainings(const Settings& settings, std::vector<std::string>& problems) {
  if (objective_name.starts_with("tune_"))
    problems.push_back(fmt::format(
        "tune.search: objective.name = {} trains models itself; leave out one of the two", objective_name));
  const auto& all = methods();
  const auto entry = std::ranges::find(all, method_name, &MethodEntry::name);
  named_ = std::exchange(method, nullptr);
  method = std::make_unique<TunedTraining>(tune, candidates(tune.search, *entry, settings, problems));
}

// Before anything is spent: a scaled column is no group any more.
void RunConfig::check_prepared_group(const ColumnsFile& columns, std::vector<std::string>& problems) const {
  const std::string text = value("objective.group_feature");
  std::size_t feature = 0;
  std::from_chars(text.data(), text.data() + text.size(), feature);
  if (feature == 0) return;
  const std::vector<FeatureRange> features = features_of_columns(columns);
  for (const std::size_t c : columns_without_scale(columns))
    if (features[c].has(feature))
      problems.push_back(fmt::format(
          "objective.group_feature = {}: data.prepare = private would scale its column '{}', whose numbers "
          "are groups: write mean=0 std=1 behind it in {}",
          feature, columns.columns[c].name, columns.path));
}

void RunConfig::check_prepare(std::vector<std::string>& problems) const {
  if (!prepare.on()) {
    if (given("privacy.prepare_share") && prepare.share != PrepareOptions().share)
      problems.emplace_back("privacy.prepare_share says what data.prepare = private may spend: set that, too");
    if (prepare.rare > 0)
      problems.emplace_back("data.prepare_rare is found out by data.prepare = private: set that, too");
    return;
  }
  const auto refuse = [&](const std::string& why) { problems.push_back("data.prepare = private: " + why); };
  if (data.columns.empty())
    refuse(
        "which columns are numbers stands in a columns file: set data.columns (the guide on preparation has one)");
  if (objective_name == "td")
    refuse("records of objective.name = td are of two states, whose columns would be scaled apart: leave it out");
  if (tunes()) refuse("the trainings of tune.search would each need one: leave out one of the two");
  if (training()) refuse(fmt::format("objective.name = {} trains models of its own: leave it out", objective_name));
  if (!value("objective.train").empty())
    refuse("objective.train is read before anything is known of the columns: leave one of the two out");
  if (!data.columns_file) return;
  const ColumnsFile& columns = *data.columns_file;
  check_prepared_group(columns, problems);
  if (columns_without_scale(columns).empty())
    refuse(fmt::format("{} has no column of kind number without range, mean and std: there is nothing to find out",
                       columns.path));
  if (prepare.rare > 0 && categories_without_rare(columns).empty())
    refuse(fmt::format("data.prepare_rare: {} has no column of kind category without rare=", columns.path));
  if (!is_utf8(columns.text)) refuse(fmt::format("{} is no UTF-8, and no JSON file can hold it", columns.path));
}

LibraryBuilder* RunConfig::library() const { return objective ? objective->code() : nullptr; }

void RunConfig::look_at_library(const Settings& settings) {
  LibraryBuilder* const code = library();
  if (!code || code->library().empty()) return;
  const bool named_by_user = on_command_line(settings, code->key());
  if (of_run_directory_ && named_by_user && value(code->key() + "_digest").empty())
    throw ConfigError(
        fmt::format("{}: {}_digest is empty: nothing says which code the run was made with, so {} is "
                    "not loaded for it. Put back the config of the run; every run has the digest there",
                    path_, code->key(), code->library()));
  if (!of_run_directory_ || named_by_user) return code->identify();
  code->refuse(
      fmt::format("{0}: {1} = {2}: a run directory names code that would be run, and that is not for it to say. "
                  "If you know the file, name it yourself: --set {1}=FILE",
                  path_, code->key(), code->library()));
}

TrainingBuilder* RunConfig::training() const { return capability_of<TrainingBuilder>(objective.get()); }

const RunConfig* RunConfig::trainer() const {
  const TrainingBuilder* const builder = training();
  return builder ? &builder->trainer() : nullptr;
}

void RunConfig::read_trainer(const Settings& settings, std::vector<std::string>& problems) {
  TrainingBuilder* const builder = training();
  if (!builder) return;
  const bool copied = of_run_directory_ && value("objective.trainer") == trainer_file;
  builder->read_trainer(data.config_folder, copied ? ConfigOf::run : ConfigOf::user);
  // A config elsewhere is not taken for that of a run directory, and this one may not lend its name to it.
  if (of_run_directory_ && trainer()->library() && !trainer()->of_run_directory() &&
      !on_command_line(settings, "objective.trainer"))
    problems.push_back(fmt::format("{}: objective.trainer = {} names code ({}); in a run directory it is {}", path_,
                                   value("objective.trainer"), trainer()->library()->key(), trainer_file));
  if (trainer() && !trainer()->automatic().empty())
    problems.push_back(
        fmt::format("objective.trainer = {}: {} = auto: give numbers there (dpmpi suggest prints them)",
                    value("objective.trainer"), fmt::join(trainer()->automatic(), ", ")));
  builder->check(*this, problems);
  if (trainer() && trainer()->prepare.on())
    problems.push_back(fmt::format(
        "objective.trainer = {} has data.prepare = private, which is for a training by itself: leave it out",
        value("objective.trainer")));
  if (trainer() && trainer()->start.given())
    problems.push_back(
        fmt::format("objective.trainer = {} has objective.start_model, which is for a training by itself",
                    value("objective.trainer")));
  if (trainer() && (data.by_person() || trainer()->data.by_person()))
    problems.push_back(
        fmt::format("data.person: with objective.name = {} the promise is for a record of each set, and not for "
                    "persons: leave it out of {} and {}, or give files with one record of each person",
                    objective_name, path_, value("objective.trainer")));
}

const Options::Declaration* RunConfig::find(const std::string& name) const {
  for (const auto& options : sections_)
    for (const auto& declaration : options->declarations())
      if (declaration.name == name) return &declaration;
  return nullptr;
}

bool RunConfig::given(const std::string& name) const {
  const auto* const declaration = find(name);
  return declaration != nullptr && declaration->given;
}

std::string RunConfig::value(const std::string& name) const {
  const auto* const declaration = find(name);
  return declaration == nullptr ? std::string() : declaration->text();
}

std::vector<std::pair<std::string, std::string>> RunConfig::set_in(const std::string& section) const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& options : sections_)
    for (const auto& declaration : options->declarations())
      if (declaration.name.starts_with(section + ".") && declaration.text() != declaration.initial)
        all.emplace_back(declaration.name, declaration.text());
  return all;
}

bool RunConfig::whole(const std::string& name) const {
  const auto* const declaration = find(name);
  return declaration != nullptr && declaration->whole;
}

DataFiles RunConfig::find_files(const std::string& given) const {
  return DataFiles(data, value("objective.train"), given);
}

// The copy in the run directory must find the files that the original found beside itself, and the copy of the
// trainer's config.
std::string RunConfig::resolved_value(const Options::Declaration& declaration) const {
  if (declaration.name == "data.root" && data.root.empty()) return data.config_folder;
  if (declaration.name == "data.columns" && data.columns_file)
    return fs::absolute(data.columns_file->path).string();
  if (declaration.name == "objective.start_model" && !start.path.empty()) return start.path;
  if (declaration.name == "objective.trainer" && trainer()) return trainer_file;
  return declaration.text();
}

std::string RunConfig::resolved() const {
  std::string text;
  for (const auto& options : sections_) {
    const auto& all = options->declarations();
    if (all.front().name.starts_with("tune.") && !tunes()) continue;
    text += fmt::format("[{}]\n", all.front().name.substr(0, all.front().name.find('.')));
    for (const auto& declaration : all) {
      // A value that stands for "not given" is outside its own range: leave it out, so that the file can be read
      // again.
      if (!declaration.given && !declaration.has_default && declaration.text() == declaration.initial) continue;
      text += fmt::format("{} = {}\n", declaration.name.substr(declaration.name.find('.') + 1),
                          ini_value(resolved_value(declaration)));
    }
    text += "\n";
  }
  return text;
}

bool RunConfig::means_unset(const std::string& name, const std::string& text) const {
  constexpr std::string_view of_trainer = "trainer.";
  if (trainer() && name.starts_with(of_trainer))
    return trainer()->means_unset(name.substr(of_trainer.size()), text);
  const auto* declaration = find(name);
  return text.empty() || (declaration && !declaration->has_default && text == declaration->initial);
}

std::string RunConfig::essentials() const { return essential_lines(true); }

std::string RunConfig::essential_lines(bool with_defaults) const {
  std::string text;
  // Code, columns and start are known by their digests, wherever the files lie. Runs of older versions have none of
  // code.
  const std::string code = library() ? library()->key() : "", digest = code + "_digest";
  const std::string& left_out = value(digest).empty() ? digest : code;
  for (const auto& options : sections_)
    for (const auto& declaration : options->declarations()) {
      const std::string& name = declaration.name;
      if (name.starts_with("run.") || name.starts_with("report.") || name.starts_with("audit.") ||
          (name.starts_with("tune.") && !tunes()) || name == "data.root" || name == "data.memory" ||
          name == "data.columns" || name == "objective.trainer" || name == "objective.start_model")
        continue;
      if (name == left_out || (!with_defaults && declaration.text() == declaration.initial)) continue;
      text += fmt::format("{} = {}\n", name, declaration.text());
    }
  if (!trainer()) return text;
  std::istringstream lines(trainer()->essential_lines(with_defaults));
  for (std::string line; std::getline(lines, line);) text += fmt::format("trainer.{}\n", line);
  return text;
}

bool RunConfig::has_essentials(const std::string& lines) const {
  const auto set_of = [](const std::string& text) {
    std::istringstream in(text);
    std::set<std::string> all;
    for (std::string line; std::getline(in, line);) all.insert(line);
    return all;
  };
  const auto given = set_of(lines);
  return std::ranges::includes(set_of(essentials()), given) &&
         std::ranges::includes(given, set_of(essential_lines(false)));
}

std::string RunConfig::digest() const { return sha256(essential_lines(false)); }

bool RunConfig::has_digest(const std::string& digest) const {
  return digest == this->digest() || digest == sha256(essentials());
}

}  // namespace dpmpi
