#include "run/config/start.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "data/load/data_files.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

void StartOptions::declare(Options& of_objective) {
  of_objective
      .add("start_model", model,
           "PUBLIC model file (safetensors) from which training starts: the promise does not cover those on whose "
           "records it was trained")
      .add("start_digest", digest, "its SHA-256: another file is refused (empty: that of the file)");
}

// A run can be verified, and its model used, where this file is not: whoever reads it is told.
void StartOptions::find(const DataOptions& data, std::vector<std::string>& problems) {
  if (!given()) return;
  try {
    const FoundFile found(data, model);
    std::error_code absent;
    const bool here = found.found() && std::filesystem::exists(found.path(), absent);
    if (!here && !digest.empty()) return;
    path = std::filesystem::canonical(found.path()).string();
    if (digest.empty()) digest = file_digest(path);
  } catch (const DataError& problem) {
    problems.push_back(fmt::format("objective.start_model = {}: {}", model, problem.what()));
  } catch (const std::filesystem::filesystem_error& problem) {
    problems.push_back(fmt::format("objective.start_model = {}: {}", model, problem.code().message()));
  }
}

void check_start(const RunConfig& config, std::vector<std::string>& problems) {
  const auto refuse = [&](const std::string& why) {
    problems.push_back(fmt::format("objective.start_model = {}: {}", config.start.model, why));
  };
  if (!config.value("objective.train_layers").empty() && !config.start.given())
    problems.emplace_back(
        "objective.train_layers: layers that are not trained stay as objective.start_model has them: set that, too");
  if (!config.start.given()) return;
  if (config.method_name != "dp-sgd" && config.method_name != "dp-ftrl")
    refuse(fmt::format("method.name = {} starts elsewhere; dp-sgd and dp-ftrl start there", config.method_name));
  if (config.training() || config.tunes())
    refuse("it is for a training by itself, and here several are made: leave it out");
}

std::string start_assumption(const StartOptions& start) {
  return fmt::format(
      "the model file from which training starts (SHA-256 {}) is public: people on whose records it was trained are "
      "not protected by this run",
      start.digest);
}

}  // namespace dpmpi
