#pragma once
// Decompression of gzip files (RFC 1952), written out because zlib's gzread ignores bytes behind the last member.

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dpmpi {

/// The uncompressed bytes of a gzip file: one member, or several one after the other. Local; corrupt or truncated
/// members and bytes that belong to no member are DataErrors that name the file.
class GzipReader {
 public:
  /// Compressed bytes from an offset on, fewer than asked for only at the end of the file.
  using ReadPlain = std::function<std::size_t(std::uint64_t offset, std::span<char> out)>;

  GzipReader(std::string path, ReadPlain read_plain);
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;
  ~GzipReader();

  /// Uncompressed bytes from `offset` on; fewer than out.size() only at the end. An earlier offset than the one
  /// reached starts the file again.
  std::size_t read(std::uint64_t offset, std::span<char> out);

 private:
  void restart();
  bool inside_member();
  void fill();
  std::size_t decompress(std::span<char> out);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  ReadPlain read_plain_;
  z_stream stream_{};
  std::vector<char> input_;
  std::uint64_t consumed_ = 0;  ///< compressed bytes handed to zlib
  std::uint64_t position_ = 0;  ///< uncompressed bytes delivered
  bool inside_ = false;         ///< a member has begun and not ended
};

}  // namespace dpmpi
