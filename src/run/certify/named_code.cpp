#include "run/certify/named_code.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/plugin/library.hpp"
#include "run/certify/verify.hpp"

namespace dpmpi {
namespace {

std::vector<LibraryBuilder*> refused_in(const RunConfig& config) {
  std::vector<LibraryBuilder*> refused;
  for (LibraryBuilder* code : {config.library(), config.trainer() ? config.trainer()->library() : nullptr})
    if (code && !code->refusal().empty()) refused.push_back(code);
  return refused;
}

}  // namespace

void verify_before_code(const RunConfig& config) {
  const LibraryBuilder* const code = config.library();
  if (!code || !code->refusal().empty() || !config.of_run_directory()) return;
  const std::string run = std::filesystem::absolute(config.path()).parent_path().string();
  const std::vector<VerifiedItem> items = verify_run(run);
  const auto bad = std::ranges::find(items, VerifiedItem::State::bad, &VerifiedItem::state);
  if (bad != items.end())
    throw PrivacyError(fmt::format("{} does not verify, and {} was not loaded: {} {}", run, code->library(),
                                   bad->place, bad->detail));
}

std::string refusal_of_code(const RunConfig& config) {
  const auto refused = refused_in(config);
  return refused.empty() ? "" : refused.front()->refusal();
}

void permit_code(const RunConfig& config) {
  for (const LibraryBuilder* code : refused_in(config)) permit_library(code->library());
}

bool is_own_file(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
         status.st_uid == ::geteuid();
}

}  // namespace dpmpi
