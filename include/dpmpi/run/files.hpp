#pragma once
// Files of a run directory: written whole, durable, or not at all.

#include <span>
#include <string>
#include <string_view>

#include "dpmpi/core/durable.hpp"
#include "dpmpi/method/method.hpp"

namespace dpmpi {

/// Writes `text` to a temporary beside `path`, syncs, renames, syncs the folder. Throws DataError with the reason.
void write_file(const std::string& path, std::string_view text, int permissions = 0644);
/// The whole file; DataError with the reason.
std::string read_file(const std::string& path);

/// A file that lines are appended to (metrics, timing); `offset` cuts it back to a checkpoint first (DataError if
/// the file is shorter than that).
class LineFile {
 public:
  LineFile() = default;
  LineFile(const std::string& path, std::uint64_t offset, int permissions = 0644);
  void append(std::string_view line);  ///< adds the newline
  std::uint64_t size() const { return size_; }
  void sync();  ///< also throws DataError if the file was removed or replaced since

 private:
  DurableFile file_;
  std::uint64_t size_ = 0;
};

/// The parameters of all groups, one after the other: the data section of a model file.
std::string safetensors_data(std::span<const ParameterGroup> groups, std::span<const float> w);
/// The model in the safetensors layout: one float32 tensor per parameter group, `metadata` as text pairs.
std::string safetensors(std::span<const ParameterGroup> groups, std::span<const float> w,
                        const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace dpmpi
