#include "dpmpi/run/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/durable.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/fault.hpp"
#include "dpmpi/core/heartbeat.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw DataError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

}  // namespace

WholeFile::WholeFile(const std::string& path, int permissions)
    : path_(path), file_(DurableFile::create(path + ".new", permissions)) {}

// In pieces, so that a watchdog sees a large file grow.
void WholeFile::write(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), FileReader::piece_bytes))) {
    file_.write(bytes.substr(0, FileReader::piece_bytes));
    heartbeat().beat();
  }
}

void WholeFile::commit() {
  file_.sync();
  file_.close();
  rename_file(path_ + ".new", path_);
  sync_folder_of(path_);
}

void write_file(const std::string& path, std::string_view text, int permissions) {
  WholeFile file(path, permissions);
  file.write(text);
  file.commit();
}

// Without O_NONBLOCK, opening a FIFO would wait for a writer before its kind can be checked.
FileReader::FileReader(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) fail(path, "read");
  struct stat status {};
  if (::fstat(file_, &status) != 0) {
    ::close(file_);
    fail(path, "read");
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file_);
    throw DataError(fmt::format("{} is not a regular file", path));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

FileReader::~FileReader() {
  if (file_ >= 0) ::close(file_);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_),
      position_(other.position_) {}

void FileReader::read(std::span<char> out) {
  if (out.size() > left())
    throw DataError(fmt::format("{} is cut: {} bytes are missing", path_, out.size() - left()));
  while (!out.empty()) {
    const ssize_t got =
        ::pread(file_, out.data(), std::min(out.size(), piece_bytes), static_cast<off_t>(position_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read");
    if (got == 0) throw DataError(fmt::format("{} was cut while it was read", path_));
    heartbeat().beat();
    out = out.subspan(static_cast<std::size_t>(got));
    position_ += static_cast<std::uint64_t>(got);
  }
}

void FileReader::go_to(std::uint64_t offset) {
  verify(offset <= size_, "a place in the file");
  position_ = offset;
}

std::string read_file(const std::string& path) {
  FileReader file(path);
  std::string text(file.left(), '\0');
  file.read(text);
  return text;
}

std::string file_digest(const std::string& path) {
  FileReader file(path);
  Sha256 digest;
  file.drain([&](std::string_view piece) { digest.update(piece); });
  return digest.hex();
}

LineFile::LineFile(const std::string& path, std::uint64_t offset, int permissions)
    : file_(offset == 0 ? DurableFile::create(path, permissions, O_APPEND)
                        : DurableFile(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, permissions)),
      size_(offset) {
  if (file_.size() < offset)
    throw DataError(
        fmt::format("{} is shorter ({} bytes) than when the checkpoint was written ({}): put its lines "
                    "back, or start a new run",
                    path, file_.size(), offset));
  file_.truncate(offset);
}

void LineFile::append(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  fault_point("append");
  file_.write(text);
  size_ += text.size();
}

void LineFile::sync() {
  file_.check_in_place();
  file_.sync();
}

}  // namespace dpmpi
