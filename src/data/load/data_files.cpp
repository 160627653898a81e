#include "data/load/data_files.hpp"

#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
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

void bring_persons_together(const DataOptions& options, Dataset& of_persons) {
  if (!options.by_person()) return;
  of_persons.rules.persons = ReadingRules::Persons::with_records;
  of_persons.counted = false;  // what is counted, or declared, are persons
  of_persons.person_records = static_cast<std::uint64_t>(options.person_records);
}

void add_training_files(const DataOptions& options, Dataset& training) {
  bring_persons_together(options, training);
  training.slots_of_unit = options.slots_of_unit();
  training.mapped = options.mapped();
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

/// Where relative paths are looked up, in this order.
std::vector<std::filesystem::path> folders_of(const DataOptions& options) {
  const char* const environment = std::getenv("DPMPI_DATA");
  std::vector<std::filesystem::path> folders;
  if (!options.root.empty()) folders.emplace_back(expand_home(options.root));
  if (environment != nullptr && *environment != '\0') folders.emplace_back(expand_home(environment));
  folders.emplace_back(options.config_folder.empty() ? "." : options.config_folder);
  return folders;
}

/// A folder's name as a pattern that matches itself alone.
std::string without_wildcards(const std::string& folder) {
  std::string text;
  for (const char c : folder)
    text +=
        std::string_view("*?[]\\").find(c) == std::string_view::npos ? std::string(1, c) : std::string("\\") + c;
  return text;
}

std::vector<std::string> paths_that_match(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::ranges::sort(paths);
  return paths;
}

/// What of a path a pattern leaves open: from its first folder or name with a wildcard on.
std::string matching_part(const std::string& pattern, const std::string& path) {
  const auto slash = [](char c) { return c == '/'; };
  const std::size_t open = pattern.find_first_of("*?[");
  auto folders = std::ranges::count_if(pattern.substr(std::min(open, pattern.size())), slash);
  std::size_t begin = path.size();
  for (; folders >= 0 && begin != path.npos && begin > 0; --folders) begin = path.rfind('/', begin - 1);
  return begin == path.npos || begin == 0 ? path : path.substr(begin + 1);
}

bool is_pattern(std::string_view name) { return name.find_first_of("*?[") != name.npos; }

}  // namespace

std::vector<FoundFile> matching_files(const DataOptions& options, const std::string& pattern) {
  const std::string place = expand_home(pattern);
  std::vector<std::string> folders;
  if (std::filesystem::path(place).is_absolute()) {
    folders.emplace_back();
  } else {
    for (const auto& folder : folders_of(options)) folders.push_back(without_wildcards(folder.string()) + "/");
  }
  std::vector<FoundFile> files;
  for (const std::string& folder : folders) {
    for (const std::string& path : paths_that_match(folder + place))
      files.emplace_back(std::filesystem::path(path).lexically_normal().string());
    if (!files.empty()) break;
  }
  return files;
}

FoundFile::FoundFile(const DataOptions& options, const std::string& name) {
  namespace fs = std::filesystem;
  if (const std::string place = expand_home(name); fs::path(place).is_absolute()) {
    path_ = place;
    return;
  }
  std::string tried;
  for (const fs::path& folder : folders_of(options)) {
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
      name, std::getenv("DPMPI_DATA") == nullptr ? ", which is unset," : "", tried);
}

FoundFile FoundFile::missing(std::string message) {
  FoundFile file{std::string()};
  file.missing_ = std::move(message);
  return file;
}

const std::string& FoundFile::path() const {
  if (!found()) throw DataError(missing_);
  return path_;
}

NamedFiles::NamedFiles(const DataOptions& options, std::string all, std::int64_t public_number)
    : names(std::move(all)), declared(public_number) {
  for (const std::string& name : split_pair(names)) files.emplace_back(options, name);
  if (files.size() > 1 || !is_pattern(names)) return;
  std::error_code absent;
  if (files.front().found() && std::filesystem::exists(files.front().path(), absent)) return;  // it has this name
  std::vector<FoundFile> matching = matching_files(options, std::string(trim(names)));
  if (matching.empty())
    matching.push_back(FoundFile::missing(fmt::format(
        "no file matches {} (relative patterns are looked up in data.root, $DPMPI_DATA and the config file's folder)",
        names)));
  pattern = true;
  joined = matching.size() > 1;
  files = std::move(matching);
}

Dataset of_people(Dataset dataset, const DataOptions& options, std::int64_t declared) {
  dataset.counted = declared == 0;
  bring_persons_together(options, dataset);
  for (NamedFiles& whole : dataset.parts) whole.declared = declared;
  return dataset;
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

std::string Dataset::digest_of_matches() const {
  std::string matches;
  for (const NamedFiles& part : parts)
    for (const FoundFile& file : part.files)
      if (part.pattern && file.found()) matches += matching_part(part.names, file.path()) + '\0';
  return matches.empty() ? matches : sha256(matches);
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
