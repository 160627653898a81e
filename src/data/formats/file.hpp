#pragma once
// Reading files: by byte range, gzip or not. All local; all errors are DataError naming the file.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/records/mapped_file.hpp"

namespace dpmpi {

class GzipReader;
class InputFile;

/// Throws DataError that names the file.
[[noreturn]] void refuse_file(const std::string& path, const std::string& what);

/// A file of several that are read as one, from a byte on, which begins a line of this number.
struct FilePart {
  std::unique_ptr<InputFile> file;
  std::uint64_t begin = 0, line = 1;
};

/// What the library of a format reads of a file, as bytes.
class FileContent {
 public:
  virtual ~FileContent() = default;
  virtual std::uint64_t size() const = 0;
  /// Fills `out` from byte `offset` on, where so many are. Throws DataError naming the file.
  virtual void read(std::uint64_t offset, std::span<char> out) = 0;
};

/// A regular, readable, non-empty file. Offsets count uncompressed bytes.
class InputFile {
 public:
  explicit InputFile(std::string path);
  /// Texts as one called `name`, one behind the other; a line end is put where one of them lacks it. Gzipped ones
  /// are read through, to learn how long they are.
  InputFile(std::string name, std::vector<FilePart> parts);
  /// What a library reads of the file `name`.
  InputFile(std::string name, std::unique_ptr<FileContent> content);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  bool gzip() const { return gzip_ != nullptr; }
  /// Where the texts lie of which this one is made; of a file that is one by itself there are none.
  struct PartPlace {
    std::uint64_t offset = 0, end = 0;  ///< bytes of the whole
    std::uint64_t line = 1;             ///< number in its file of the line that begins there
    std::string path;
  };
  const std::vector<PartPlace>& parts() const { return places_; }
  const std::vector<FilePart>& pieces() const { return parts_; }
  /// The number of the part in which a byte lies; 0 if there is one only.
  std::size_t part_at(std::uint64_t offset) const;
  /// The part of several whose first byte this is, or nothing.
  const PartPlace* part_begun_at(std::uint64_t offset) const;
  /// Whether both are one file under two names.
  bool same_as(const InputFile& other) const { return device_ == other.device_ && inode_ == other.inode_; }

  /// Bytes in the file; of a gzip file by itself unknown until it is read: 0.
  std::uint64_t size() const { return size_; }

  /// The same file for rows that stay in it. Only of a plain file that is one by itself.
  std::shared_ptr<const MappedFile> mapped() const;

  /// Bytes from `offset` on; fewer than out.size() only at the end. A gzip file is read forward: an earlier offset
  /// starts it again. Corrupt or truncated gzip data and bytes behind its last member throw.
  std::size_t read(std::uint64_t offset, std::span<char> out);
  /// The same as a string of up to `bytes` bytes.
  std::string read(std::uint64_t offset, std::size_t bytes);

 private:
  std::size_t read_parts(std::uint64_t offset, std::span<char> out);

  std::string path_;
  std::uint64_t size_ = 0, device_ = 0, inode_ = 0;
  int descriptor_ = -1;
  std::unique_ptr<GzipReader> gzip_;
  std::vector<FilePart> parts_;
  std::vector<PartPlace> places_;
  std::unique_ptr<FileContent> content_;
};

}  // namespace dpmpi
