#pragma once
// A model from which training starts, in place of random numbers or zeros.

#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/records/options.hpp"

namespace dpmpi {

class RunConfig;

/// Its file is public by declaration: what it was made of is not protected by the run that starts from it.
struct StartOptions {
  std::string model, digest;
  std::string path = {};  ///< where the file was found; empty: it was not
  bool given() const { return !model.empty(); }
  void declare(Options& of_objective);
  /// Looks for the file, and takes its SHA-256 where none is known. Local.
  void find(const DataOptions& data, std::vector<std::string>& problems);
};

/// Whether the rest of a config allows one.
void check_start(const RunConfig& config, std::vector<std::string>& problems);

/// What certificates and plans say of it.
std::string start_assumption(const StartOptions& start);

}  // namespace dpmpi
