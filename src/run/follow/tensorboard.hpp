#pragma once
#include <cstdint>
#include <string>

namespace dpmpi {

/// Writes what metrics.jsonl says so far of the run `run` to `folder`, which is made, as one event file: a scalar
/// for each number, with "eval/loss" for eval.loss, so that families stand together. What such a file said before
/// is replaced. Returns the file's path. Local. Throws ConfigError if `run` is no run directory or the file is
/// somebody else's; DataError.
std::string write_tensorboard(const std::string& run, const std::string& folder);

}  // namespace dpmpi
