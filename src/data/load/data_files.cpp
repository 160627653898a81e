#include "data/load/data_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/home.hpp"
#include "core/trim.hpp"
#include "data/columns/columns_file.hpp"

namespace dpmpi {
namespace {

/// One name, or those of a pair.
std::vector<std::string> split_pair(std::string_view names) {
  const std::size_t comma = names.find(',');
  std::vector<std::string> files{std::string(trim(names.substr(0, comma)))};
  if (comma != names.npos) files.emplace_back(trim(names.substr(comma + 1)));
  return files;
}

Dataset dataset(const DataOptions& options, DataRole role, std::string key, const std::string& names) {
  Dataset made{.role = role,
               .key = std::move(key),
               .parts = {},
               .counted = options.records == 0 && options.shard_records.empty(),
               .rules = options,
               .public_names = {}};
  if (!options.columns.empty() && !options.columns_file)
    throw DataError(fmt::format("data.columns = {} was not found, or not read", options.columns));
  if (options.columns_file) options.columns_file->apply_to(made.rules);
  made.rules.more_columns = role == DataRole::given;
  if (!names.empty()) made.parts.emplace_back(options, names);
  return made;
}

void add_training_files(const DataOptions& options, Dataset& training) {
  if (options.by_person()) {
    training.rules.persons = ReadingRules::Persons::with_records;
    training.counted = false;  // what is counted, or declared, are persons
    training.person_records = static_cast<std::uint64_t>(options.person_records);
    training.slots_of_unit = options.slots_of_unit();
  }
  const auto slots = static_cast<std::int64_t>(options.slots_of_unit());
  for (NamedFiles& whole : training.parts) whole.declared = options.records * slots;
  if (options.shards.empty()) return;
  training.key = "data.shards";
  training.by_site = true;
  training.parts.clear();
  for (std::size_t s = 0; s < options.shards.size(); ++s)
    training.parts.emplace_back(options, options.shards[s],
                                options.shard_records.empty() ? 0 : options.shard_records.at(s) * slots);
}

}  // namespace

FoundFile::FoundFile(const DataOptions& options, const std::string& name) {
  namespace fs = std::filesystem;
  if (const std::string place = expand_home(name); fs::path(place).is_absolute()) {
    path_ = place;
    return;
  }
  const char* const environment = std::getenv("DPMPI_DATA");
  std::vector<fs::path> folders;
  if (!options.root.empty()) folders.emplace_back(expand_home(options.root));
  if (environment != nullptr && *environment != '\0') folders.emplace_back(expand_home(environment));
  folders.emplace_back(options.config_folder.empty() ? "." : options.config_folder);
  std::string tried;
  for (const fs::path& folder : folders) {
    const std::string candidate = (folder / name).lexically_normal().string();
    std::error_code why;
    if (fs::exists(candidate, why)) {
      path_ = candidate;
      return;
    }
    tried += fmt::format("\n  tried {}{}", candidate, why ? ": " + why.message() : "");
  }
  missing_ = fmt::format(
      "{} was not found (relative paths are looked up in data.root, $DPMPI_DATA{} and the config file's folder):{}",
      name, environment == nullptr ? ", which is unset," : "", tried);
}

const std::string& FoundFile::path() const {
  if (!found()) throw DataError(missing_);
  return path_;
}

NamedFiles::NamedFiles(const DataOptions& options, std::string all, std::int64_t public_number)
    : names(std::move(all)), declared(public_number) {
  for (const std::string& name : split_pair(names)) files.emplace_back(options, name);
}

const NamedFiles& Dataset::first() const {
  if (parts.empty())
    throw ConfigError(role == DataRole::training ? "data.train (or data.shards) is not set"
                                                 : fmt::format("{} is not set", key));
  return parts.front();
}

std::vector<std::string> Dataset::seen() const {
  std::vector<std::string> all;
  for (const NamedFiles& part : parts)
    for (const FoundFile& file : part.files)
      if (file.found()) all.push_back(file.path());
  return all;
}

std::vector<std::string> Dataset::paths() const {
  if (by_site) return seen();
  std::vector<std::string> all;
  for (const NamedFiles& part : parts)
    for (const FoundFile& file : part.files) all.push_back(file.path());
  return all;
}

DataFiles::DataFiles(const DataOptions& options, const std::string& models_file, const std::string& given_file)
    : training(dataset(options, DataRole::training, "data.train", options.train)),
      evaluation(dataset(options, DataRole::evaluation, "data.eval", options.eval)),
      models(dataset(options, DataRole::evaluation, "objective.train", models_file)),
      given(dataset(options, DataRole::given, "--data", given_file)) {
  add_training_files(options, training);
  const std::vector<std::string> named = evaluation.seen();
  if (!named.empty()) training.public_names = given.public_names = named.front();
}

}  // namespace dpmpi
