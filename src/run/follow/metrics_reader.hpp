#pragma once
// metrics.jsonl of a run that may still be going on: its lines as they come, each once. All of them are public.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace dpmpi {

using MetricsLine = nlohmann::ordered_json;

class MetricsReader {
 public:
  /// Of a run directory. Throws ConfigError if it is none.
  explicit MetricsReader(std::string directory);

  /// Hands over the whole lines that have come since the last call, each with its step; a last line without its end
  /// is one that is being written. A run that goes on from a checkpoint cuts the file back and writes some lines
  /// again: these are left out. Memory: one line. Throws DataError, with file and line, for what no run writes.
  void read(const std::function<void(std::uint64_t step, const MetricsLine& line)>& take);

 private:
  void take_line(const std::string& text, const std::function<void(std::uint64_t, const MetricsLine&)>& take);

  std::string path_, rest_;  // rest_: the beginning of a line whose end is not there yet
  std::uint64_t read_ = 0, line_ = 0;
  std::optional<std::uint64_t> newest_;  // step
};

/// A number of a line, or nothing.
std::optional<double> number_in(const MetricsLine& line, const std::string& name);

}  // namespace dpmpi
