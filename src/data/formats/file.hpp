#pragma once
// Reading files: by byte range, gzip or not. All local; all errors are DataError naming the file.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

struct DataOptions;
class GzipReader;

/// The path of `name`: itself if absolute, else the first that exists of data.root, $DPMPI_DATA and the config
/// file's folder (the working directory if there is none) joined with it. Throws DataError listing all places
/// tried.
std::string find_file(const DataOptions& options, const std::string& name);
/// The files of a data.train, data.eval and their like: one, or a pair `images,labels`.
std::vector<std::string> split_pair(std::string_view names);
/// find_file of each of them.
std::vector<std::string> find_files(const DataOptions& options, std::string_view names);

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
