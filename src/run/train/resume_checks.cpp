#include "run/train/resume_checks.hpp"

#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/plan/training_ledger.hpp"

namespace dpmpi {
namespace {

std::map<std::string, std::string> settings_in(const std::string& text) {
  std::map<std::string, std::string> settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t equals = line.find(" = "); equals != line.npos)
      settings[line.substr(0, equals)] = line.substr(equals + 3);
  return settings;
}

/// The lines in which two texts of "key = value" lines differ: "key: it was A, now B".
std::string changed_settings(const RunConfig& config, const std::string& before, const std::string& now) {
  const auto old_settings = settings_in(before), new_settings = settings_in(now);
  std::set<std::string> keys;
  for (const auto* settings : {&old_settings, &new_settings})
    for (const auto& [key, value] : *settings) keys.insert(key);
  const auto value = [&](const auto& settings, const std::string& key) {
    const auto found = settings.find(key);
    if (found == settings.end()) return std::string("not there");
    return config.means_unset(key, found->second) ? "not set" : found->second;
  };
  std::string text;
  for (const auto& key : keys)
    if (value(old_settings, key) != value(new_settings, key))
      text += fmt::format("\n  {}: it was {}, now {}", key, value(old_settings, key), value(new_settings, key));
  return text;
}

void check_config(const std::string& directory, const Checkpoint& checkpoint, const KeyRecord& key,
                  const RunConfig& config) {
  if (!config.has_essentials(checkpoint.config))
    throw ConfigError(fmt::format(
        "{} belongs to another config: the config.ini there was changed since the run began, or a --set changes what "
        "the numbers depend on:{}\n  Put these back, or start a new run with the new settings",
        directory, changed_settings(config, checkpoint.config, config.essentials())));
  if (key.config_digest != config.digest())
    throw PrivacyError(fmt::format(
        "{}/checkpoint/key is bound to another config than the checkpoint: put back the files that belong together, "
        "or start a new run",
        directory));
}

void check_program(const std::string& directory, const Checkpoint& checkpoint, const ProgramIdentity& program) {
  if (checkpoint.program == program.digest) return;
  throw PrivacyError(fmt::format(
      "the run in {} was begun by another build of dpmpi or on another kind of processor: replayed steps could round "
      "differently under the same noise, which would give data away.\n  it began with {}\n  this is {}\n  Go on with "
      "the program that began it, or start a new run",
      directory, checkpoint.program_text, program.text));
}

void check_ledger(const std::string& file, std::uint64_t seen_lines, const std::string& seen_hash,
                  const Ledger& ledger) {
  const auto& lines = ledger.lines();
  if (lines.size() < seen_lines)
    throw PrivacyError(fmt::format(
        "{0} is not the ledger of the checkpoint: it has {1} lines, and had {2} when the checkpoint was "
        "written. It was cut or rolled back, and going on could spend budget twice. Put back the newer "
        "ledger; if it is lost, start a new run and count the {2} lines as spent",
        file, lines.size(), seen_lines));
  if (sha256(lines[seen_lines - 1]) != seen_hash)
    throw PrivacyError(fmt::format(
        "{} is not the ledger of the checkpoint: line {} is another one (the file was edited or replaced). Put back "
        "the ledger of this run, or start a new run",
        file, seen_lines));
}

// The certificate is made of the plan, and says that the ledger began with it.
void check_plan(const std::string& directory, const Ledger& ledger) {
  const auto header = parse_untrusted_json(ledger.lines().front(), "ledger.jsonl:1");
  const std::string plan = directory + "/plan.json";
  if (header.value("plan", nlohmann::json()) == sha256(read_run_file(plan, file_limit::document))) return;
  throw PrivacyError(
      fmt::format("{} is not the plan that the run began with: its SHA-256 is not the one in ledger.jsonl:1. Put "
                  "back the plan of this run, or start a new run",
                  plan));
}

void check_place(const std::string& directory, const Checkpoint& checkpoint, const RunConfig& config,
                 const Ledger& ledger) {
  if (checkpoint.ledger_inode == ledger.inode() || config.run.moved) return;
  throw PrivacyError(fmt::format(
      "{0} is a copy of a run directory, was restored from a backup or was moved to another file system (the ledger "
      "is file {1}, it was file {2}). Every copy holds the noise key. Go on with the original; or, if this is the "
      "only one that will go on, 'dpmpi resume {0} --set run.moved=true', and remove the others with their checkpoint/key",
      directory, ledger.inode(), checkpoint.ledger_inode));
}

}  // namespace

void check_continuation(const std::string& directory, const Checkpoint& checkpoint, const KeyRecord& key,
                        const RunConfig& config, const ProgramIdentity& program, const Ledger& ledger) {
  check_config(directory, checkpoint, key, config);
  check_program(directory, checkpoint, program);
  check_ledger(directory + "/ledger.jsonl", checkpoint.ledger_lines, checkpoint.ledger_line_hash, ledger);
  check_place(directory, checkpoint, config, ledger);
  check_plan(directory, ledger);
}

void check_training_ledger(const std::string& file, const Checkpoint& checkpoint, const Ledger& ledger) {
  check_ledger(file, checkpoint.training_lines, checkpoint.training_line_hash, ledger);
}

void check_same_training_data(const std::string& directory, const Ledger& ledger, const std::string& commitment) {
  const auto header = parse_untrusted_json(ledger.lines().front(), TrainingLedger::file);
  if (header.value("data", nlohmann::json()) != commitment)
    throw DataError(
        fmt::format("the trainer's data are not those that the run in {} began with: put back the files as they "
                    "were, or start a new run on the new data (its budget adds to what this run has spent)",
                    directory));
}

void check_evaluation_ledger(const std::string& file, const Ledger& ledger, const std::string& header) {
  const std::string& first = ledger.lines().front();
  if (first == header) return;
  auto found = parse_untrusted_json(first, file + ":1"), begun = nlohmann::json::parse(header);
  const bool other_data = found.value("data", nlohmann::json()) != begun["data"];
  for (auto* object : {&found, &begun}) object->erase("data");
  if (found == begun && other_data)
    throw DataError(
        fmt::format("the held-out records are not those that the run of {} began with: put back the files as they "
                    "were, or start a new run on the new data (its budget adds to what this run has spent)",
                    file));
  throw PrivacyError(
      fmt::format("{}:1 is not the header that the run began with: the file was edited or replaced. Put back the "
                  "ledger of this run, or start a new run",
                  file));
}

void check_same_data(const std::string& directory, const Checkpoint& checkpoint, const KeyRecord& key,
                     const std::string& commitment) {
  if (checkpoint.commitment != commitment)
    throw DataError(fmt::format(
        "the training data are not those that the run in {} began with: put back the files as they were, or start a "
        "new run on the new data (its budget adds to what this run has spent)",
        directory));
  if (key.commitment != commitment)
    throw PrivacyError(fmt::format(
        "{}/checkpoint/key is bound to other data than the checkpoint: put back the files that belong together, or start a new run",
        directory));
}

}  // namespace dpmpi
