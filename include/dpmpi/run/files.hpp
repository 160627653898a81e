#pragma once
// Files of a run directory: written whole, durable, or not at all.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dpmpi/core/byte_stream.hpp"
#include "dpmpi/core/durable.hpp"
#include "dpmpi/method/method.hpp"

namespace dpmpi {

/// A file that is written in pieces to a temporary beside `path` and takes its place in commit(), whole and
/// durable. What was not committed stays under the temporary's name. Errors are DataError with the reason.
class WholeFile final : public ByteSink {
 public:
  explicit WholeFile(const std::string& path, int permissions = 0644);
  void write(std::string_view bytes) override;
  /// Over what was written at `offset`.
  void write_at(std::uint64_t offset, std::string_view bytes) { file_.write_at(offset, bytes); }
  void commit();  ///< syncs, renames, syncs the folder

 private:
  std::string path_;
  DurableFile file_;
};
/// The same for a text that is in memory.
void write_file(const std::string& path, std::string_view text, int permissions = 0644);

/// A file that is read in pieces, as long as it was when it was opened. Errors are DataError with the reason.
class FileReader final : public ByteSource {
 public:
  explicit FileReader(const std::string& path);
  ~FileReader() override;
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) = delete;
  void read(std::span<char> out) override;
  std::uint64_t left() const override { return size_ - position_; }
  std::uint64_t size() const { return size_; }
  void go_to(std::uint64_t offset);  ///< at most size()
  /// Hands all that is left to `take`, piece by piece.
  template <class Take>
  void drain(Take&& take) {
    std::string piece;
    while (left() > 0) {
      piece.resize(std::min<std::uint64_t>(left(), piece_bytes));
      read(piece);
      take(std::string_view(piece));
    }
  }

  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;

 private:
  std::string path_;
  int file_;
  std::uint64_t size_ = 0, position_ = 0;
};
std::string read_file(const std::string& path);    ///< all of it
std::string file_digest(const std::string& path);  ///< its SHA-256

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
