#pragma once
// What was done, a line of JSON each, on disk before it counts: the memory of a site and of the coordinator.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace dpmpi {

class LineLog {
 public:
  /// Reads the file, if there is one. A line that a kill has cut off counts for nothing. Throws DataError.
  explicit LineLog(std::string path);
  const std::vector<nlohmann::json>& lines() const { return lines_; }
  /// Behind the last whole line, and synced.
  void append(const nlohmann::ordered_json& line, int permissions);

 private:
  std::string path_;
  std::size_t size_ = 0;  // of all whole lines
  std::vector<nlohmann::json> lines_;
};

}  // namespace dpmpi
