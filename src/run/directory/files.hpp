#pragma once
// Files of a run directory: written whole, durable, or not at all.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/files/byte_stream.hpp"
#include "core/files/durable.hpp"
#include "core/files/file_reader.hpp"
#include "method/method.hpp"

namespace dpmpi {

/// A file that is written in pieces to a temporary beside `path` and takes its place in commit(), whole and
/// durable. What is not committed is removed, unless the process is killed. What stood under the temporary's name
/// is removed, not written to: it may be a link that leads anywhere. Errors are DataError with the reason.
class WholeFile final : public ByteSink {
 public:
  /// Without `permissions` 0644, or fewer and the group of the file that it replaces.
  explicit WholeFile(const std::string& path, std::optional<int> permissions = {});
  ~WholeFile() override;
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  void write(std::string_view bytes) override;
  /// Over what was written at `offset`.
  void write_at(std::uint64_t offset, std::string_view bytes) { file_.write_at(offset, bytes); }
  void commit();  ///< syncs, renames, syncs the folder

 private:
  std::string path_;
  DurableFile file_;
};
/// The same for a text that is in memory.
void write_file(const std::string& path, std::string_view text, std::optional<int> permissions = {});

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

}  // namespace dpmpi
