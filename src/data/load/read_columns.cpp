#include "data/load/read_columns.hpp"

#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/file_reader.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/data_files.hpp"

namespace dpmpi {
namespace {

/// Before anything of it is read, and may be quoted.
void check_columns_digest(const DataOptions& options, const std::string& path, const std::string& text) {
  const std::string digest = sha256(text);
  if (options.columns_digest.empty() || options.columns_digest == digest) return;
  throw ConfigError(fmt::format(
      "data.columns = {}: {} is not the file of data.columns_digest: its SHA-256 is {}, where {} was written down. "
      "It was changed since: put it back, or start a new run with the new file",
      options.columns, path, digest.substr(0, 12), options.columns_digest.substr(0, 12)));
}

/// What stands in it is quoted.
void check_no_private_file(const DataOptions& options, const std::string& path) {
  std::vector<std::string> private_names = options.shards;
  if (!options.train.empty()) private_names.push_back(options.train);
  for (const std::string& names : private_names)
    for (const FoundFile& file : NamedFiles(options, names).files) {
      std::error_code absent;
      if (file.found() && std::filesystem::equivalent(file.path(), path, absent))
        throw ConfigError(fmt::format(
            "data.columns = {} is a training file: it takes a public file that says what the columns are (the guide "
            "on columns files has an example)",
            options.columns));
    }
}

struct ColumnsText {
  std::string text, path;
};
/// Nothing if it is not here, and need not be: a run can be verified where its files are not. Whoever reads data is
/// told (DataFiles).
std::optional<ColumnsText> text_of_columns(const DataOptions& options) {
  if (!options.columns_text.empty()) return ColumnsText{options.columns_text, options.columns + " (columns)"};
  std::error_code absent;
  const bool copied = !options.columns_copy.empty() && std::filesystem::exists(options.columns_copy, absent);
  const FoundFile found(options, copied ? options.columns_copy : options.columns);
  const bool here = found.found() && std::filesystem::exists(found.path(), absent);
  if (!here && !options.columns_digest.empty()) return {};
  check_no_private_file(options, found.path());
  return ColumnsText{read_file(found.path(), file_limit::document), found.path()};
}

}  // namespace

void read_columns(DataOptions& options, std::vector<std::string>& problems) {
  if (options.columns.empty()) return;
  try {
    auto found = text_of_columns(options);
    if (!found) return;
    check_columns_digest(options, found->path, found->text);
    auto file = std::make_shared<ColumnsFile>(std::move(found->text), std::move(found->path));
    file->check_settings(options, problems);
    options.columns_digest = file->digest;
    if (const ColumnRule* const person = file->of_kind(ColumnKind::person)) options.person = person->name;
    options.columns_file = std::move(file);
  } catch (const DataError& problem) {
    problems.push_back(fmt::format("data.columns = {}: {}", options.columns, problem.what()));
  } catch (const ConfigError& problem) {
    problems.emplace_back(problem.what());
  }
}

}  // namespace dpmpi
