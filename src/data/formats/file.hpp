#pragma once
// Reading files: by byte range, gzip or not. All local; all errors are DataError naming the file.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace dpmpi {

class GzipReader;

/// Throws DataError that names the file.
[[noreturn]] void refuse_file(const std::string& path, const std::string& what);

/// A regular, readable, non-empty file. Offsets count uncompressed bytes.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  bool gzip() const { return gzip_ != nullptr; }
  /// Bytes in the file; of a gzip file unknown until it is read: 0.
  std::uint64_t size() const { return size_; }

  /// Bytes from `offset` on; fewer than out.size() only at the end. A gzip file is read forward: an earlier offset
  /// starts it again. Corrupt or truncated gzip data and bytes behind its last member throw.
  std::size_t read(std::uint64_t offset, std::span<char> out);
  /// The same as a string of up to `bytes` bytes.
  std::string read(std::uint64_t offset, std::size_t bytes);

 private:
  std::string path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  std::unique_ptr<GzipReader> gzip_;
};

}  // namespace dpmpi
