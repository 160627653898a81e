#include "core/files/file_reader.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw DataError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
}

}  // namespace

// Without O_NONBLOCK, opening a FIFO would wait for a writer before its kind can be checked.
FileReader::FileReader(const std::string& path, const std::string& shown)
    : shown_(shown.empty() ? path : shown),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
  if (file_ < 0) fail(shown_);
  struct stat status {};
  if (::fstat(file_, &status) != 0) {
    ::close(file_);
    fail(shown_);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file_);
    throw DataError(fmt::format("{} is a {}; only regular files are read", shown_,
                                S_ISDIR(status.st_mode) ? "folder" : "pipe, socket or device"));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

FileReader::~FileReader() {
  if (file_ >= 0) ::close(file_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : shown_(std::move(other.shown_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      position_(other.position_) {}

void FileReader::read(std::span<char> out) {
  if (out.size() > left())
    throw DataError(fmt::format("{} is cut: {} bytes are missing", shown_, out.size() - left()));
  while (!out.empty()) {
    const ssize_t got =
        ::pread(file_, out.data(), std::min(out.size(), piece_bytes), static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(shown_);
    if (got == 0) throw DataError(fmt::format("{} was cut while it was read", shown_));
    heartbeat().beat();
    out = out.subspan(static_cast<std::size_t>(got));
    position_ += static_cast<std::uint64_t>(got);
  }
}

void FileReader::go_to(std::uint64_t offset) {
  verify(offset <= size_, "a place in the file");
  position_ = offset;
}

void FileReader::refuse_larger(std::uint64_t most) const {
  if (size_ > most) throw DataError(fmt::format("{} has {} bytes; at most {} are allowed", shown_, size_, most));
}

std::string read_file(const std::string& path, std::uint64_t most, const std::string& shown) {
  FileReader file(path, shown);
  file.refuse_larger(most);
  std::string text(file.left(), '\0');
  file.read(text);
  return text;
}

std::string file_digest(const std::string& path, std::uint64_t most) {
  FileReader file(path);
  file.refuse_larger(most);
  Sha256 digest;
  file.drain([&](std::string_view piece) { digest.update(piece); });
  return digest.hex();
}

}  // namespace dpmpi
