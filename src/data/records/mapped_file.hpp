#pragma once
// Rows that stay in their file (data.memory = map): the kernel brings their pages into memory when they are read,
// and may drop them again.

#include <cstdint>
#include <memory>
#include <string>

namespace dpmpi {

/// A file of which rows are mapped. What was checked of its records holds for as long as nobody writes to it, so
/// whoever sums rows asks check_unchanged() before the sum leaves the rank. All local.
class MappedFile {
 public:
  /// A descriptor of its own for an open file. Throws DataError naming `path`.
  MappedFile(int descriptor, std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Throws DataError if the file has another size, or was written to, since it was opened here. Times of files
  /// tick every few milliseconds on most systems: a write within a tick of the opening may go unseen.
  void check_unchanged() const;

  /// Read-only bytes: those of the file from `begin` to `end` (at most its end), and zeros behind them, `bytes` in
  /// all; at an address that is `begin` modulo the size of a page. They last as long as the pointer, and need no
  /// open file. A page that cannot be read (the file was cut short, its disk failed) ends the process with a
  /// message and the exit code of data errors. Throws DataError if they cannot be mapped.
  std::shared_ptr<const char> map(std::uint64_t begin, std::uint64_t end, std::uint64_t bytes) const;

 private:
  struct Stamp {
    std::int64_t size, seconds, nanoseconds, changed_seconds, changed_nanoseconds;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;

  int descriptor_;
  std::string path_;
  Stamp opened_;
};

}  // namespace dpmpi
