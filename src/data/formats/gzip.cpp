#include "data/formats/gzip.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 18;
constexpr int gzip_window = 15 + 16;  // the largest window; +16: gzip header and trailer, with the checksum

}  // namespace

GzipReader::GzipReader(std::string path, ReadPlain read_plain)
    : path_(std::move(path)), read_plain_(std::move(read_plain)), input_(buffer_size) {
  if (inflateInit2(&stream_, gzip_window) != Z_OK) fail("cannot be opened as gzip: out of memory");
}

GzipReader::~GzipReader() { inflateEnd(&stream_); }

std::size_t GzipReader::read(std::uint64_t offset, std::span<char> out) {
  if (offset < position_) restart();
  std::vector<char> skipped(std::min<std::uint64_t>(offset - position_, buffer_size));
  while (position_ < offset) {
    const auto wanted = std::min<std::uint64_t>(offset - position_, skipped.size());
    if (decompress(std::span(skipped).first(wanted)) < wanted) return 0;
  }
  return decompress(out);
}

void GzipReader::restart() {
  stream_.avail_in = 0;
  consumed_ = position_ = 0;
  inside_ = false;
}

/// False at the end of the file; begins the next member between two of them.
bool GzipReader::inside_member() {
  if (inside_) return true;
  const std::uint64_t at = consumed_ - stream_.avail_in;
  char magic[2] = {};
  const std::size_t got = read_plain_(at, magic);
  if (got == 0) return false;
  if (got < 2 || magic[0] != '\x1f' || magic[1] != '\x8b')
    fail(fmt::format("byte {} follows the end of the gzip data: only further gzip members are allowed there",
                     show_field(at)));
  inflateReset(&stream_);
  return inside_ = true;
}

void GzipReader::fill() {
  if (stream_.avail_in > 0) return;
  const std::size_t got = read_plain_(consumed_, input_);
  consumed_ += got;
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(got);
}

std::size_t GzipReader::decompress(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size() && inside_member()) {
    fill();
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.size() - done, std::size_t{1} << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    done += room - stream_.avail_out;
    position_ += room - stream_.avail_out;
    if (code == Z_STREAM_END) inside_ = false;
    if (code == Z_BUF_ERROR)  // no progress: zlib has given all it can, and the file has no more bytes
      fail(fmt::format("gzip data are truncated near uncompressed byte {}", show_field(position_)));
    if (code != Z_OK && code != Z_STREAM_END)
      fail(fmt::format("gzip data are corrupt near uncompressed byte {} ({})", show_field(position_),
                       stream_.msg != nullptr ? stream_.msg : zError(code)));
  }
  return done;
}

void GzipReader::fail(const std::string& what) const { throw DataError(fmt::format("{}: {}", path_, what)); }

}  // namespace dpmpi
