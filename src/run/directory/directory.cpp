#include "run/directory/directory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/config/config.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/files.hpp"
#include "run/directory/key_file.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

bool holds_run(const fs::path& folder) {
  return fs::exists(folder / "config.ini") || fs::exists(folder / "ledger.jsonl");
}

// Nothing was paid for: no ledger has a line after its header.
bool nothing_released(const fs::path& folder) {
  if (has_checkpoint(folder)) return false;
  for (const char* name : {"ledger.jsonl", "training_ledger.jsonl", "evaluation_ledger.jsonl"}) {
    if (!fs::exists(folder / name)) continue;
    const std::string ledger = read_run_file(folder / name, file_limit::lines);
    if (std::count(ledger.begin(), ledger.end(), '\n') > 1) return false;
  }
  return true;
}

std::string head_of_ledger(const std::string& folder) {
  const std::string text = read_run_file(folder + "/ledger.jsonl", file_limit::lines);
  const std::size_t end = text.rfind('\n');
  if (end == text.npos) return {};
  const std::size_t begin = text.rfind('\n', end - 1) + 1;  // 0 if there is none
  return sha256(std::string_view(text).substr(begin, end - begin));
}

// Whether the run is done says its own certificate only: another file of that name must not cost it its key.
void check_own_certificate(const std::string& folder) {
  const std::string file = folder + "/certificate.json";
  const auto certificate = read_run_json(file);
  const bool own =
      certificate.is_object() && certificate.value("ledger_head", nlohmann::json()) == head_of_ledger(folder);
  if (!own || !fs::is_regular_file(fs::symlink_status(folder + "/model.safetensors")))
    throw PrivacyError(fmt::format(
        "{} is not the certificate of this run, or its model is not there, and the run still has its key "
        "or a checkpoint: nothing was changed. Remove that file, and resume the run",
        file));
}

// Does a finished run still have what only a run at work needs?
bool is_untidy(const std::string& folder, bool keep_key) {
  std::error_code refused;
  return std::ranges::any_of(fs::directory_iterator(folder, refused),
                             [&](const auto& file) { return !keep_key || file.path().filename() != "key"; });
}

ConfigError finished(const std::string& path) {
  return ConfigError(
      fmt::format("{} is finished: its model and certificate are there, nothing is left to do", path));
}

fs::path first_free(const std::string& stem) {
  std::error_code error;
  fs::create_directories("runs", error);
  fs::path folder = fs::path("runs") / stem;
  // create_directory is exclusive: two runs that start together get two folders.
  for (int i = 2; fs::exists(folder) || !fs::create_directory(folder, error); ++i) {
    if (error) throw ConfigError(fmt::format("run.dir: cannot create {}: {}", folder.string(), error.message()));
    folder = fs::path("runs") / fmt::format("{}-{}", stem, i);
  }
  return folder;
}

void create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder / "checkpoint", error);
  if (error) throw ConfigError(fmt::format("run.dir: cannot create {}: {}", folder.string(), error.message()));
}

// Behind a link would be the key and the checkpoints of another run: nothing there is looked at, written or wiped.
void refuse_linked(const std::string& folder) {
  if (fs::is_symlink(folder))
    throw PrivacyError(fmt::format(
        "{0} is a symbolic link: the key of a run is kept in a folder of the run itself. Put the folder "
        "in place of the link, or choose another run.dir",
        folder));
}

// The folder of the key: a real one, that others may not enter. Rights are looked at, not owners: a file server may
// show another owner than the user who wrote.
void close_to_others(const std::string& folder) {
  refuse_linked(folder);
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, error);
  const fs::perms rights = fs::status(folder, error).permissions();
  if (!error && (rights & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none)
    throw PrivacyError(
        fmt::format("{} can be entered by others (mode {:04o}), and this user or file system cannot change that: "
                    "the key of the run would be open to them. Choose another run.dir",
                    folder, static_cast<unsigned>(rights)));
}

// A run that hides its times may have been killed before its last files had them: whoever looks next gives them to
// these. There the model has the time of the plan since before the certificate was written.
void level_hidden_times(const std::string& directory) {
  std::error_code absent;
  const auto time_of = [&](const char* file) { return fs::last_write_time(directory + file, absent); };
  if (time_of("/model.safetensors") == time_of("/plan.json") && !absent) level_times(directory);
}

}  // namespace

// Checkpoints are removed after the certificate was written: a run with a model and without either had one.
void refuse_lost_certificate(const std::string& path) {
  const fs::path folder(path);
  if (!holds_run(folder) || fs::exists(folder / "certificate.json") || has_checkpoint(path) ||
      !fs::exists(folder / "model.safetensors"))
    return;
  throw DataError(fmt::format(
      "{} has a model and no certificate.json, which was there once, for the run has no checkpoint: nothing is left to "
      "resume. Put the file back, or train again in another folder",
      path));
}

// What is there of it, or the nearest folder above, has to be a folder that can be written to.
void refuse_impossible(const std::string& wanted) {
  const std::string what =
      wanted.empty() ? "run.dir is not set, and a run goes below runs/" : "run.dir = " + wanted;
  fs::path place = fs::absolute(wanted.empty() ? "runs" : wanted);
  std::error_code error;
  while (fs::status(place, error).type() == fs::file_type::not_found && place.has_relative_path())
    place = place.parent_path();
  if (fs::exists(fs::status(place, error)) && !fs::is_directory(place, error))
    throw ConfigError(fmt::format("{}: {} is no folder", what, place.string()));
  if (::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw ConfigError(fmt::format("{}: nothing can be made in {}: {}", what, place.string(), std::strerror(errno)));
}

void refuse_taken(const std::string& wanted) {
  if (wanted.empty()) return;
  if (fs::exists(fs::path(wanted) / "certificate.json")) {
    level_hidden_times(wanted);
    throw ConfigError(fmt::format("run.dir = {} already holds a finished run: choose another folder", wanted));
  }
  refuse_lost_certificate(wanted);
  if (!holds_run(wanted) && fs::exists(fs::path(wanted) / RunConfig::columns_file))
    throw ConfigError(
        fmt::format("run.dir = {} has a file {} that is no run's, and a run keeps its columns file there: "
                    "choose another folder",
                    wanted, RunConfig::columns_file));
  if (holds_run(wanted) && !nothing_released(wanted))
    throw ConfigError(
        fmt::format("run.dir = {} already holds a run: go on with 'dpmpi resume {}', or choose another folder",
                    wanted, wanted));
}

RunDirectory make_run_directory(const std::string& wanted, const std::string& stem) {
  const fs::path folder = wanted.empty() ? first_free(stem) : fs::path(wanted);
  create(folder);
  RunDirectory directory{folder.string(), RunLock(folder.string())};
  close_to_others(directory.path + "/checkpoint");
  refuse_prepared_key(directory.path);
  refuse_taken(wanted);
  if (!holds_run(folder)) return directory;
  wipe_key(directory.path);
  remove_checkpoints(directory.path);
  for (const char* name :
       {"config.ini", RunConfig::trainer_file, RunConfig::columns_file, "plan.json", "metrics.jsonl",
        "timing.jsonl", "ledger.jsonl", "training_ledger.jsonl", "evaluation_ledger.jsonl", "preparation.json"})
    fs::remove(folder / name);
  return directory;
}

RunDirectory open_run_directory(const std::string& path) {
  RunDirectory directory{path, RunLock(path)};
  if (fs::exists(path + "/certificate.json")) throw finished(path);  // since the caller looked
  refuse_lost_certificate(path);
  if (nothing_released(path))
    throw ConfigError(fmt::format(
        "the run in {} was killed before its first step and has released nothing: there is nothing to resume. Start "
        "it again with the same run.dir",
        path));
  close_to_others(path + "/checkpoint");
  return directory;
}

void refuse_finished(const std::string& path, bool keep_key) {
  if (!fs::exists(path + "/certificate.json")) return;
  refuse_linked(path + "/checkpoint");
  if (is_untidy(path + "/checkpoint", keep_key)) {
    const RunLock lock(path);
    check_own_certificate(path);
    if (!keep_key) wipe_key(path);
    remove_checkpoints(path);
  }
  level_hidden_times(path);
  throw finished(path);
}

void level_times(const std::string& directory) {
  std::error_code refused;
  const auto begun = fs::last_write_time(directory + "/plan.json", refused);
  for (const auto& entry :
       fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, refused))
    fs::last_write_time(entry.path(), begun, refused);
  fs::last_write_time(directory, begun, refused);
}

}  // namespace dpmpi
