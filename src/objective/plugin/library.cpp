#include "objective/plugin/library.hpp"

#include <set>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"

namespace dpmpi {
namespace {

std::set<std::string>& permitted() {
  static std::set<std::string> files;
  return files;
}

}  // namespace

void permit_library(const std::string& library) { permitted().insert(library); }

std::string LibraryBuilder::key() const { return fmt::format("objective.{}", words_.option); }

void LibraryBuilder::declare_file(Options& options) {
  options.add(words_.option, path_, words_.help);
  options.add(fmt::format("{}_digest", words_.option), digest_,
              "its SHA-256: another file is not loaded (empty: that of the file)");
}

void LibraryBuilder::identify() {
  if (path_.empty()) return;  // make() says so
  if (path_.find('/') == path_.npos)
    throw ConfigError(fmt::format(
        "{0} = {1}: write a path, ./{1} say: the loader looks for bare names in folders of its own", key(), path_));
  const std::string found = digest_of_file();
  if (digest_.empty()) digest_ = found;
  check_digest(found);
}

void LibraryBuilder::check_allowed() const {
  if (path_.empty()) throw ConfigError(fmt::format("{} is missing: {}", key(), words_.missing));
  if (!refusal_.empty() && !permitted().contains(path_)) throw ConfigError(refusal_);
}

void LibraryBuilder::check_digest() const {
  if (!digest_.empty()) check_digest(digest_of_file());
}

std::string LibraryBuilder::digest_of_file() const {
  try {
    return file_digest(path_, words_.most_bytes);
  } catch (const DataError& e) {
    throw ConfigError(fmt::format("cannot load the {} {}: {}", words_.kind, path_, e.what()));
  }
}

void LibraryBuilder::check_digest(const std::string& found) const {
  if (!digest_.empty() && found != digest_)
    throw PrivacyError(fmt::format(
        "the {} {} is not the one of {}_digest: its SHA-256 is {}, where {} was recorded. It was not loaded",
        words_.kind, path_, key(), found, digest_));
}

}  // namespace dpmpi
